"""One segment against one batch: which subscriptions match, and with which bindings."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.join import match_views
from triplecast.kernels.layout import (
    I32,
    SHAPE_NECESSARY,
    STRUCTURE_GROUPS,
    STRUCTURE_PLAIN,
    STRUCTURE_SHAPE,
    Encoded,
)
from triplecast.kernels.probe import make_hits
from triplecast.kernels.render import render_sheets
from triplecast.kernels.rows import Sheets, collect_sheets
from triplecast.kernels.runs import MatchedRuns, Work, make_work
from triplecast.match.found import Decided, Pairs
from triplecast.match.members import NOTHING_COMBINED, Combined, JoinedRows, Members, combine
from triplecast.match.views import Views
from triplecast.model.open_rows import OpenRowsMaker
from triplecast.residual import NumberedTerms, ResidualPlans


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


def match_runs(segment: Segment, encoded: Encoded, scratch: Scratch) -> MatchedRuns:
    """The matched subscriptions of every view, in runs of one structure. Those of verified structures are
    candidates."""
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


class SegmentMatches(NamedTuple):
    decided: Decided
    """By one join."""
    combined: Combined
    """By the rows of several members, or by calculating."""
    candidates: Pairs
    """For the evaluator, sorted, each once."""
    exhausted: Pairs
    """Neither matched nor unmatched: too many solutions or too many steps."""
    counts: tuple[int, int, int]


def all_pairs(publications: Collection[int], segment: Segment) -> Pairs:
    """Each of the publications with each subscription of a segment."""
    ordered, firsts = np.array(sorted(publications), np.int32), segment.firsts
    return Pairs(np.repeat(ordered, len(firsts)), np.tile(firsts, len(ordered)))


def match_segment(
    segment: Segment,
    views: Views,
    encoded: Encoded,
    scratch: Scratch,
    plans: ResidualPlans,
    numbers: NumberedTerms,
    maker: OpenRowsMaker,
) -> SegmentMatches:
    """Everything the index knows of a batch, before positions are looked at. Join rows that operators have a say in go
    to `maker`, their terms to `numbers`."""
    matched, sheets = match_rows(segment, views, encoded, scratch)
    publication = publications_of(views, matched)
    verified = sheets.of_pair == -1
    endless = sheets.of_pair == -2
    spent_decided, spent_verified = _subscriptions_of_exhausted(segment, views, matched)
    candidates = _distinct(Pairs(publication[verified], matched.subscription[verified]), spent_verified)
    exhausted = _distinct(Pairs(publication[endless], matched.subscription[endless]), spent_decided)
    counts = (int(matched.counts[0]), int(matched.counts[1]), int(matched.counts[2]))
    found = sheets.of_pair >= 0
    combined = NOTHING_COMBINED
    if segment.combines:
        members = scratch.members(segment, plans)
        exhausted, spent = members.split(exhausted)
        parts = found & members.has_role[matched.subscription]
        found &= ~parts
        rows = JoinedRows(publication[parts], matched.subscription[parts], sheets.of_pair[parts])
        combined = combine(members, rows, sheets, views.terms, spent, numbers, maker)
        candidates = _distinct(candidates, spent, combined.costly)
    json, offsets = render_sheets(sheets, segment.tables.answers, views.terms)
    sheet = sheets.of_pair[found]
    decided = Decided(
        publication[found],
        segment.tables.registrations[matched.subscription[found]],
        json,
        offsets[sheet],
        offsets[sheet + 1] - offsets[sheet],
    )
    return SegmentMatches(decided, combined, candidates, exhausted, counts)


def _distinct(*parts: Pairs) -> Pairs:
    pairs = np.concatenate([np.stack([part.publication, part.subscription], axis=1) for part in parts])
    unique = np.unique(pairs, axis=0)
    return Pairs(unique[:, 0], unique[:, 1])


def _subscriptions_of_exhausted(segment: Segment, views: Views, matched: MatchedRuns) -> tuple[Pairs, Pairs]:
    """(decided, verified) subscriptions of the structures whose join spent its steps."""
    index = segment.tables.index
    parts: tuple[list[I32], list[I32]] = ([np.zeros((0, 2), np.int32)], [np.zeros((0, 2), np.int32)])
    for view, structure in matched.exhausted.tolist():
        row, end = index.structures[structure], index.structures[structure + 1]
        plain = index.plain[row[STRUCTURE_PLAIN] : end[STRUCTURE_PLAIN]]
        groups = index.groups[row[STRUCTURE_GROUPS], 1], index.groups[end[STRUCTURE_GROUPS], 1]
        entries = index.entries[groups[0] : groups[1]]
        subscriptions = np.concatenate([plain, entries])
        rows = np.stack([np.full(len(subscriptions), views.publication[view], np.int32), subscriptions], axis=1)
        parts[int(index.shapes[row[STRUCTURE_SHAPE], SHAPE_NECESSARY])].append(rows)
    decided, verified = (np.concatenate(part) for part in parts)
    return Pairs(decided[:, 0], decided[:, 1]), Pairs(verified[:, 0], verified[:, 1])
