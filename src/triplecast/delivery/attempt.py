"""One attempt to deliver, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.delivery.target import DeadLetter, Target
from triplecast.outbox import Notification

DELIVERED, FAILED, BUSY, GONE, REFUSED = "delivered", "failed", "busy", "gone", "refused"
"""What came of an attempt. ``busy``: the receiver asks for less. ``gone``: it wants nothing more. ``refused``: nothing
was sent, for the subscription has ended."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one target is to get now, in one request."""

    target: Target
    notifications: Sequence[Notification]
    """In order, at least one."""
    letter: DeadLetter | None
    """That is replayed."""
    at: int
    """Now, in microseconds since 1970."""


class AttemptOutcome(NamedTuple):
    word: str
    reason: str = ""
    retry_after: float | None = None
    """Seconds that the receiver asks for."""
    answered: bool = True
    """Whether there was a receiver at all."""


Deliver = Callable[[Attempt], AttemptOutcome]
"""Makes an attempt. Raises nothing but what ends the program."""
