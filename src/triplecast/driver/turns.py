"""Whose turn it is to have operators called: pending pairs in order, and now and then those set aside before."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.outbox import OpenPart, Outbox

BACK = 20
"""Times as long as was spent on unavailable operators, their pairs are set aside; at least `BACK_SECONDS`."""
BACK_SECONDS = 2.0


class AskBatch(NamedTuple):
    """Operators are to be called for pending pairs of the publications at `positions`: all that have some in (`after`,
    `upto`]."""

    after: int
    upto: int
    positions: list[int]
    pairs: list[tuple[int, int]]
    """Position and registration of the pending pairs, sorted."""
    parts: list[OpenPart]
    """What is stored of them."""


class Turns:
    """Pending pairs whose operators are to be called. Pairs of unavailable operators are set aside; a round over these
    alternates with later pairs once they have rested."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.revive()

    def revive(self) -> None:
        """Let what was set aside be due now: its operators are available again."""
        self._asked = self._outbox.progress
        """Up to here, operators were called or pairs set aside."""
        self._back = False
        """Whether it is the round's turn."""
        self._again = float("inf")
        """When the round begins or goes on; never where nothing was set aside."""
        self._reached = 0
        """How far the round has come."""
        self._spent = 0.0
        """Seconds of the round that were spent on unavailable operators."""

    def next(self, now: float, limit: int) -> AskBatch | None:
        """Return at most `limit` publications whose operators are called next; None where no pair is pending, or
        none yet again."""
        for _ in range(2):
            self._back = not self._back and now >= self._again
            after = self._reached if self._back else self._asked
            positions, pairs, parts = self._outbox.pending(after, limit)
            if self._back:
                positions = [each for each in positions if each <= self._asked]
                if not positions:
                    self._end_round(now)
            if positions:
                pairs = [pair for pair in pairs if pair[0] <= positions[-1]]
                return AskBatch(max(after, self._outbox.progress), positions[-1], positions, pairs, parts)
            if not self._back and now < self._again:
                break  # no round has its turn: the same would be looked for again
        return None

    def has_pending(self) -> bool:
        """Return whether a pair is pending whose operators were not called yet, but for those set aside."""
        return bool(self._outbox.pending(self._asked, 1).positions)

    def note_settled(self, batch: AskBatch, seconds: float, now: float) -> None:
        """Note that a batch was settled in so many seconds: pairs of it that are still pending have their turn again
        after a rest, in proportion to these seconds."""
        left = self._outbox.pending(batch.after, len(batch.positions)).positions
        lost = seconds * sum(1 for position in left if position <= batch.upto) / len(batch.positions)
        if self._back:
            self._reached = batch.upto
            self._spent += lost
            return
        self._asked = batch.upto
        if lost and self._again == float("inf"):
            self._again = now + max(BACK_SECONDS, BACK * lost)

    def set_aside(self, upto: int) -> bool:
        """Note that operators were called for the pending pairs up to `upto`: those still pending are set aside until
        `revive`. Return whether some are."""
        self._asked = upto
        state = self._outbox.state
        return state.progress < min(upto, state.told)

    def _end_round(self, now: float) -> None:
        """The next one, where something is still pending, is as far off as this one spent on it."""
        self._again = now + max(BACK_SECONDS, BACK * self._spent) if self._spent else float("inf")
        self._reached, self._spent = 0, 0.0
