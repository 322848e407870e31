"""Kernels: numba over flat arrays. Nothing outside this package imports numba.

Rules of every kernel: at most eight arguments (arrays grouped in a `NamedTuple`), no function arguments, no globals but
constants, and one of three decorators: `njit`, or `borrowing` and `inlined` where no array is made or returned. Arrays
over mapped files are opened with mode ``c`` (copy on write): a read-only array is another type to numba, and everything
would be compiled a second time.

A module with kernels that Python calls defines ``warm_up()``, which calls each of them once on tiny input of the exact
types of production. `triplecast.kernels.compiling` runs these to compile ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from triplecast.kernels.compiling import before_compiling

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def njit(kernel: _Kernel) -> _Kernel:
    """Compile `kernel` at its first call, without the GIL, cached in `cache.CACHE_FOLDER`."""
    return _compile_cached(kernel)


def borrowing(kernel: _Kernel) -> _Kernel:
    """As `njit`, for a kernel that makes no array: numba counts no references to those that it is given."""
    return _compile_cached(kernel, _nrt=False)


def inlined(kernel: _Kernel) -> _Kernel:
    """As `borrowing`, for a small function that other kernels call: it is inlined at every call."""
    return _compile_cached(kernel, forceinline=True, _nrt=False)


def _compile_cached(kernel: _Kernel, **options: bool) -> _Kernel:
    import numba  # here: whoever only asks whether kernels are compiled does not wait for it

    from triplecast.kernels.machine_code import MachineCode

    dispatcher = numba.njit(nogil=True, **options)(kernel)
    dispatcher._cache = MachineCode(kernel, before_compiling)  # as `Dispatcher.enable_caching` sets numba's own
    return cast(_Kernel, dispatcher)
