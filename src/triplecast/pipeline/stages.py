"""What a worker does with a batch, as functions from Arrow batches to Arrow batches that know nothing of Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from triplecast.crash_points import reach
from triplecast.evaluate import Evaluator
from triplecast.index import INDEX, SegmentFolder, open_snapshot
from triplecast.journal import BYTES_AT_ONCE
from triplecast.match import Matcher
from triplecast.model.match import MatchStats
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet, read_operators, write_operators
from triplecast.model.stored_rows import FORMAT, write_open_rows
from triplecast.operators.asking import Asker, settle_stored
from triplecast.outbox import OpenPart, OutboxBatch
from triplecast.pipeline.followed import followed_journal, followed_outbox, settle
from triplecast.pipeline.rows import cut, to_arrow

CHUNK = 256
"""Publications read and matched at a time, unless fewer come to `journal.BYTES_AT_ONCE`."""
ROW_BYTES = 32 << 20
"""Bindings in one Arrow row, unless one pair alone has more: buffers in the JVM stay small."""


@dataclass(frozen=True, slots=True)
class MatchSlices:
    """The stage on one output folder, to give to ``mapInArrow``: what is decided without asking operators."""

    folder: str
    operators: str = write_operators(NO_OPERATORS)
    """The run's; an executor imports none of them, its operators' workers do."""
    search_path: tuple[str, ...] = ()
    """Where the driver finds modules."""
    schedule: str = SCHEDULE

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return match_slices(Path(self.folder), batches, self.schedule, self.open_operators())

    def open_operators(self) -> OperatorSet:
        """The operators of the run, whose modules are found from now on where its process finds them."""
        sys.path += [each for each in self.search_path if each not in sys.path]
        return read_operators(self.operators)


class AskedSlice(NamedTuple):
    """Publications that operators are asked about: all of those at positions in (after, upto]."""

    after: int
    upto: int
    manifest: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AskSlices:
    """The second stage, to give to ``mapInArrow`` over the numbers (``id``) of the slices: operators are asked."""

    first: MatchSlices
    slices: tuple[AskedSlice, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        operators = self.first.open_operators()
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from ask_slice(Path(self.first.folder), self.slices[number], self.first.schedule, operators)
        settle()


def match_slices(
    folder: Path, batches: Iterator[pa.RecordBatch], schedule: str = SCHEDULE, operators: OperatorSet = NO_OPERATORS
) -> Iterator[pa.RecordBatch]:
    """`SLICES` in, `MATCHES` out: what is decided of every publication of each slice, in order of position."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from match_slice(folder, row["manifest"], row["after"], row["upto"], schedule, operators)
    settle()


def match_slice(
    folder: Path, manifest: str, after: int, upto: int, schedule: str, operators: OperatorSet
) -> Iterator[pa.RecordBatch]:
    """The matches of the publications at positions in (`after`, `upto`]; at least one row, also when there are none."""
    journal, matcher = followed_journal(folder), _matcher(operators)
    snapshot = open_snapshot(SegmentFolder(folder / INDEX), manifest)
    any_told = False
    start = after
    while True:
        publications = journal.publications(start, upto, CHUNK, BYTES_AT_ONCE)
        if not publications and any_told:
            return
        batch, work, parts = OutboxBatch.joined(()), MatchStats(), []
        if publications:
            first, start = start, publications[-1].position
            matched = matcher.match(snapshot, publications, journal.taxonomies(first, start))
            batch, work = OutboxBatch.of(publications, matched), matched.stats
            if matched.open.pairs:
                parts = [OpenPart(first, start, FORMAT, write_open_rows(matched.open, operators.grammar))]
        reach("pipeline.batch-matched")
        for index, piece in enumerate(cut(batch, ROW_BYTES)):
            if index == 0:
                yield to_arrow(piece, after, upto, work, open=parts)
            else:
                yield to_arrow(piece, after, upto, MatchStats())
        any_told = True


def ask_slice(
    folder: Path, asked: AskedSlice, schedule: str = SCHEDULE, operators: OperatorSet = NO_OPERATORS
) -> Iterator[pa.RecordBatch]:
    """What becomes of the open pairs of a slice's publications, and what operators gave."""
    pending = followed_outbox(folder).pending(asked.positions[0] - 1, len(asked.positions))
    stored = [part.body for part in pending.parts if part.format == FORMAT]
    journal, matcher, asker = followed_journal(folder), _matcher(operators), _asker(folder, schedule, operators)
    snapshot = open_snapshot(SegmentFolder(folder / INDEX), asked.manifest)
    asker.leave(snapshot)
    left = list(asked.positions)
    while left:
        wanted = set(left)
        found = journal.publications(left[0] - 1, left[-1], CHUNK, BYTES_AT_ONCE)
        first, last = left[0] - 1, found[-1].position
        publications = [each for each in found if each.position in wanted]
        left = [position for position in left if position > last]
        taxonomies, known = journal.taxonomies(first, last), journal.answers(first, last, operators)
        pairs = [pair for pair in pending.pairs if pair[0] in wanted and pair[0] <= last]
        for of, settled in settle_stored(asker, matcher, snapshot, stored, pairs, publications, taxonomies, known):
            batch, work = OutboxBatch.of(of, settled.matched), settled.matched.stats
            reach("pipeline.operators-asked")
            for index, piece in enumerate(cut(batch, ROW_BYTES)):
                if index == 0:
                    yield to_arrow(piece, asked.after, asked.upto, work, settled.results, settled.learnt)
                else:
                    yield to_arrow(piece, asked.after, asked.upto, MatchStats())


@lru_cache(maxsize=1)
def _matcher(operators: OperatorSet) -> Matcher:
    return Matcher(Evaluator(), operators)


@lru_cache(maxsize=1)
def _asker(folder: Path, schedule: str, operators: OperatorSet) -> Asker:
    """With what had been learnt of operators when this process began."""
    return Asker(schedule=schedule, learnt=followed_journal(folder).learnt(), operators=operators)
