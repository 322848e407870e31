"""numba's cache of machine code, keyed by content and compiled once however many processes need it.

numba's own key is the path of the source, so that a wheel, a copied environment and a Spark worker would each compile
again. Here it is the folder's digest of all kernel sources, the module's name and the digest of its own source.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from triplecast.kernels.cache import CACHE_FOLDER

_PATIENCE = 120.0
"""Seconds for which another process may hold a kernel's lock. It holds it while it compiles: a few seconds."""

_PACKAGE = "triplecast.kernels"


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    """One folder for each package, whatever the path of its source."""

    def __init__(self, kernel: Callable[..., Any], path: str) -> None:
        self._path = path
        self._line = kernel.__code__.co_firstlineno
        self._folder = CACHE_FOLDER / (kernel.__module__.rpartition(".")[0] or "-")

    @classmethod
    def from_function(cls, kernel: Callable[..., Any], path: str) -> _Locator:
        return cls(kernel, path)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return _digest(self._path)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class MachineCode(FunctionCache):  # type: ignore[misc]
    """The cached machine code of one kernel.

    Who compiles a kernel holds its lock until the code is stored; others wait and load it. The lock ends with its
    process, however that ends. A folder that cannot be written to is a slower start, never an error.
    """

    _impl_class = _Implementation

    must_store = False
    """Whether code that cannot be stored is an error: it is in a process that compiles for others."""

    def __init__(self, kernel: Callable[..., Any], before_compiling: Callable[[str], None]) -> None:
        """`before_compiling` is called with the name of a module of this package before a kernel of it is compiled."""
        super().__init__(kernel)
        self._before_compiling = before_compiling
        self._module = kernel.__module__
        self._lock: int | None = None

    def load_overload(self, signature: Any, target: Any) -> Any:
        self._release()  # of a compile that failed
        found = self._load(signature, target)
        if found is not None:
            return found
        if self._module.startswith(f"{_PACKAGE}."):
            self._before_compiling(self._module.rpartition(".")[2])
            found = self._load(signature, target)
        if found is None:
            self._acquire()
            found = self._load(signature, target)
        if found is not None:
            self._release()
        return found

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
        except OSError:
            if self.must_store:
                raise
        finally:
            self._release()

    def _load(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception:  # a damaged file may fail in any way as it is unpickled: it is compiled again
            return None

    def _acquire(self) -> None:
        path = Path(self.cache_path) / f"{self._impl.filename_base}.lock"
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self._lock = lock
                    return
                time.sleep(0.02)
            os.close(lock)

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
