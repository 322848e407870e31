"""One segment against one batch: the batch in the segment's numbers, its matches, and the pairs that others decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment, Snapshot
from triplecast.kernels.characters import character_tables
from triplecast.kernels.join import match_views, repeat_publications
from triplecast.kernels.layout import I32, I64, U8, Encoded
from triplecast.kernels.rows import collect_sheets
from triplecast.kernels.runs import MatchedRuns, Work, make_work
from triplecast.kernels.sheets import SheetLimits, Sheets
from triplecast.kernels.single import SegmentArrays, pack
from triplecast.kernels.views import Views
from triplecast.kernels.wordbank import cut_texts, no_words
from triplecast.match.entailed import EntailedBatch, ReadViews
from triplecast.match.members import Members
from triplecast.match.views import encode_found, find_identity, mark_views_texts
from triplecast.model.entailment import EntailmentMode
from triplecast.model.match import PAIR_BYTES
from triplecast.model.publication import Publication
from triplecast.residual import ResidualPlans

SPARSENESS = 16
"""Marks for each removal."""
PART_WEIGHT = 8
"""Bytes in memory for each byte, as JSON, of join rows that are calculated with."""
EVERYTHING, MEASURE = 1 << 62, -1
"""Room for all sheets, and for none."""
ALL = np.zeros(0, np.uint8)
_NEVER = 1 << 62


class Scratch:
    """Kept for each segment from batch to batch; used by one thread at a time."""

    def __init__(self, segment: Segment) -> None:
        self.work = make_work(segment.members, len(segment.tables.index.key_terms))
        self.weight: I64 = np.array([0 if role is None else PART_WEIGHT for role in segment.tables.roles], np.int64)
        """`SheetLimits.weight`"""
        tables = segment.tables
        arrays = SegmentArrays(tables.index, tables.dictionary, segment.places, tables.answers, self.weight)
        self.packed = pack(arrays, self.work, character_tables())
        self._members: Members | None = None

    def members(self, segment: Segment, plans: ResidualPlans) -> Members:
        """What the segment's members are; made when first needed."""
        if self._members is None or self._members.plans is not plans:
            self._members = Members(segment, plans)
        return self._members

    def reserve(self, views: int) -> Work:
        """The scratch for so many views; stamps start again before their epochs would."""
        if self.work.epoch[0] + views >= 2**32 - 1:
            self.work.stamp[:] = 0
            self.work.epoch[0] = 0
        return self.work


class Validity:
    """Which registrations of a snapshot each publication of a batch is evaluated against: those added before it and
    not removed before it."""

    def __init__(self, snapshot: Snapshot, publications: Sequence[Publication]) -> None:
        self._removals = snapshot.removals
        self._first = min(publications).position if publications else _NEVER
        self.is_whole = not len(snapshot.removals.registration) and snapshot.covers < self._first
        """Whether every publication is evaluated against every registration."""
        if self.is_whole:
            return
        self._positions = np.array([publication.position for publication in publications], np.int64)
        count = len(snapshot.removals.registration)
        self._marks: NDArray[np.bool_] = np.zeros(1 << int(SPARSENESS * count - 1).bit_length() if count else 0, bool)
        """True at the low bits of what is removed: so few that hardly any pair of another registration is looked up."""
        self._marks[snapshot.removals.registration & (len(self._marks) - 1)] = True

    def holds(self, publication: I32, registration: I64) -> NDArray[np.bool_]:
        """Of each pair whether the publication (index into the batch) is evaluated against the registration."""
        valid = np.ones(len(registration), np.bool_)
        if self.is_whole:
            return valid
        if registration.max(initial=-1) >= self._first:
            valid = registration < self._positions[publication]
        if len(self._marks):
            pairs = np.flatnonzero(self._marks[registration & (len(self._marks) - 1)])
            removals, removed = self._removals, registration[pairs]
            at = np.minimum(np.searchsorted(removals.registration, removed), len(removals.registration) - 1)
            before = self._positions[publication[pairs]] < removals.position[at]
            valid[pairs] &= (removals.registration[at] != removed) | before
        return valid


class EncodedBatch(NamedTuple):
    """A batch encoded for one segment, in its entailment mode."""

    segment: Segment
    views: Views
    too_large: frozenset[int]
    """As `ReadViews.too_large`."""
    encoded: Encoded

    def upto(self, publication: int) -> Encoded:
        """The views of the publications before this one."""
        if not len(self.views.publication) or self.views.publication[-1] < publication:
            return self.encoded
        views = int(np.searchsorted(self.views.publication, publication))
        spans, modes = self.encoded.view_terms[:views], self.encoded.view_mode[:views]
        return self.encoded._replace(
            view_offsets=self.encoded.view_offsets[: views + 1], view_terms=spans, view_mode=modes
        )


def encode_batch(
    segments: Sequence[Segment], plain: Views, entailed: EntailedBatch | None = None
) -> Iterator[EncodedBatch]:
    """Yield the batch encoded for each segment. Terms are looked up once a segment, and literals cut into words once a
    batch. `entailed` has the views of segments whose mode is another than `PLAIN`."""
    read: list[ReadViews] = []
    for segment in segments:
        identity = find_identity(segment, plain.terms)
        if segment.mode is EntailmentMode.PLAIN or entailed is None:
            read.append(ReadViews(plain, identity))
        else:
            read.append(entailed.read(segment, identity))
    wanted: U8 = np.zeros(len(plain.terms.start), np.uint8)
    for segment, (views, identity, source, _) in zip(segments, read, strict=True):
        if segment.uses_words:
            rows = np.flatnonzero(mark_views_texts(segment, views, identity))
            wanted[source[rows] if len(source) else rows] = 1
    bank = cut_texts(plain.terms, wanted) if any(segment.uses_words for segment in segments) else no_words()
    for segment, (views, identity, source, too_large) in zip(segments, read, strict=True):
        yield EncodedBatch(segment, views, too_large, encode_found(segment, views, identity, bank, source))


def match_runs(segment: Segment, encoded: Encoded, scratch: Scratch, room: int = EVERYTHING) -> MatchedRuns:
    """The matched members of the views, in runs of one structure, up to the view that leaves no room for more. Those of
    verified structures are candidates."""
    index = segment.tables.index
    return match_views(index, encoded, scratch.reserve(len(encoded.view_mode)), room)


def make_sheets(
    segment: Segment,
    views: Views,
    encoded: Encoded,
    matched: MatchedRuns,
    scratch: Scratch,
    room: int = EVERYTHING,
    wanted: U8 = ALL,
) -> Sheets:
    """The sheets of runs, or of the pairs that are `wanted` of them, up to the run that there is no room for."""
    index, answers = segment.tables.index, segment.tables.answers
    limits = SheetLimits(room, PAIR_BYTES, scratch.weight, wanted)
    return collect_sheets(index, answers, encoded, matched, views.terms, limits, scratch.work)


def publications_of(views: Views, matched: MatchedRuns) -> I32:
    """The publication of each matched member."""
    return repeat_publications(views.publication, matched.run_view, matched.run_start)
