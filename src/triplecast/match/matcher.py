"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, TracebackType
from weakref import WeakKeyDictionary

from triplecast.evaluate import Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.index import Segment, Snapshot
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.match.found import Decided, join_matches
from triplecast.match.members import Combined
from triplecast.match.pairs import Scratch, all_pairs, match_segment
from triplecast.match.readings import Readings
from triplecast.match.resolve import Resolved, resolve
from triplecast.match.validity import Validity
from triplecast.match.views import scan_views
from triplecast.model.match import MatchedBatch, MatchStats, Undecided
from triplecast.model.open_rows import EVALUATED, OpenRows, OpenRowsMaker, QueryText
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.residual import NumberedTerms, ResidualPlans
from triplecast.taxonomy import NO_TAXONOMIES, EntailmentTooLarge, Taxonomies, Taxonomy

NO_ANSWERS: Mapping[int, Answers] = MappingProxyType({})
EXHAUSTED = (
    f"more than {SOLUTIONS_LIMIT:,} solutions of its patterns, or {STEPS_LIMIT:,} join steps, in this publication"
)


class Matcher:
    """Matches batches and resolves open rows; keeps scratch for each segment. For one thread at a time.

    The `evaluator` decides what the index cannot; without one, a `Matcher` has its own, which `close` ends. No operator
    is called here: what they have a say in stays open.
    """

    def __init__(self, evaluator: Evaluator | None = None, operators: OperatorSet = NO_OPERATORS) -> None:
        self._evaluator = evaluator or Evaluator()
        self._owned = evaluator is None
        self._plans = ResidualPlans(operators)
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()
        self._readings = Readings()

    def __enter__(self) -> Matcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        """What matches each publication, as of its own position: added < position < removed, and with the last taxonomy
        before it. What operators have a say in is open."""
        batch = _Batch()
        for first, last, taxonomy in taxonomies.runs(publications):
            self._match_run(batch, snapshot, publications[first:last], first, taxonomy)
        open_rows = batch.maker.make(batch.numbers.texts)
        resolved = self.resolve(open_rows, NO_ANSWERS, publications, taxonomies)
        parts = [*batch.parts, resolved.decided]
        undecided = [*batch.undecided, *resolved.undecided]
        stats = batch.stats + MatchStats(
            publications=len(publications),
            candidates=int((open_rows.table == EVALUATED).sum()),
            verified=resolved.stats.verified,
            matches=sum(len(part.publication) for part in parts),
            undecided=len(undecided),
            operated=resolved.stats.operated,
        )
        return replace(join_matches(parts, undecided, resolved.open, stats), conditions=resolved.conditions)

    def resolve(
        self,
        open_rows: OpenRows,
        answers: Mapping[int, Answers],
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
    ) -> Resolved:
        """`resolve.resolve` with this matcher's evaluator and plans."""
        return resolve(open_rows, answers, publications, taxonomies, self._plans, self._evaluator)

    def _match_run(
        self,
        batch: _Batch,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        first: int,
        taxonomy: Taxonomy,
    ) -> None:
        """Publications that have one taxonomy; `first`: the place of the first in the batch."""
        readings = self._readings.of(snapshot.segments, taxonomy, scan_views(publications))
        validity = Validity(snapshot, publications)
        for segment, views, lost, encoded in readings.read(snapshot.segments):
            scratch = self._scratch_of(segment)
            found = match_segment(segment, views, encoded, scratch, self._plans, batch.numbers, batch.maker)
            valid = validity.without(lost)
            for publication, _, registration in validity.keep(segment, all_pairs(lost, segment)):
                batch.leave(first + publication, registration, f"budget: {EntailmentTooLarge()}")
            for publication, _, registration in valid.keep(segment, found.exhausted):
                batch.leave(first + publication, registration, EXHAUSTED)
            combined, calculated = (
                valid.keep_decided(found.combined.plain),
                valid.keep_decided(found.combined.calculated),
            )
            for part in (valid.keep_decided(found.decided), combined, calculated):
                batch.add(part, first)
            for publication, number, registration in valid.keep(segment, found.candidates):
                query = QueryText(*segment.texts.of(number), segment.reading)
                batch.maker.add(publications[publication].position, registration, query, EVALUATED)
            self._add_combined(batch, segment, valid, found.combined, publications, first)
            counted = len(calculated.publication)
            batch.stats += MatchStats(
                keys=found.counts[0],
                touched=found.counts[1],
                joins=found.counts[2],
                combined=len(combined.publication) + counted,
                calculated=counted,
            )

    def _add_combined(
        self,
        batch: _Batch,
        segment: Segment,
        valid: Validity,
        combined: Combined,
        publications: Sequence[Publication],
        first: int,
    ) -> None:
        """Pairs that operators have a say in, and those whose query is not valid any more."""
        for pairs, values in ((combined.asking, combined.tables.tolist()), (combined.refused, combined.reasons)):
            if not len(pairs.publication):
                continue
            members = self._scratch_of(segment).members(segment, self._plans)
            registrations = segment.tables.registrations[pairs.subscription]
            kept = valid.holds(pairs.publication, registrations).tolist()
            rows = zip(pairs.publication.tolist(), pairs.subscription.tolist(), registrations.tolist(), strict=True)
            for (publication, member, registration), value, asked in zip(rows, values, kept, strict=True):
                if not asked:
                    continue
                if isinstance(value, str):
                    batch.leave(first + publication, registration, value)
                else:
                    batch.maker.add(publications[publication].position, registration, members.query(member), value)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        return scratch


class _Batch:
    """What is found of a batch."""

    def __init__(self) -> None:
        self.parts: list[Decided] = []
        self.undecided: list[Undecided] = []
        self.numbers = NumberedTerms()
        self.maker = OpenRowsMaker()
        self.stats = MatchStats()

    def add(self, part: Decided, first: int) -> None:
        self.parts.append(
            part._replace(publication=part.publication + part.publication.dtype.type(first)) if first else part
        )

    def leave(self, publication: int, registration: int, reason: str) -> None:
        self.undecided.append(Undecided(publication, registration, reason))
