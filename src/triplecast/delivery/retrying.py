"""When a delivery is tried again, and how fast a target is sent to.

The schedule is the one that Standard Webhooks recommends: ten attempts in about 75 hours, each wait a little longer or
shorter at random, so that what failed together is not tried together.
"""

from __future__ import annotations

from collections.abc import Callable

WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds after each attempt in vain but the last."""
ATTEMPTS = len(WAITS) + 1
JITTER = 0.2
"""Most by which a wait differs from the schedule."""
LONGEST_WAIT = 86_400 * (1 + JITTER)
"""Seconds; what a receiver asks for beyond counts as this."""
BUSY_SECONDS = 60.0
"""The wait after 429 without `Retry-After`."""
GIVE_UP_SECONDS = 5 * 86_400
"""After so long without a success a target is disabled."""
FIRST_RATE, LOWEST_RATE, HIGHEST_RATE = 10.0, 1 / 60, 1_000.0
"""Deliveries a second to one target."""


def wait_after(attempts: int, retry_after: float | None, random: Callable[[], float]) -> float:
    """Seconds until the next attempt after `attempts` in vain. `random` gives numbers in [0, 1)."""
    wait = WAITS[min(attempts, len(WAITS)) - 1] * (1 + JITTER * (2 * random() - 1))
    return min(max(wait, retry_after or 0.0), LONGEST_WAIT)


def raised(rate: float) -> float:
    return min(rate + 1, HIGHEST_RATE)


def lowered(rate: float) -> float:
    return max(rate / 2, LOWEST_RATE)
