"""When a source is asked next: by how often it changes, what its server says, and how often it failed."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400
LONGEST_WAIT = 7 * DAY
"""Seconds: so long a ``Retry-After`` is believed; nothing waits longer."""
JITTER = 0.1
"""Up to this share is added, so that sources added together are not asked together for ever."""
CHANGED, SAME = 0.5, 1.5
"""By what the interval is multiplied after a check that found something new, or nothing."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of the interval between two checks, in seconds."""

    least: float = 15 * 60
    most: float = DAY


DEFAULT_BOUNDS = Bounds()


def next_interval(interval: float, changed: bool, bounds: Bounds) -> float:
    """The interval after a check that did not fail."""
    return min(bounds.most, max(bounds.least, interval * (CHANGED if changed else SAME)))


def wait_after_success(interval: float, fresh: float, bounds: Bounds, chance: float) -> float:
    """Seconds until the next check; `fresh`: how long the answer says to hold; `chance` from 0 to 1."""
    return max(interval, min(fresh, bounds.most)) * (1 + JITTER * chance)


def wait_after_failure(interval: float, failures: int, retry: float | None, bounds: Bounds, chance: float) -> float:
    """Seconds until the next try after so many failures in a row: each doubles it, up to the longest interval, and it
    is tried for ever."""
    wait = min(bounds.most, max(bounds.least, interval) * 2.0 ** min(failures - 1, 20))
    return max(wait, min(retry or 0.0, LONGEST_WAIT)) * (1 + JITTER * chance)
