"""System calls that fail: what a dying disk or a full one answers, without a disk of its own.

`fail_calls` installs a filter of the kernel (seccomp) in this process, for good: so it is called in a child. Only files
that are opened later, or some of these, are concerned, as the filter sees a call's descriptor.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

CALLS = {
    "x86_64": {"pread64": 17, "pwrite64": 18, "fsync": 74, "fdatasync": 75, "ftruncate": 77, "fallocate": 285},
    "aarch64": {"pread64": 67, "pwrite64": 68, "fsync": 82, "fdatasync": 83, "ftruncate": 46, "fallocate": 47},
}.get(platform.machine() if sys.platform == "linux" else "", {})
"""Numbers of the calls that can be made to fail; none where nobody knows them."""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def fail_calls(name: str, error: int, first: int) -> None:
    """Let the call `name` fail with `error` on each descriptor from `first` on, until this process ends."""
    steps = [
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 2, CALLS[name]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_AT_LEAST, 1, 0, first),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _FAIL | error),
    ]
    written = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = _Program(len(steps), ctypes.addressof(written))
    kernel = ctypes.CDLL(None, use_errno=True)
    kernel.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if kernel.prctl(_SET_FILTER, 2, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")


def next_descriptor() -> int:
    """Return the number that the next opened file gets."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor
