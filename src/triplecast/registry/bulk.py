"""Many subscriptions at once."""

from __future__ import annotations

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
