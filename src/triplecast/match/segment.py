"""One segment against one batch: the batch in the segment's numbers, its matches, and the pairs that others decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment, Snapshot
from triplecast.kernels.join import match_views
from triplecast.kernels.layout import (
    I32,
    I64,
    SHAPE_NECESSARY,
    STRUCTURE_GROUPS,
    STRUCTURE_PLAIN,
    STRUCTURE_SHAPE,
    U8,
    Encoded,
)
from triplecast.kernels.probe import make_hits
from triplecast.kernels.render import render_sheets
from triplecast.kernels.rows import SOLUTIONS_LIMIT, Sheets, collect_sheets
from triplecast.kernels.runs import MatchedRuns, Work, make_work
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.kernels.wordbank import cut_texts, no_words
from triplecast.match.entailed import EntailedBatch, ReadViews, all_pairs
from triplecast.match.members import BatchMatches, JoinedRows, Members, combine
from triplecast.match.views import Views, encode_found, find_identity, mark_views_texts
from triplecast.model.entailment import EntailmentMode
from triplecast.model.match import MatchRows, MatchStats, Pairs
from triplecast.model.open_rows import EVALUATED, QueryText
from triplecast.model.publication import Publication
from triplecast.residual import ResidualPlans
from triplecast.taxonomy import EntailmentTooLarge

EXHAUSTED = (
    f"more than {SOLUTIONS_LIMIT:,} solutions of its patterns, or {STEPS_LIMIT:,} join steps, in this publication"
)
TO_VERIFY, BEYOND_LIMIT = -1, -2
"""Of `Sheets.of_pair`: a candidate, which others decide; a pair with more solutions than `SOLUTIONS_LIMIT`."""
SPARSENESS = 16
"""Marks for each removal."""


class Scratch:
    """Kept for each segment from batch to batch; used by one thread at a time."""

    def __init__(self, segment: Segment) -> None:
        self.work = make_work(segment.members)
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
        self._positions = np.array([publication.position for publication in publications], np.int64)
        self._first = int(self._positions.min(initial=np.iinfo(np.int64).max))
        count = len(snapshot.removals.registration)
        self._marks: NDArray[np.bool_] = np.zeros(1 << int(SPARSENESS * count - 1).bit_length() if count else 0, bool)
        """True at the low bits of what is removed: so few that hardly any pair of another registration is looked up."""
        self._marks[snapshot.removals.registration & (len(self._marks) - 1)] = True

    def holds(self, publication: I32, registration: I64) -> NDArray[np.bool_]:
        """Of each pair whether the publication (index into the batch) is evaluated against the registration."""
        valid = np.ones(len(registration), np.bool_)
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


def match_runs(segment: Segment, encoded: Encoded, scratch: Scratch) -> MatchedRuns:
    """The matched members of every view, in runs of one structure. Those of verified structures are candidates."""
    index = segment.tables.index
    return match_views(index, encoded, scratch.reserve(len(encoded.view_mode)), make_hits(index, encoded))


def match_ids(segment: Segment, views: Views, encoded: Encoded, scratch: Scratch) -> tuple[I32, I32]:
    """(publication, member) of every conjunction with a solution, decided or candidate, grouped by publication."""
    matched = match_runs(segment, encoded, scratch)
    return publications_of(views, matched), matched.subscription


def match_rows(segment: Segment, views: Views, encoded: Encoded, scratch: Scratch) -> tuple[MatchedRuns, Sheets]:
    """Matches with bindings as arrays of term numbers."""
    matched = match_runs(segment, encoded, scratch)
    hits = make_hits(segment.tables.index, encoded)
    return matched, collect_sheets(segment.tables.index, segment.tables.answers, encoded, matched, hits, views.terms)


def publications_of(views: Views, matched: MatchedRuns) -> I32:
    return np.repeat(views.publication[matched.run_view], np.diff(matched.run_start))


def match_segment(
    batch_view: EncodedBatch, scratch: Scratch, plans: ResidualPlans, validity: Validity, batch: BatchMatches
) -> None:
    """Add what the index knows of a batch to `batch`: matches by one join and by the rows of several members, open
    pairs that operators or the evaluator decide, and undecided ones."""
    segment, views, too_large, encoded = batch_view
    matched, sheets = match_rows(segment, views, encoded, scratch)
    publication, member = publications_of(views, matched), matched.subscription
    registration = segment.tables.registrations[member]
    verified, beyond_limit = sheets.of_pair == TO_VERIFY, sheets.of_pair == BEYOND_LIMIT
    exhausted_decided, exhausted_candidates = _members_of_exhausted(segment, views, matched)
    candidates = _distinct(Pairs(publication[verified], member[verified]), exhausted_candidates)
    exhausted = _distinct(Pairs(publication[beyond_limit], member[beyond_limit]), exhausted_decided)
    decided = (sheets.of_pair >= 0) & validity.holds(publication, registration)
    if too_large:
        decided &= ~np.isin(publication, list(too_large))
    if segment.combines:
        members = scratch.members(segment, plans)
        exhausted, incomplete = members.split(exhausted)
        parts = decided & members.has_role[member]
        decided &= ~parts
        rows = JoinedRows(publication[parts], member[parts], sheets.of_pair[parts])
        candidates = _distinct(candidates, incomplete, combine(members, rows, sheets, views.terms, incomplete, batch))
    json, offsets = render_sheets(sheets, segment.tables.answers, views.terms)
    sheet = sheets.of_pair[decided]
    batch.parts.append(MatchRows(publication[decided], registration[decided], sheet, offsets, json))
    batch.stats += MatchStats(keys=int(matched.counts[0]), touched=int(matched.counts[1]), joins=int(matched.counts[2]))

    def evaluated(pairs: Pairs) -> Iterator[tuple[int, int, int]]:
        registrations = segment.tables.registrations[pairs.member]
        valid = validity.holds(pairs.publication, registrations)
        return zip(*(column[valid].tolist() for column in (*pairs, registrations)), strict=True)

    for place, _, of in evaluated(all_pairs(too_large, segment)):
        batch.leave_undecided(place, of, f"budget: {EntailmentTooLarge()}")
    for place, _, of in evaluated(exhausted):
        if place not in too_large:
            batch.leave_undecided(place, of, EXHAUSTED)
    for place, number, of in evaluated(candidates):
        if place not in too_large:
            query = QueryText(*segment.texts.of(number), segment.mode)
            batch.open.add(batch.publications[place].position, of, query, EVALUATED)


def _distinct(*parts: Pairs) -> Pairs:
    pairs = np.unique(np.concatenate([np.stack(part, axis=1) for part in parts]), axis=0)
    return Pairs(pairs[:, 0], pairs[:, 1])


def _members_of_exhausted(segment: Segment, views: Views, matched: MatchedRuns) -> tuple[Pairs, Pairs]:
    """(decided, candidate) members of the structures whose join exhausted its steps."""
    index = segment.tables.index
    parts: tuple[list[I32], list[I32]] = ([np.zeros((0, 2), np.int32)], [np.zeros((0, 2), np.int32)])
    for view, structure in matched.exhausted.tolist():
        row, end = index.structures[structure], index.structures[structure + 1]
        plain = index.plain[row[STRUCTURE_PLAIN] : end[STRUCTURE_PLAIN]]
        groups = index.groups[row[STRUCTURE_GROUPS], 1], index.groups[end[STRUCTURE_GROUPS], 1]
        members = np.concatenate([plain, index.entries[groups[0] : groups[1]]])
        rows = np.stack([np.full(len(members), views.publication[view], np.int32), members], axis=1)
        parts[int(index.shapes[row[STRUCTURE_SHAPE], SHAPE_NECESSARY])].append(rows)
    decided, verified = (np.concatenate(part) for part in parts)
    return Pairs(decided[:, 0], decided[:, 1]), Pairs(verified[:, 0], verified[:, 1])
