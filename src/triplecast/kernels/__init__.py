"""Kernels: numba over flat arrays. Nothing outside this package imports numba.

Rules of every kernel: at most eight arguments (arrays grouped in a `NamedTuple`), no function arguments, no globals but
constants, and one of three decorators: `njit`, or `borrowing` and `inlined` where no array is made or returned. Arrays
over mapped files are opened with mode ``c`` (copy on write): a read-only array is another type to numba, and everything
would be compiled a second time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba

from triplecast.kernels.cache import choose_folder, source_digest

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def _find_cache() -> Path:
    cpu = llvmlite.binding
    features = cpu.get_host_cpu_features().flatten()
    made_with = (numba.__version__, cpu.get_process_triple(), cpu.get_host_cpu_name(), features)
    name = f"kernels-{source_digest(Path(__file__).parent, made_with)}"
    return choose_folder(name, os.environ, Path(os.path.expanduser("~")), Path(tempfile.gettempdir()))


CACHE_FOLDER = _find_cache()
"""Where this process keeps compiled kernels; see `triplecast.kernels.cache`."""


def njit(kernel: _Kernel) -> _Kernel:
    """Compile `kernel` at its first call, without the GIL, cached in `CACHE_FOLDER`."""
    return _compile_cached(kernel)


def borrowing(kernel: _Kernel) -> _Kernel:
    """As `njit`, for a kernel that makes no array: numba counts no references to those that it is given."""
    return _compile_cached(kernel, _nrt=False)


def inlined(kernel: _Kernel) -> _Kernel:
    """As `borrowing`, for a small function that other kernels call: it is inlined at every call."""
    return _compile_cached(kernel, forceinline=True, _nrt=False)


def _compile_cached(kernel: _Kernel, **options: bool) -> _Kernel:
    """numba chooses a function's cache folder when the function is decorated, so its setting is changed for that moment
    only and other users of numba in the process keep theirs."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        return cast(_Kernel, numba.njit(nogil=True, cache=True, **options)(kernel))
    finally:
        numba.config.CACHE_DIR = before
