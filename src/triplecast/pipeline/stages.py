"""What Spark's workers do with a slice of positions, as functions to Arrow batches that know nothing of Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa

from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.evaluate import Evaluator
from triplecast.index import Snapshot
from triplecast.journal import BYTES_AT_ONCE
from triplecast.journal.interface import MatchingReader
from triplecast.kernels.compiling import FIRST, is_compiled, warm
from triplecast.kernels.views import Views
from triplecast.match import Matcher
from triplecast.model.events import DocumentEvent
from triplecast.model.match import Learnt, MatchStats
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT
from triplecast.operators.asking import Asker, settle_stored
from triplecast.outbox import OutboxBatch
from triplecast.pipeline.carried import Carried, CarriedJournal, NotCarried
from triplecast.pipeline.hearers import read_hearers
from triplecast.pipeline.readers import journal_reader, outbox_reader
from triplecast.pipeline.rows import to_arrow, to_rows
from triplecast.pipeline.sharding import WHOLE, open_shard
from triplecast.pipeline.snapshots import SnapshotPlace, fetch, forget_damaged
from triplecast.taxonomy import Taxonomies
from triplecast.telling import OpenEvents, Telling
from triplecast.telling.telling import Told

_Found = TypeVar("_Found")
ANSWERS_AT_ONCE = 32 << 20
"""Bytes of answers after which a slice leaves its other publications to another job."""
CHUNK = 256
"""Publications read and matched at a time, unless fewer come to `journal.BYTES_AT_ONCE`."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What Spark's workers have to know of a run."""

    folder: Path
    operators: OperatorSet = NO_OPERATORS
    """Those of the run. A worker of Spark imports no operator's module; the operators' own workers do."""
    schedule: str = SCHEDULE
    search_path: tuple[str, ...] = ()
    """Where the run's process finds modules."""
    shards: int = 0
    """How many the index is cut into; 0 if workers have the whole."""
    snapshots: SnapshotPlace | None = None
    """Where workers have the index from; None where they read the run's folder."""
    learnt: tuple[Learnt, ...] = ()
    """The statistics of operators that the journal had when the run began."""

    def extend_search_path(self) -> None:
        """Find modules where the run's process finds them."""
        sys.path += [each for each in self.search_path if each not in sys.path]


class MatchSlice(NamedTuple):
    """Publications at positions in (after, upto], and the manifest of the index, or of the shard, that answers for
    them."""

    after: int
    upto: int
    manifest: str
    shard: int = WHOLE
    carried: Carried | None = None
    """What a worker reads of the journal where it cannot read the run's folder."""


class AskedSlice(NamedTuple):
    """Publications with pending pairs: all of those at positions in (after, upto]."""

    after: int
    upto: int
    manifest: str
    positions: tuple[int, ...]
    carried: Carried | None = None


def open_slice(
    stage: Stage, slice: MatchSlice | AskedSlice, opened: Callable[[Path, str, int], _Found]
) -> tuple[MatchingReader, _Found]:
    """What a slice is matched with: the journal, and what is `opened` in the folder where the index is, by manifest and
    shard. Raises `StorageFault`, where the index was fetched after its damaged files were dropped."""
    shard = slice.shard if isinstance(slice, MatchSlice) else WHOLE
    if stage.snapshots is None or slice.carried is None:
        return journal_reader(stage.folder), opened(stage.folder, slice.manifest, shard)
    fetched = fetch(stage.snapshots, slice.manifest, shard)
    try:
        journal = CarriedJournal(slice.carried, read_hearers(fetched.hearers))
        return journal, opened(fetched.folder, slice.manifest, shard)
    except StorageFault:
        forget_damaged(stage.snapshots, slice.manifest, shard)
        raise


def match_slice(stage: Stage, slice: MatchSlice) -> Iterator[pa.RecordBatch]:
    """The first stage: decide what needs no operator of a slice's publications, in order of position. Yield `MATCHES`,
    one row at least."""
    journal, snapshot = open_slice(stage, slice, open_shard)
    answers, start = SliceAnswers(stage, slice, journal, snapshot), slice.after
    while not answers.left and (events := journal.documents(start, slice.upto, CHUNK, BYTES_AT_ONCE)):
        publications = [each for each in events if isinstance(each, Publication)]
        yield from answers.add(start, events, publications, journal.taxonomies(start, events[-1].position))
        start = events[-1].position
    if start == slice.after:
        yield to_arrow(OutboxBatch.joined(()), slice.after, slice.upto, MatchStats())


class SliceAnswers:
    """What a snapshot, or a shard, finds of a slice, chunk by chunk, until that takes too much."""

    def __init__(self, stage: Stage, slice: MatchSlice, journal: MatchingReader, snapshot: Snapshot) -> None:
        self._operators = stage.operators
        self._slice = slice
        self._snapshot = snapshot
        self._telling = Telling(journal, _matcher(stage.operators))
        self._sent = 0
        self.left = False
        """Whether the rest is left to another job."""

    def add(
        self,
        start: int,
        events: Sequence[DocumentEvent],
        publications: Sequence[Publication],
        taxonomies: Taxonomies,
        scanned: Views | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield `MATCHES` of the events behind `start`; of their publications, these are matched."""
        after, upto, _, shard, _ = self._slice
        if self.left:
            return
        for of, matched in _matcher(self._operators).match_pieces(self._snapshot, publications, taxonomies, scanned):
            end = of[-1].position if len(of) and of[-1] is not publications[-1] else events[-1].position
            some = [each for each in events if start < each.position <= end]
            found, stats = OutboxBatch.of(of, matched), matched.stats
            if shard != WHOLE:
                stats = replace(stats, publications=0 if shard else sum(isinstance(each, Publication) for each in some))
            for told in _told_as_carried(self._telling.tell(self._snapshot, some, found)):
                if told is None:
                    self.left = True
                    break
                waiting = OpenEvents.between(start, told.upto, some, matched, found)
                parts = waiting.parts(self._operators) if shard == WHOLE else ()  # the outbox has one for a range
                reach("pipeline.batch-matched")
                yield from to_rows(told.batch, after, upto, stats, open=parts)
                start, stats = told.upto, MatchStats()
                self._sent += len(told.batch.bindings)
            if self.left or self._sent > ANSWERS_AT_ONCE:
                self.left = True
                yield to_arrow(OutboxBatch.joined(()), after, upto, MatchStats(), left=start)
                return


def _told_as_carried(told: Iterator[Told]) -> Iterator[Told | None]:
    """What is told, and None, at last, where more versions before are needed than were carried."""
    try:
        yield from told
    except NotCarried:
        yield None


def ask_slice(stage: Stage, asked: AskedSlice) -> Iterator[pa.RecordBatch]:
    """The second stage: call operators. Yield what becomes of the pending pairs of a slice's publications, and the
    results, as `MATCHES`."""
    carried, positions = asked.carried, asked.positions
    pending = carried.pending if carried else outbox_reader(stage.folder).pending(positions[0] - 1, len(positions))
    stored = [part.body for part in pending.parts if part.format == FORMAT]
    matcher, asker = _matcher(stage.operators), _asker(stage)
    journal, snapshot = open_slice(stage, asked, open_shard)
    telling = Telling(journal, matcher)
    asker.forget_ended(snapshot)
    left = list(asked.positions)
    while left:
        wanted = set(left)
        found = journal.documents(left[0] - 1, left[-1], CHUNK, BYTES_AT_ONCE)
        first, last = left[0] - 1, found[-1].position
        left = [position for position in left if position > last]
        taxonomies, known = journal.taxonomies(first, last), journal.answers(first, last, stage.operators)
        waiting = OpenEvents(first, last, [each for each in found if each.position in wanted])
        pairs = {pair for pair in pending.pairs if pair[0] in wanted and pair[0] <= last}
        mine, publications = waiting.of_publications(pairs), waiting.publications
        settled = settle_stored(asker, matcher, snapshot, stored, mine, publications, taxonomies, known)
        for told in telling.tell_settled(snapshot, waiting, settled, pairs, asker):
            reach("pipeline.operators-asked")
            yield from to_rows(told.batch, asked.after, asked.upto, told.stats, told.results, told.learnt)


def load_stages(stage: Stage, number: int) -> Iterator[pa.RecordBatch]:
    """Load what a worker needs for its first slice, and yield nothing."""
    if is_compiled(FIRST):
        warm(FIRST)
    return iter(())


@lru_cache(maxsize=1)
def _matcher(operators: OperatorSet) -> Matcher:
    return Matcher(Evaluator(), operators)


@lru_cache(maxsize=1)
def _asker(stage: Stage) -> Asker:
    return make_asker(stage)


def make_asker(stage: Stage) -> Asker:
    return Asker(schedule=stage.schedule, learnt=stage.learnt, operators=stage.operators)
