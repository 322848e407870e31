"""The sink: rows that workers return go into the outbox with the progress, in one transaction per batch; the outcomes
of pending pairs follow in later ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from triplecast.crash_points import reach
from triplecast.driver import Driver
from triplecast.engine.answers import answers_batch
from triplecast.errors import TriplecastError
from triplecast.incremental import EventAnswers, RowsTold
from triplecast.model.match import ANSWER_LIMITS, Learnt, MatchStats
from triplecast.outbox import Committed, OutboxBatch, OutboxReader, UndecidedPair
from triplecast.pipeline.rows import from_arrow, learnt_of, parts_of, results_of, work_of

EVENTS_AT_ONCE = 1_000
"""Events whose answers are found before it is looked how much they take."""
REPORTED_PAIRS = 20
"""Undecided pairs of one batch that are reported one by one; all are in the outbox."""


IDLE_SECONDS = 1.0
"""A pause this long between two batches is waiting for documents; a shorter one is Spark's own work."""


@dataclass(slots=True)
class Matched:
    """Counts since the run began."""

    publications: int = 0
    matches: int = 0
    undecided: int = 0
    batches: int = 0
    work: MatchStats = field(default_factory=MatchStats)
    """All that the workers did for the batches, dropped rows included."""
    seconds: float = 0.0
    """Of matching: the batches, and pauses between them of less than `IDLE_SECONDS`."""
    last: float = float("-inf")
    """When the last batch ended, on a monotonic clock."""

    def count_batch(self, began: float, ended: float) -> None:
        self.seconds += ended - (self.last if began - self.last < IDLE_SECONDS else began)
        self.last = ended
        self.batches += 1


Row = dict[str, Any]
"""Of `MATCHES`."""


class Left(NamedTuple):
    """Positions in (`after`, `upto`] were left to another job; `fitted` were matched."""

    after: int
    upto: int
    fitted: int


class AnsweredOtherwise(Exception):
    """The journal has other results, of an earlier attempt at the same publications: they are to be used."""


class Sink:
    """Commits batches to one outbox. `committing` is held during a commit, so its holder may end Spark safely."""

    def __init__(
        self,
        driver: Driver,
        outbox: OutboxReader,
        learn: Callable[[int, int, float], None],
        report: Callable[[UndecidedPair | str], None] = lambda notice: None,
        learn_operators: Callable[[Sequence[Learnt]], None] = lambda learnt: None,
        answers: Callable[[int, int], Sequence[EventAnswers | RowsTold]] = lambda after, upto: (),
        join: Callable[[Sequence[OutboxBatch]], OutboxBatch] = OutboxBatch.joined,
    ) -> None:
        """`learn` gets the publications, rows and seconds of a batch, `learn_operators` its statistics of operators.
        `answers` gives what events at positions in (after, upto] change in answers of repository scope; it is asked of
        each range once, in order. `join` makes one batch of those of all rows."""
        self.driver = driver
        self._outbox = outbox
        self._learn = learn
        self._report = report
        self._learn_operators = learn_operators
        self._answers = answers
        self._join = join
        self.committing = threading.Lock()
        self.failure: TriplecastError | None = None
        self._left: Left | None = None
        self._unavailable: set[str] = set()
        """Reported reasons why operators were unavailable."""
        self.matched = Matched()

    def take(self, collect: Callable[[], pa.Table], began: float | None = None) -> Left | None:
        """Commit one batch, which `collect` returns as `MATCHES` rows, and return what it left to another job. `began`:
        when its job was started, on a monotonic clock, unless `collect` runs it. A failure is kept in `failure`."""
        self._left = None
        self._write(collect, self._commit, began)
        return self._left

    def settle(self, collect: Callable[[], pa.Table]) -> None:
        """As `take`, for pending pairs. Raises `AnsweredOtherwise` where the job is to be repeated."""
        self._write(collect, self._settle)

    def has_pending(self) -> bool:
        """Whether any pair is open whose operators were not tried yet."""
        with self.committing:
            return self.driver.turns.has_pending()

    def reached(self) -> tuple[int, int]:
        """Return how far the outbox has come: a batch without publications gets it nowhere."""
        state = self._outbox.state
        return state.told, state.progress

    def _write(
        self, collect: Callable[[], pa.Table], write: Callable[[list[Row], float], None], began: float | None = None
    ) -> None:
        try:
            began = time.monotonic() if began is None else began
            table = collect()
            reach("pipeline.batch-returned")
            with self.committing:
                done = self._outbox.progress
                if table.num_rows:
                    write(table.to_pylist(), began)
                undecided = self._outbox.undecided(done)
                self.matched.undecided += len(undecided)
                self._report_undecided(undecided)
                self.matched.count_batch(began, time.monotonic())
        except TriplecastError as error:
            self.failure = error
            raise

    def _commit(self, rows: list[Row], began: float) -> None:
        after, upto = check_cover(rows, self._outbox.told)
        batch = self._join([from_arrow(row) for row in rows])
        told, rows_upto = self._outbox.told, upto
        left = min(row["left"] if row["left"] < row["upto"] else upto for row in rows)
        if left < upto:
            batch, self._left = batch.between(after, left), Left(left, upto, left - max(after, told))
            upto = left
        changes, reached = self._changes(told, upto)
        if reached < upto:
            batch, self._left = batch.between(after, reached), Left(reached, rows_upto, reached - max(after, told))
            upto = reached
        if changes.publications:  # what was told before is not asked again
            batch, after = OutboxBatch.merged([batch.between(told, upto), changes]), max(after, told)
        parts = sorted(part for row in rows for part in parts_of(row) if told <= part.after and part.upto <= upto)
        committed = self.driver.commit(batch, upto, after, parts)
        work = self._count(rows, committed)
        self._learn(work.publications, len(batch.position), time.monotonic() - began)
        self.matched.publications += work.publications

    def _changes(self, after: int, upto: int) -> tuple[OutboxBatch, int]:
        """What events in a range change in answers, as far as memory may hold it, and how far that is."""
        if after >= upto:
            return OutboxBatch.joined(()), upto
        found, reached, size = [], after, 0
        while reached < upto and size < ANSWER_LIMITS.publication:
            end = min(upto, reached + EVENTS_AT_ONCE)
            found.append(answers_batch(self._answers(reached, end)))
            size += int(found[-1].offsets[-1])
            reached = end
        return OutboxBatch.joined(found), reached

    def _settle(self, rows: list[Row], began: float) -> None:
        after, upto = check_cover(rows, self._outbox.told)
        if not self.driver.keep([result for row in rows for result in results_of(row)]):
            raise AnsweredOtherwise("the journal has other results of these calls; they are read again")
        self._learn_operators([each for row in rows for each in learnt_of(row)])
        batch = OutboxBatch.joined([from_arrow(row) for row in rows])
        self._count(rows, self.driver.settle(batch, upto, after))
        new = sorted({pair.reason for pair in batch.awaited} - self._unavailable)
        for reason in new[: REPORTED_PAIRS - len(self._unavailable)]:
            self._unavailable.add(reason)
            self._report(reason)

    def _count(self, rows: list[Row], committed: Committed) -> MatchStats:
        work = sum(map(work_of, rows), MatchStats())
        self.matched.work += work
        self.matched.matches += committed.last - committed.first + 1
        return work

    def _report_undecided(self, pairs: Sequence[UndecidedPair]) -> None:
        for pair in pairs[:REPORTED_PAIRS]:
            self._report(pair)
        if len(pairs) > REPORTED_PAIRS:
            more = len(pairs) - REPORTED_PAIRS
            self._report(f"and {more} more undecided pairs; `triplecast notifications --undecided` lists them")


def check_cover(rows: Iterable[Mapping[str, int]], progress: int) -> tuple[int, int]:
    """Return the range that a batch's slices cover together. Raises ValueError where they leave out a position after
    `progress`."""
    ranges = sorted({(row["after"], row["upto"]) for row in rows})
    after = upto = ranges[0][0]
    for start, end in ranges:
        if start > upto:
            raise ValueError(f"no slice of the batch covers positions {upto + 1} to {start}")
        upto = max(upto, end)
    if after > progress:
        raise ValueError(f"the batch begins after position {after}, but the outbox has come only to {progress}")
    return after, upto
