"""The one way from the journal's head over matching to the outbox.

::

    accepted ─match─► matched ─commit─► told ─┬─ nothing open ──────────────────────► settled
       │ in the journal, synced               └─ open ─ask─► answered ─keep─► kept ─settle─► settled
       └ a start goes on from told                  └─ operator unavailable: passed by ─turn─► open

For positions: ``progress ≤ told ≤ head``. Publications beyond ``told`` are to be matched; up to there all that is
decided without operators is recorded. Open pairs, and rows withheld behind them, are in (``progress``, ``told``]. A
process that ends before `commit` has its publications matched again; one that ends between `keep` and `settle` settles
them by the stored answers, without a call.

An `Engine` follows `next` until nothing is due, on the caller's thread. In a run the stream takes the ranges and jobs
beside it the batches that operators are asked about; what they bring comes here by the same methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.model.answers import OperatorResult
from triplecast.outbox import Committed, OpenPart, Outbox, OutboxBatch

BACK = 20
"""Times as long as was spent on what could not be asked about, it is not gone over again; at least `BACK_SECONDS`."""
BACK_SECONDS = 2.0
ASKED_AT_ONCE = 1_000
"""Publications with open pairs that `Driver.next` gives together."""


class MatchRange(NamedTuple):
    """Events at positions in (`after`, `upto`] are to be matched, or first ones of them."""

    after: int
    upto: int


class AskBatch(NamedTuple):
    """Operators are to be asked about open pairs of the publications at `positions`: all that have some in (`after`,
    `upto`]."""

    after: int
    upto: int
    positions: list[int]
    pairs: list[tuple[int, int]]
    """Position and registration of the open pairs, sorted."""
    parts: list[OpenPart]
    """What is stored of them."""


@dataclass(slots=True)
class Turns:
    """How far everything was asked about or passed by (`asked`), and the round over what was passed by (`back`)."""

    asked: int = 0
    back: bool = False
    """Whether it is the round's turn."""
    again: float = float("inf")
    """When the round begins or goes on; never where nothing was passed by."""
    reached: int = 0
    """How far the round has come."""
    spent: float = 0.0
    """In the round, on what was passed by once more."""

    @property
    def after(self) -> int:
        """Where what is asked about next begins."""
        return self.reached if self.back else self.asked

    def turn(self, now: float) -> None:
        """The round's turn is every second one while it lasts."""
        self.back = not self.back and now >= self.again

    def note(self, upto: int, lost: float, now: float) -> None:
        """What comes next up to `upto` was asked about, which took `lost` seconds for what could not be."""
        if self.back:
            self.reached = upto
            self.spent += lost
        else:
            self.asked = upto
            if lost and self.again == float("inf"):
                self.again = now + max(BACK_SECONDS, BACK * lost)

    def end_round(self, now: float) -> None:
        """The next one, where there is still something, is as far off as this one spent on it."""
        self.again = now + max(BACK_SECONDS, BACK * self.spent) if self.spent else float("inf")
        self.reached, self.spent = 0, 0.0


class Driver:
    """The state machine of one folder's writer; its state is in journal and outbox, but for whose turn it is.

    Its methods are called by one thread at a time.
    """

    def __init__(self, journal: Journal, outbox: Outbox) -> None:
        self._journal = journal
        self._outbox = outbox
        self._passed_over = 0
        """Up to here no publication is to be matched, though nothing says so in the outbox."""
        self.turns = Turns(outbox.progress)

    @property
    def told(self) -> int:
        return self._outbox.told

    @property
    def progress(self) -> int:
        return self._outbox.progress

    @property
    def needed_from(self) -> int:
        """No publication up to this position will be matched again."""
        state = self._outbox.state
        return state.progress if state.progress < state.told else max(state.told, self._passed_over)

    def next(self, now: float = 0.0) -> MatchRange | AskBatch | None:
        """Return what is due: open pairs of earlier publications first, but for those passed by; None for nothing.

        Raises `FolderLocked` where another writer has the folder now.
        """
        self._journal.check_writer()
        batch = self.next_batch(now, ASKED_AT_ONCE)
        if batch is not None:
            return batch
        head = self._journal.head()
        if head <= self._passed_over:
            return None
        after = max(self.told, self._passed_over)
        return MatchRange(after, head) if after < head else None

    def pass_over(self, upto: int) -> None:
        """Note that no publication beyond `told` and up to `upto` is to be matched: nothing is written for that."""
        self._passed_over = upto

    def next_batch(self, now: float, limit: int) -> AskBatch | None:
        """Return at most `limit` publications that operators are asked about next; None where no pair is open, or none
        yet again."""
        for _ in range(2):
            self.turns.turn(now)
            after = self.turns.after
            positions, pairs, parts = self._outbox.pending(after, limit)
            if self.turns.back:
                positions = [each for each in positions if each <= self.turns.asked]
                if not positions:
                    self.turns.end_round(now)
            if positions:
                pairs = [pair for pair in pairs if pair[0] <= positions[-1]]
                return AskBatch(max(after, self.progress), positions[-1], positions, pairs, parts)
            if not self.turns.back and now < self.turns.again:
                break  # no round has its turn: the same would be looked for again
        return None

    def has_open(self) -> bool:
        """Return whether a pair is open that operators were not asked about yet, but for those passed by."""
        return bool(self._outbox.pending(self.turns.asked, 1).positions)

    def commit(
        self, batch: OutboxBatch, upto: int, after: int | None = None, open: Sequence[OpenPart] = ()
    ) -> Committed:
        """Record what is decided without operators of the publications up to `upto` (`Outbox.commit`).

        Raises `StorageFault` where a publication matched again gave other rows than the first time.
        """
        committed = self._outbox.commit(batch, upto, self._journal.registrations, after, open)
        if committed.differing:
            raise StorageFault(
                "outbox",
                f"a replay gave other matches than were committed for positions {list(committed.differing[:5])}",
                "report it to the authors of Triplecast; the rows committed first stay",
            )
        return committed

    def keep(self, answers: Sequence[OperatorResult]) -> bool:
        """Store answers in the journal, before anything that depends on them is recorded. The first answer to a call
        stays: False where one of these is another, and what depends on it has to be resolved again."""
        return self._journal.keep_results(answers)

    def settle(self, batch: OutboxBatch, upto: int, after: int) -> Committed:
        """Record what became of the open pairs of publications at positions in (`after`, `upto`] (`Outbox.settle`)."""
        return self._outbox.settle(batch, upto, self._journal.registrations, after)

    def note_asked(self, upto: int) -> bool:
        """Note that operators were asked about the open pairs up to `upto`: those that are open still are passed by.
        Return whether some are."""
        self.turns.note(upto, 0.0, 0.0)
        state = self._outbox.state
        return state.progress < min(upto, state.told)

    def note_settled(self, batch: AskBatch, seconds: float, now: float) -> None:
        """Note that a batch was settled in so many seconds: pairs of it that are open still have their turn again after
        a rest, which is as long as they deserve."""
        left = self._outbox.pending(batch.after, len(batch.positions)).positions
        lost = sum(1 for position in left if position <= batch.upto) / len(batch.positions)
        self.turns.note(batch.upto, seconds * lost, now)

    def revive(self) -> None:
        """Let what was passed by be due now: its operators are available again."""
        self.turns = Turns(self.progress)
