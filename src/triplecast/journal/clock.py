"""The journal's clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from triplecast.errors import InputError

Clock = Callable[[], int]
"""Microseconds since 1970-01-01T00:00:00Z; it may jump, the journal's times do not run back."""


_YEAR_10000 = 253_402_300_800_000_000


def system_clock() -> int:
    return time.time_ns() // 1000


def read_clock(clock: Clock) -> int:
    """What it says now. Raises `InputError` for what is no time from 1970 to 9999 in whole microseconds."""
    at = clock()
    if not isinstance(at, int) or not 0 <= at < _YEAR_10000:
        raise InputError(
            f"the clock says {at!r}, which is no time from 1970 to 9999 in whole microseconds since 1970",
            "set the machine's clock, or give an engine one that counts so",
        )
    return at
