"""One segment's matches of a batch, as far as there is room for their answers (decision 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment
from triplecast.kernels.layout import I32, SHAPE_NECESSARY, STRUCTURE_GROUPS, STRUCTURE_PLAIN, STRUCTURE_SHAPE, U8
from triplecast.kernels.render import render_sheets, write_rows
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.kernels.runs import MatchedRuns
from triplecast.kernels.sheets import SheetLimits, Sheets
from triplecast.kernels.single import SingleRows, match_at_once, match_text
from triplecast.kernels.views import Views
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.kernels.words import Text
from triplecast.match.answer_limit import only_rows
from triplecast.match.entailed import all_pairs
from triplecast.match.members import BatchMatches, JoinedRows, combine
from triplecast.match.segment import (
    ALL,
    EVERYTHING,
    MEASURE,
    PART_WEIGHT,
    EncodedBatch,
    Scratch,
    Validity,
    make_sheets,
    match_runs,
    publications_of,
)
from triplecast.model.match import PAIR_BYTES, TOO_LONG, MatchRows, Pairs, order_pairs
from triplecast.model.open_rows import EVALUATED, QueryText
from triplecast.residual import ResidualPlans
from triplecast.taxonomy import EntailmentTooLarge

EXHAUSTED = (
    f"more than {SOLUTIONS_LIMIT:,} solutions of its patterns, or {STEPS_LIMIT:,} join steps, in this publication"
)
TO_VERIFY, BEYOND_LIMIT = -1, -2
"""Of `Sheets.of_pair`: a candidate, which others decide; a pair with more solutions than `SOLUTIONS_LIMIT`."""
SLICES = 4
"""A publication that has too much is made in slices: so many for what its answers may take."""
_NO_PAIRS = Pairs(np.zeros(0, np.int32), np.zeros(0, np.int32))


def match_segment(
    read: EncodedBatch, scratch: Scratch, plans: ResidualPlans, validity: Validity, batch: BatchMatches
) -> None:
    """Add what the index knows of a batch to `batch`, of as many publications as there is room for."""
    segment, views = read.segment, read.views
    matched = match_runs(segment, read.upto(batch.upto), scratch, max(1, batch.limits.pairs - batch.pairs))
    sheets = make_sheets(segment, views, read.encoded, matched, scratch, max(0, batch.limits.publication - batch.bytes))
    view = int(matched.counts[3])
    if sheets.runs < len(matched.run_view):
        view = int(matched.run_view[sheets.runs])
    if view < len(views.publication):
        batch.shorten(int(views.publication[view]))
        matched = _before(matched, views, batch.upto)
    elif _add_rows(read, matched, sheets, scratch, validity, batch):
        return
    if batch.upto:
        found = SegmentMatches(read, matched, scratch, plans, validity, batch)
        found.note(sheets)
        found.note_waiting(sheets)
        found.take(sheets, False)
        if batch.upto:
            found.end()


def _add_rows(
    read: EncodedBatch, matched: MatchedRuns, sheets: Sheets, scratch: Scratch, validity: Validity, batch: BatchMatches
) -> bool:
    """Add what was found where each pair matches by its own sheet, and there is room; whether that is so."""
    if len(matched.exhausted) or read.too_large:
        return False
    segment, views = read.segment, read.views
    limits = SheetLimits(max(0, batch.limits.publication - batch.bytes), PAIR_BYTES, scratch.weight, ALL)
    answers = segment.tables.answers
    written = write_rows(sheets, answers, views.terms, limits, matched, views.publication, scratch.work)
    if written.left or written.bytes > limits.room:
        return False
    batch.count(matched)
    if len(written.member):
        registration = segment.tables.registrations[written.member]
        _add_part(MatchRows(written.publication, registration, *written[2:5]), written.bytes, validity, batch)
    return True


def match_single(
    segment: Segment, text: Text, scratch: Scratch, mask: np.uint64, validity: Validity, batch: BatchMatches
) -> bool:
    """Do the same for the one publication of a batch, whose padded `text` has no named graphs, where each pair matches
    by its own sheet, and there is room; whether that is so. Otherwise nothing is added. `mask`: the bits of a hash that
    count."""
    scratch.reserve(1)
    found = match_text(text, scratch.packed, _room(batch), PAIR_BYTES, mask)
    return _add_found(found, segment, validity, batch)


def match_views_at_once(
    segment: Segment, views: Views, scratch: Scratch, mask: np.uint64, validity: Validity, batch: BatchMatches
) -> bool:
    """Do the same for sound views."""
    scratch.reserve(len(views.mode))
    found = match_at_once(views, scratch.packed, _room(batch), PAIR_BYTES, mask)
    return _add_found(found, segment, validity, batch)


def _room(batch: BatchMatches) -> int:
    return max(0, batch.limits.publication - batch.bytes)


def _add_found(found: SingleRows, segment: Segment, validity: Validity, batch: BatchMatches) -> bool:
    publication, member, sheet, offsets, written, whole, size, keys, touched, joins = found
    pairs = len(member)
    if not whole or pairs > batch.limits.pairs - batch.pairs:
        return False
    batch.add_counts(keys, touched, joins, pairs)
    if pairs:
        registration = segment.tables.registrations[member]
        _add_part(MatchRows(publication, registration, sheet, offsets, written), size, validity, batch)
    return True


def _add_part(rows: MatchRows, size: int, validity: Validity, batch: BatchMatches) -> None:
    """Add rows of so many bytes, of the registrations that each publication is evaluated against."""
    if not validity.is_whole:
        rows = only_rows(rows, validity.holds(rows.publication, rows.registration))
    batch.parts.append(rows)
    batch.bytes += size


def match_one(
    reads: Sequence[EncodedBatch],
    scratch_of: Callable[[Segment], Scratch],
    plans: ResidualPlans,
    validity: Validity,
    batch: BatchMatches,
) -> None:
    """Do the same for one publication that there is too little room for: its answers are measured first, and then made
    in slices of subscriptions, those behind the cut (`AnswerLimit`) not at all."""
    measured: list[tuple[SegmentMatches, Sheets]] = []
    for read in reads:
        scratch = scratch_of(read.segment)
        matched = match_runs(read.segment, read.encoded, scratch)
        found = SegmentMatches(read, matched, scratch, plans, validity, batch)
        sheets = make_sheets(read.segment, read.views, read.encoded, matched, scratch, MEASURE)
        found.note(sheets)
        found.measure(sheets)
        measured.append((found, sheets))
    batch.limit.find_cuts()
    batch.open_limit.find_cuts()
    for found, sheets in measured:
        for wanted in found.slices(sheets):
            found.take(
                make_sheets(found.segment, found.views, found.encoded, found.matched, found.scratch, wanted=wanted),
                True,
            )
        found.end()


class SegmentMatches:
    """What one segment found of a batch: matches by one join and by the rows of several members, open pairs that
    operators or the evaluator decide, and undecided ones. All is added to the batch."""

    def __init__(
        self,
        read: EncodedBatch,
        matched: MatchedRuns,
        scratch: Scratch,
        plans: ResidualPlans,
        validity: Validity,
        batch: BatchMatches,
    ) -> None:
        self.segment, self.views, too_large, self.encoded = read
        self.matched = matched
        self.scratch = scratch
        self._too_large = {place for place in too_large if place < batch.upto}
        self._validity = validity
        self._batch = batch
        self._publication, self._member = publications_of(self.views, matched), matched.subscription
        self._registration = self.segment.tables.registrations[self._member]
        self._valid = validity.holds(self._publication, self._registration)
        if self._too_large:
            self._valid &= ~np.isin(self._publication, list(self._too_large))
        self._members = scratch.members(self.segment, plans) if self.segment.combines else None
        self._exhausted = self._candidates = self._incomplete = _NO_PAIRS
        batch.count(matched)

    def note(self, sheets: Sheets) -> None:
        """Note the pairs that have no sheets."""
        of_pair = sheets.of_pair[: len(self._member)]
        verified, beyond_limit = of_pair == TO_VERIFY, of_pair == BEYOND_LIMIT
        decided, candidates = _members_of_exhausted(self.segment, self.views, self.matched)
        self._candidates = _distinct(Pairs(self._publication[verified], self._member[verified]), candidates)
        self._exhausted = _distinct(Pairs(self._publication[beyond_limit], self._member[beyond_limit]), decided)
        if self._members is not None:
            self._exhausted, self._incomplete = self._members.split(self._exhausted)
            self._candidates = _distinct(self._candidates, self._incomplete)

    def measure(self, sheets: Sheets) -> None:
        """Note what the answers of one publication take, and the rows that wait for operators."""
        direct, _ = self._of(sheets)
        size = sheets.sizes[sheets.of_pair[direct]]
        short = size <= PAIR_BYTES
        answers = (self._publication[direct][short], self._registration[direct][short], size[short])
        self._batch.limit.measured.append(answers)
        self.note_waiting(sheets)

    def note_waiting(self, sheets: Sheets) -> None:
        """Note the rows that will wait for operators."""
        waiting = self._waiting(sheets)
        if waiting.any():
            registration = self._registration[waiting]
            self._batch.wait(self._rows(sheets, waiting), registration, sheets.sizes[sheets.of_pair[waiting]])

    def slices(self, sheets: Sheets) -> Iterator[U8]:
        """Yield which pairs of one publication are made together, in the order of registration; first note those that
        are not made."""
        batch, (direct, parts) = self._batch, self._of(sheets)
        kept = direct | parts
        for limit, limited in ((batch.limit, direct), (batch.open_limit, self._waiting(sheets))):
            behind = limited & limit.behind(self._publication, self._registration)
            limit.drop(self._publication[behind], self._registration[behind])
            kept &= ~behind
        left = np.flatnonzero(kept)
        left = left[np.argsort(self._registration[left], kind="stable")]
        while len(left):
            sheet = sheets.of_pair[left]
            size = np.minimum(sheets.sizes[sheet], np.where(parts[left], EVERYTHING, PAIR_BYTES)).astype(np.float64)
            first = np.zeros(len(left), np.bool_)
            first[np.unique(sheet, return_index=True)[1]] = True
            size *= np.where(parts[left], PART_WEIGHT * first, 1)
            most = max(1, int(np.searchsorted(np.cumsum(size), batch.limits.publication // SLICES, side="right")))
            most = int(np.searchsorted(self._registration[left], self._registration[left[most - 1]], side="right"))
            wanted = np.zeros(len(direct), np.uint8)
            wanted[left[:most]] = 1
            yield wanted
            left = left[most:]

    def take(self, sheets: Sheets, alone: bool) -> None:
        """Add what sheets decide, as far as there is room; all of it for a publication `alone`."""
        batch, terms = self._batch, self.views.terms
        direct, parts = self._of(sheets)
        if self._members is not None:
            rows = self._rows(sheets, parts)
            beyond = combine(self._members, rows, sheets, terms, self._incomplete, batch)
            self._candidates = _distinct(self._candidates, beyond)
        room = EVERYTHING if alone else max(0, batch.limits.publication - batch.bytes)
        limits = SheetLimits(room, PAIR_BYTES, self.scratch.weight, ALL)
        json, offsets = render_sheets(sheets, self.segment.tables.answers, terms, limits)
        sheet = sheets.of_pair[: len(direct)][direct]
        publication, registration = self._publication[direct], self._registration[direct]
        lengths = offsets[sheet + 1] - offsets[sheet]
        if not alone:
            cut = np.flatnonzero((np.cumsum(lengths) > room) | (offsets[sheet] > room))
            if len(cut):
                batch.shorten(int(publication[cut[0]]))
        long = lengths == 0
        for place, of in zip(publication[long].tolist(), registration[long].tolist(), strict=True):
            batch.leave_undecided(place, of, TOO_LONG)
        order = order_pairs(publication, registration)
        part = MatchRows(publication[order], registration[order], sheet[order], offsets, json)
        batch.parts.append(only_rows(part, ~long[order]))
        batch.bytes += int(lengths[publication < batch.upto].sum())

    def end(self) -> None:
        """Add the pairs that others decide, or nobody."""
        batch = self._batch
        for place, _, of in self._evaluated(all_pairs(self._too_large, self.segment)):
            batch.leave_undecided(place, of, f"budget: {EntailmentTooLarge()}")
        for place, _, of in self._evaluated(self._exhausted):
            if place not in self._too_large:
                batch.leave_undecided(place, of, EXHAUSTED)
        for place, number, of in self._evaluated(self._candidates):
            if not batch.has_texts:
                batch.leave_undecided(place, of, EXHAUSTED)
            elif place not in self._too_large:
                query = QueryText(*self.segment.texts.of(number), self.segment.mode)
                batch.open.add(batch.publications[place].position, of, query, EVALUATED)

    def _of(self, sheets: Sheets) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Of each pair whether its sheet is its answer, and whether it is a part of that."""
        decided = (sheets.of_pair[: len(self._member)] >= 0) & self._valid
        parts = np.zeros(len(decided), np.bool_)
        if self._members is not None:
            parts = decided & self._members.has_role[self._member]
        return decided & ~parts, parts

    def _waiting(self, sheets: Sheets) -> NDArray[np.bool_]:
        """Of each pair whether its sheet is rows that will wait for operators."""
        waiting = np.zeros(len(self._member), np.bool_)
        if self._members is not None:
            _, parts = self._of(sheets)
            waiting[parts] = self._members.ask(self._member[parts])
        return waiting

    def _rows(self, sheets: Sheets, parts: NDArray[np.bool_]) -> JoinedRows:
        of_pair = sheets.of_pair[: len(parts)]
        return JoinedRows(self._publication[parts], self._member[parts], of_pair[parts])

    def _evaluated(self, pairs: Pairs) -> Iterator[tuple[int, int, int]]:
        if not len(pairs.member):
            return iter(())
        registrations = self.segment.tables.registrations[pairs.member]
        valid = self._validity.holds(pairs.publication, registrations)
        return zip(*(column[valid].tolist() for column in (*pairs, registrations)), strict=True)


def _before(matched: MatchedRuns, views: Views, upto: int) -> MatchedRuns:
    """The runs of the publications before `upto`."""
    runs = int(np.searchsorted(views.publication[matched.run_view], upto))
    pairs = int(matched.run_start[runs])
    exhausted = matched.exhausted[views.publication[matched.exhausted[:, 0]] < upto]
    columns = (matched.run_view[:runs], matched.run_structure[:runs], matched.run_plain[:runs])
    return MatchedRuns(
        matched.subscription[:pairs],
        matched.entry[:pairs],
        *columns,
        matched.run_start[: runs + 1],
        exhausted,
        matched.counts,
    )


def _distinct(*parts: Pairs) -> Pairs:
    if not any(len(part.member) for part in parts):
        return _NO_PAIRS
    pairs = np.unique(np.concatenate([np.stack(part, axis=1) for part in parts]), axis=0)
    return Pairs(pairs[:, 0], pairs[:, 1])


def _members_of_exhausted(segment: Segment, views: Views, matched: MatchedRuns) -> tuple[Pairs, Pairs]:
    """(decided, candidate) members of the structures whose join exhausted its steps."""
    if not len(matched.exhausted):
        return _NO_PAIRS, _NO_PAIRS
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
