"""The sink: what the workers matched goes into the outbox, rows and progress in one transaction. What operators are
asked about follows in a later one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from triplecast.crash_points import reach
from triplecast.driver import Driver
from triplecast.errors import TriplecastError
from triplecast.model.match import Learnt, MatchStats
from triplecast.outbox import Committed, OutboxBatch, OutboxReader, UndecidedPair
from triplecast.pipeline.rows import from_arrow, learnt_of, parts_of, results_of, work_of

TOLD = 20
"""Undecided pairs of one batch that are told one by one; all are in the outbox."""


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
    """All that the workers did for the batches, what was dropped included."""
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


class AnsweredOtherwise(Exception):
    """Operators gave another attempt at the same publications other answers, which are kept: they are read now."""


class Sink:
    """Commits batches to one outbox. `committing` is held during a commit: who holds it may end Spark safely."""

    def __init__(
        self,
        driver: Driver,
        outbox: OutboxReader,
        learn: Callable[[int, int, float], None],
        tell: Callable[[UndecidedPair | str], None] = lambda notice: None,
        learn_operators: Callable[[Sequence[Learnt]], None] = lambda learnt: None,
    ) -> None:
        """`learn` takes what a batch took, `learn_operators` what it told of operators' costs and truth."""
        self.driver = driver
        self._outbox = outbox
        self._learn = learn
        self._tell = tell
        self._learn_operators = learn_operators
        self.committing = threading.Lock()
        self.failure: TriplecastError | None = None
        self._unasked: set[str] = set()
        """Why operators could not be, as far as it was told."""
        self.matched = Matched()

    def take(self, collect: Callable[[], pa.Table]) -> None:
        """One micro-batch: `collect` runs it and gives `MATCHES` rows. What fails is kept in
        `failure` and raised, since Spark tells it only as text."""
        self._write(collect, self._commit)

    def settle(self, collect: Callable[[], pa.Table]) -> None:
        """As `take`, for what operators were asked about. Raises `AnsweredOtherwise` where that is to be done again."""
        self._write(collect, self._settle)

    def has_open(self) -> bool:
        """Whether a pair is open that operators were not asked about yet, but for those passed by."""
        with self.committing:
            return self.driver.turns.has_open()

    def _write(self, collect: Callable[[], pa.Table], write: Callable[[list[Row], float], None]) -> None:
        try:
            began = time.monotonic()
            table = collect()
            reach("pipeline.batch-returned")
            with self.committing:
                done = self._outbox.progress
                if table.num_rows:
                    write(table.to_pylist(), began)
                undecided = self._outbox.undecided(done)
                self.matched.undecided += len(undecided)
                self._tell_undecided(undecided)
                self.matched.count_batch(began, time.monotonic())
        except TriplecastError as error:
            self.failure = error
            raise

    def _commit(self, rows: list[Row], began: float) -> None:
        after, upto = check_cover(rows, self._outbox.told)
        batch = OutboxBatch.joined([from_arrow(row) for row in rows])
        told = self._outbox.told
        parts = sorted(part for row in rows for part in parts_of(row) if part.after >= told)
        committed = self.driver.commit(batch, upto, after, parts)
        work = self._count(rows, committed)
        self._learn(work.publications, len(batch.position), time.monotonic() - began)
        self.matched.publications += work.publications

    def _settle(self, rows: list[Row], began: float) -> None:
        after, upto = check_cover(rows, self._outbox.told)
        if not self.driver.keep([result for row in rows for result in results_of(row)]):
            raise AnsweredOtherwise("operators answered another attempt otherwise; what was kept first is read again")
        self._learn_operators([each for row in rows for each in learnt_of(row)])
        batch = OutboxBatch.joined([from_arrow(row) for row in rows])
        self._count(rows, self.driver.settle(batch, upto, after))
        for reason in sorted({pair.reason for pair in batch.awaited} - self._unasked)[: TOLD - len(self._unasked)]:
            self._unasked.add(reason)
            self._tell(reason)

    def _count(self, rows: list[Row], committed: Committed) -> MatchStats:
        work = sum(map(work_of, rows), MatchStats())
        self.matched.work += work
        self.matched.matches += committed.last - committed.first + 1
        return work

    def _tell_undecided(self, pairs: Sequence[UndecidedPair]) -> None:
        for pair in pairs[:TOLD]:
            self._tell(pair)
        if len(pairs) > TOLD:
            self._tell(
                f"and {len(pairs) - TOLD} more undecided pairs; `triplecast notifications --undecided` lists them"
            )


def check_cover(rows: Iterable[Mapping[str, int]], progress: int) -> tuple[int, int]:
    """The range that a batch's slices cover together. Raises ValueError where they leave out a position after
    `progress`.
    """
    ranges = sorted({(row["after"], row["upto"]) for row in rows})
    after = upto = ranges[0][0]
    for start, end in ranges:
        if start > upto:
            raise ValueError(f"no slice of the batch covers positions {upto + 1} to {start}")
        upto = max(upto, end)
    if after > progress:
        raise ValueError(f"the batch begins after position {after}, but the outbox has come only to {progress}")
    return after, upto
