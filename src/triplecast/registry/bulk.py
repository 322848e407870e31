"""Many subscriptions at once."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 1_000
"""Subscriptions of one call from which on the collector pauses."""


@contextmanager
def paused_collection(count: int) -> Iterator[None]:
    """Pause Python's cyclic garbage collector while `count` objects or more are made that all stay: it would look
    through them again and again, a third of the time. Others that it would free meanwhile are freed afterwards."""
    if count < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def return_memory() -> None:
    """Give the system back what the C library keeps of freed memory, where that is glibc: after a large change of the
    index, as much as stays in use; some milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
