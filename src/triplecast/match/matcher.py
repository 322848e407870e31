"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.evaluate import Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.index import Segment, Snapshot
from triplecast.kernels.changed import ChangedAnswers, ChangedLimits
from triplecast.kernels.layout import I64
from triplecast.kernels.render import join_sheets, merge_rows
from triplecast.kernels.resolve import current_hash_mask
from triplecast.kernels.single import Packed
from triplecast.kernels.views import Views
from triplecast.kernels.words import pad
from triplecast.match.answer_limit import NO_ROOM_TO_WAIT, AnswerLimit, only_rows
from triplecast.match.entailed import ClosureCache
from triplecast.match.members import BatchMatches
from triplecast.match.resolve import Resolution, Resolved
from triplecast.match.segment import Scratch, Validity, encode_batch
from triplecast.match.segment_matches import match_one, match_segment, match_single, match_views_at_once
from triplecast.match.views import renumber, scan_views, views_between, views_since, views_upto
from triplecast.model.entailment import EntailmentMode
from triplecast.model.match import (
    ANSWER_LIMITS,
    PAIR_BYTES,
    AnswerLimits,
    MatchedBatch,
    MatchRows,
    MatchStats,
    Undecided,
    order_pairs,
)
from triplecast.model.open_rows import EVALUATED, NO_OPEN_ROWS, OpenRows
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.residual import ResidualPlans
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies, Taxonomy

NO_ROWS = MatchRows.of((), (), ())
NO_ANSWERS: Mapping[int, Answers] = MappingProxyType({})


class Matcher:
    """Matches batches and resolves open rows; keeps scratch for each segment. For one thread at a time.

    The `evaluator` decides what the index cannot; without one, a `Matcher` has its own, which `close` ends. No operator
    is called here: what they have a say in stays open.
    """

    def __init__(
        self,
        evaluator: Evaluator | None = None,
        operators: OperatorSet = NO_OPERATORS,
        limits: AnswerLimits = ANSWER_LIMITS,
    ) -> None:
        self.limits = limits
        self._evaluator = evaluator or Evaluator()
        self._owned = evaluator is None
        self._plans = ResidualPlans(operators)
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()
        self._closures = ClosureCache()
        self._at_once = 1 << 30
        """Publications that there was room for lately."""

    def __enter__(self) -> Matcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owned:
            self._evaluator.close()

    @property
    def operators(self) -> OperatorSet:
        """The operators that queries may call; plans are made again for others."""
        return self._plans.operators

    @operators.setter
    def operators(self, operators: OperatorSet) -> None:
        self._plans = ResidualPlans(operators)

    def match(
        self, snapshot: Snapshot, publications: Sequence[Publication], taxonomies: Taxonomies = NO_TAXONOMIES
    ) -> MatchedBatch:
        """The one piece of few publications. Raises ValueError where there are several (`match_pieces`)."""
        self._at_once = max(self._at_once, len(publications))
        ((_, matched),) = self.match_pieces(snapshot, publications, taxonomies)
        return matched

    def match_pieces(
        self,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
        scanned: Views | None = None,
    ) -> Iterator[tuple[Sequence[Publication], MatchedBatch]]:
        """What matches each publication, as of its own position: added < position < removed, and with the last taxonomy
        before it. Pairs that operators decide are open.

        A piece is of some of the publications, in order, whose answers take no more than `PUBLICATION_BYTES` together;
        there is one piece at least. Equal publications match alike in any pieces (decision 15).

        `scanned`: the publications as `scan_views` reads them; without it that is done here."""
        first = 0
        while first < len(publications) or not first:
            part = publications[first : first + self._at_once]
            views = None if scanned is None else renumber(views_between(scanned, first, first + len(part)), first)
            batch = self._find(snapshot, part, taxonomies, views)
            matched = self._resolve_batch(batch, taxonomies)
            done = matched.stats.publications
            if done < len(part):
                self._at_once = done * 7 // 8 + 1
            elif 2 * batch.pairs <= self.limits.pairs and 2 * batch.bytes <= self.limits.publication:
                self._at_once = max(self._at_once, 2 * done)
            yield part[:done], matched
            del batch, matched  # before the next piece is made
            first += done
            if not publications:
                return

    def match_views(
        self, snapshot: Snapshot, views: Views, publications: Sequence[Publication]
    ) -> Iterator[tuple[int, MatchedBatch]]:
        """What matches sound views of publications, whose texts are not read, where the index decides all subscriptions
        without entailment. Pieces as those of `match_pieces`, each with the number of its first publication."""
        first = 0
        while first < len(publications):
            batch = self._find_in_views(snapshot, views_since(views, first), publications[first:])
            matched = self._resolve_batch(batch, NO_TAXONOMIES)
            yield first, matched
            first += matched.stats.publications

    def changed_at_once(
        self, segment: Segment, changed: Callable[[I64, Packed, ChangedLimits], ChangedAnswers], keys: I64, most: int
    ) -> ChangedAnswers:
        """What `changed`, which is `changed_answers` of some store, says of one segment, where all its subscriptions
        are valid; `most` triples of several events."""
        scratch = self._scratch_of(segment)
        scratch.reserve(2 * len(keys))
        try:
            limits = ChangedLimits(most, self.limits.publication, PAIR_BYTES, self.limits.pairs)
            return changed(keys, scratch.packed, limits)
        except BaseException:
            self._scratch.clear()  # a kernel without memory leaves its marks there
            raise

    def _find_in_views(self, snapshot: Snapshot, views: Views, publications: Sequence[Publication]) -> BatchMatches:
        batch, validity = BatchMatches(publications, self.limits, False), Validity(snapshot, publications)
        try:
            mask = current_hash_mask()
            for segment in snapshot.segments:
                scratch = self._scratch_of(segment)
                if not match_views_at_once(segment, views, scratch, mask, validity, batch):
                    (read,) = encode_batch([segment], views)
                    match_segment(read, scratch, self._plans, validity, batch)
                if not batch.upto:
                    batch = BatchMatches(publications[:1], self.limits, False)
                    reads = [*encode_batch(snapshot.segments, views_upto(views, 1))]
                    match_one(reads, self._scratch_of, self._plans, validity, batch)
                    break
        except BaseException:
            self._scratch.clear()  # a kernel without memory leaves its marks there
            raise
        return batch

    def _find(
        self, snapshot: Snapshot, publications: Sequence[Publication], taxonomies: Taxonomies, scanned: Views | None
    ) -> BatchMatches:
        """What the index finds, of as many publications as there is room for."""
        try:
            return self._find_all(snapshot, publications, taxonomies, scanned)
        except BaseException:
            self._scratch.clear()  # a kernel without memory leaves its marks there
            raise

    def _find_all(
        self, snapshot: Snapshot, publications: Sequence[Publication], taxonomies: Taxonomies, scanned: Views | None
    ) -> BatchMatches:
        batch, validity = BatchMatches(publications, self.limits), Validity(snapshot, publications)
        segments: Sequence[Segment] = snapshot.segments
        if segments and scanned is None and len(publications) == 1 and not publications[0].dataset:
            segments = self._find_singly(segments, validity, batch)
        if not segments:
            return batch
        for first, last, taxonomy in taxonomies.runs(publications):
            if first < batch.upto:
                if scanned is None:
                    plain = scan_views(publications[first:last], first)
                else:
                    plain = views_between(scanned, first, last)
                entailed = self._closures.entail(segments, taxonomy, plain)
                for read in encode_batch(segments, plain, entailed):
                    match_segment(read, self._scratch_of(read.segment), self._plans, validity, batch)
                    if not batch.upto:
                        return self._find_one(snapshot, publications[0], taxonomy)
        return batch

    def _find_singly(self, segments: Sequence[Segment], validity: Validity, batch: BatchMatches) -> list[Segment]:
        """Match one publication with the segments that it can be matched with in a call each; return the others."""
        text, mask, others = pad([batch.publications[0].quads]), current_hash_mask(), list[Segment]()
        for segment in segments:
            plain = segment.mode is EntailmentMode.PLAIN
            if not plain or not match_single(segment, text, self._scratch_of(segment), mask, validity, batch):
                others.append(segment)
        return others

    def _find_one(self, snapshot: Snapshot, publication: Publication, taxonomy: Taxonomy) -> BatchMatches:
        batch = BatchMatches([publication], self.limits)
        plain = scan_views(batch.publications)
        reads = [*encode_batch(snapshot.segments, plain, self._closures.entail(snapshot.segments, taxonomy, plain))]
        match_one(reads, self._scratch_of, self._plans, Validity(snapshot, batch.publications), batch)
        return batch

    def _resolve_batch(self, batch: BatchMatches, taxonomies: Taxonomies) -> MatchedBatch:
        """Decide what the index leaves open without operators; shorten the batch where that takes too much."""
        if batch.is_plain:
            return _join_parts(batch)
        batch.open_limit.find_cuts()
        found = batch.open.make(batch.numbers.texts)
        places = {each.position: place for place, each in enumerate(batch.publications)}
        place = np.array([places[position] for position in found.position.tolist()], np.int32)
        joined = found.table != EVALUATED
        behind = joined & batch.open_limit.behind(place, found.registration)
        batch.open_limit.drop(place[behind], found.registration[behind])
        while True:
            open_rows, limit = (
                found.only(np.flatnonzero(~behind & (place < batch.upto))),
                AnswerLimit(self.limits.publication),
            )
            publications = batch.publications[: batch.upto]
            resolution = Resolution(open_rows, NO_ANSWERS, publications, taxonomies, self._plans, limit, True)
            resolved = resolution.decide(self._evaluator)
            if resolved.upto == batch.upto:
                break
            batch.shorten(resolved.upto)
        batch.limit.absorb(limit)
        parts = batch.limit.close(batch.parts, batch.upto)
        undecided = [
            *(each for each in batch.undecided if each.publication < batch.upto),
            *batch.limit.undecided(batch.upto),
            *batch.open_limit.undecided(batch.upto, NO_ROOM_TO_WAIT),
            *resolved.undecided,
        ]
        stats = batch.all_stats(sum(len(part.publication) for part in parts)) + MatchStats(
            candidates=int((open_rows.table == EVALUATED).sum()),
            verified=resolved.stats.verified,
            undecided=len(undecided),
            operated=resolved.stats.operated,
        )
        return replace(join_rows(parts, undecided, resolved.open, stats), conditions=resolved.conditions)

    def resolve(
        self,
        open_rows: OpenRows,
        answers: Mapping[int, Answers],
        publications: Sequence[Publication],
        taxonomies: Taxonomies,
        limit: AnswerLimit,
    ) -> Resolved:
        """Decide pairs as far as the answers (by position) allow, as `Resolution` does; add matches to `limit`."""
        return Resolution(open_rows, answers, publications, taxonomies, self._plans, limit).decide(self._evaluator)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        return scratch


def _join_parts(batch: BatchMatches) -> MatchedBatch:
    """The batch where there is nothing beside its parts (`BatchMatches.is_plain`)."""
    parts = [part for part in batch.parts if len(part.publication)]
    if batch.upto < len(batch.publications):
        parts = [only_rows(part, part.publication < batch.upto) for part in parts]
    found = sum(len(part.publication) for part in parts)
    stats = batch.all_stats(found)
    if len(parts) > 1:
        return join_rows(parts, (), NO_OPEN_ROWS, stats)
    return MatchedBatch(*(parts[0] if parts else NO_ROWS), stats=stats)


def join_rows(
    parts: Sequence[MatchRows], undecided: Sequence[Undecided], open_rows: OpenRows, stats: MatchStats
) -> MatchedBatch:
    """All rows of a batch by (publication, registration), with the sheets that they need."""
    publication = np.concatenate([part.publication for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    sheet, offsets, text = join_sheets([(part.sheet, part.offsets, part.text) for part in parts])
    rows = merge_rows([len(part.publication) for part in parts], publication, registration, sheet)
    if rows is None:
        order = order_pairs(publication, registration)
        rows = publication[order], registration[order], sheet[order]
    ordered = tuple(sorted(undecided, key=lambda pair: (pair.publication, pair.registration)))
    return MatchedBatch(*rows, offsets, text, ordered, open_rows, stats)


def merge_batches(first: MatchedBatch, then: MatchedBatch) -> MatchedBatch:
    """What was decided of a batch at first, and of its open rows later; `then` has those that are open still."""
    undecided = (*first.undecided, *then.undecided)
    return join_rows([first.rows, then.rows], undecided, then.open, first.stats + then.stats)


def only_pairs(batch: MatchedBatch, pairs: Collection[tuple[int, int]]) -> MatchedBatch:
    """What is decided of some pairs (publication, registration) of a batch, which counts as no work."""
    rows = batch.rows
    named = zip(rows.publication.tolist(), rows.registration.tolist(), strict=True)
    kept = np.array([pair in pairs for pair in named], np.bool_)
    part = only_rows(rows, kept)
    undecided = [pair for pair in batch.undecided if (pair.publication, pair.registration) in pairs]
    return join_rows([part], undecided, NO_OPEN_ROWS, MatchStats())
