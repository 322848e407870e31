"""Files of arrays: immutable, aligned for mapping, checked as a whole when opened.

Layout (little-endian): 8 bytes of magic, u32 format, u32 length of the JSON head, u64 length of the file, u64 checksum
of everything but itself; the head (``arrays``: name, dtype, shape, offset; ``notes``: anything); arrays at multiples of
64 bytes.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from triplecast.errors import StorageFault
from triplecast.kernels.checksum import checksum, checksum_of_parts
from triplecast.storage_faults import storage_faults, sync_folder

MAGIC = b"TRARRAYS"
FORMAT = 2
"""Of the file and of the arrays of a segment; raised whenever either changes."""
LARGE_FORMAT = 1_001
"""Of files of hundreds of megabytes: their checksum is made of parts."""
_CHECKSUMS = MappingProxyType({FORMAT: checksum, LARGE_FORMAT: checksum_of_parts})
TEMPORARY = ".tmp"
"""The suffix of a file that is being written."""
_HEAD = struct.Struct("<8sIIQQ")
_ALIGNMENT = 64
REBUILD = "delete the index folder; it is rebuilt from the journal"


@dataclass(frozen=True, slots=True)
class ArrayFile:
    arrays: dict[str, NDArray[Any]]
    notes: dict[str, Any]


Sole = Callable[[], AbstractContextManager[object]]
"""A context in which nobody else writes to the folder; entering raises when another process has become its writer."""


def write_arrays(path: Path, file: ArrayFile, sole: Sole = nullcontext, form: int = FORMAT) -> None:
    """Write `file` to `path` as `write_durably` does. Raises `StorageFault`."""
    head, offsets, size = _lay_out(file)
    content = np.zeros(size, np.uint8)
    content[_HEAD.size : _HEAD.size + len(head)] = np.frombuffer(head, np.uint8)
    for name, array in file.arrays.items():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        content[offsets[name] : offsets[name] + len(raw)] = raw
    for mark in (0, _checksum(content, len(head), size, form)):
        content[: _HEAD.size] = np.frombuffer(_HEAD.pack(MAGIC, form, len(head), size, mark), np.uint8)
    write_durably(path, content.data, sole)


def read_mark(path: Path) -> int:
    """Return the checksum that the head of a file states. Raises `StorageFault` for a file without one."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD.size)
    except OSError as error:
        raise StorageFault(path.name, f"cannot be read: {error.strerror}", REBUILD) from error
    if len(head) < _HEAD.size:
        raise StorageFault(path.name, f"{len(head)} bytes are too few for a segment", REBUILD)
    return int(_HEAD.unpack(head)[-1])


def write_durably(path: Path, content: bytes | memoryview, sole: Sole = nullcontext) -> None:
    """Replace `path` in one step; the content is synced before it gets its name. Raises `StorageFault`.

    The content is written under a temporary name of its own and renamed to `path` inside `sole`.
    """
    temporary = path.with_name(f"{path.name}.{os.urandom(4).hex()}{TEMPORARY}")
    with storage_faults(path.name):
        try:
            with sole():
                stream = open(temporary, "xb")  # noqa: SIM115 - not again by its name, which a successor removes
            with stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            with sole():
                os.replace(temporary, path)
                sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def read_arrays(path: Path, form: int = FORMAT) -> ArrayFile:
    """Check every byte of a file and map it, copy on write. Raises `StorageFault`."""
    try:
        with open(path, "rb") as stream:
            content = _map(stream)
    except (OSError, ValueError) as error:
        raise StorageFault(path.name, f"cannot be read: {error}", REBUILD) from error
    if len(content) < _HEAD.size:
        raise StorageFault(path.name, f"{len(content)} bytes are too few for a segment", REBUILD)
    magic, version, head_size, size, mark = _HEAD.unpack(content[: _HEAD.size].tobytes())
    if magic != MAGIC:
        raise StorageFault(path.name, "not a segment", REBUILD)
    if version != form:
        raise StorageFault(path.name, f"format {version}, this version reads {form}", REBUILD)
    if size != len(content) or _HEAD.size + head_size > size:
        raise StorageFault(path.name, f"{len(content)} bytes long, should have {size}", REBUILD)
    if mark != _checksum(content, head_size, size, form):
        raise StorageFault(path.name, "its checksum is wrong", REBUILD)
    head = json.loads(content[_HEAD.size : _HEAD.size + head_size].tobytes())
    arrays = {}
    for name, (kind, shape, offset) in head["arrays"].items():
        dtype = np.dtype(kind)
        raw = content[offset : offset + dtype.itemsize * int(np.prod(shape))]
        arrays[name] = raw.view(dtype).reshape(shape)
    return ArrayFile(arrays, head["notes"])


def _map(stream: BinaryIO) -> NDArray[np.uint8]:
    return np.asarray(np.memmap(stream, np.uint8, "c"))


def _checksum(content: NDArray[np.uint8], head_size: int, size: int, form: int) -> int:
    """Compute the checksum of the fields before it and of everything after it."""
    return int(_CHECKSUMS[form](content[_HEAD.size :])) ^ hash_fields(head_size, size, form)


def hash_fields(head_size: int, size: int, form: int) -> int:
    """Hash the fields of the head to 64 bits."""
    fields = np.frombuffer(struct.pack("<8sIIQ", MAGIC, form, head_size, size), np.uint8)
    return int(checksum(np.array(fields)))


def _lay_out(file: ArrayFile) -> tuple[bytes, dict[str, int], int]:
    """Lay out a file: (JSON head, offset of each array, length of the file); the arrays begin behind the head."""
    room = 0
    while True:
        at = _aligned(_HEAD.size + room)
        offsets = {}
        for name, array in file.arrays.items():
            offsets[name] = at
            at = _aligned(at + array.nbytes)
        table = {name: [array.dtype.str, list(array.shape), offsets[name]] for name, array in file.arrays.items()}
        head = json.dumps({"arrays": table, "notes": file.notes}, ensure_ascii=False).encode()
        if len(head) <= room:
            return head.ljust(room), offsets, at
        room = len(head) + 64


def _aligned(at: int) -> int:
    return (at + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
