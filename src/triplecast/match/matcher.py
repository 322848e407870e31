"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, TracebackType
from weakref import WeakKeyDictionary

from triplecast.evaluate import Background, Candidate, Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.index import Segment, Snapshot
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.match.asking import Asking
from triplecast.match.begun import Begun, Opened
from triplecast.match.found import Decided
from triplecast.match.operate import Operators
from triplecast.match.pairs import Scratch, all_pairs, match_segment
from triplecast.match.readings import Readings
from triplecast.match.validity import Validity
from triplecast.match.views import scan_views
from triplecast.model.entailment import Entailment
from triplecast.model.match import MatchedBatch, MatchStats, Undecided
from triplecast.model.publication import Publication
from triplecast.taxonomy import NO_TAXONOMIES, EntailmentTooLarge, Taxonomies, Taxonomy

NO_ANSWERS_KNOWN: Mapping[int, Answers] = MappingProxyType({})
EXHAUSTED = (
    f"more than {SOLUTIONS_LIMIT:,} solutions of its patterns, or {STEPS_LIMIT:,} join steps, in this publication"
)


class Matcher:
    """Matches batches; keeps scratch for each segment. For one thread at a time.

    The `evaluator` is asked about what the index cannot decide; without one, a `Matcher` has its own, which `close`
    ends. `operators` are asked what only they can answer; their workers end with the matcher.
    """

    def __init__(self, evaluator: Evaluator | None = None, operators: Operators | None = None) -> None:
        self.operators = operators or Operators()
        self._evaluator = evaluator or Evaluator()
        self._owned = evaluator is None
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()
        self._readings = Readings()

    def __enter__(self) -> Matcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.operators.close()
        if self._owned:
            self._evaluator.close()

    def match(
        self,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
        known: Mapping[int, Answers] = NO_ANSWERS_KNOWN,
    ) -> MatchedBatch:
        """What matches each publication, as of its own position: added < position < removed, and with the last taxonomy
        before it. `known` are answers of operators by position, which are not asked for again. What operators would
        have to tell that could not be asked is undecided."""
        return self.begin(snapshot, publications, taxonomies, known).finish().without_waiting()

    def begin(
        self,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
        known: Mapping[int, Answers] = NO_ANSWERS_KNOWN,
    ) -> Begun:
        """The first half of `match`, which asks no operator. To be finished, if at all, before another is begun."""
        self.operators.leave(snapshot)
        return Begun(
            [
                self._match_run(snapshot, publications[first:last], taxonomy, known)
                for first, last, taxonomy in taxonomies.runs(publications)
            ]
        )

    def _match_run(
        self,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomy: Taxonomy,
        known: Mapping[int, Answers],
    ) -> Opened:
        readings = self._readings.of(snapshot.segments, taxonomy, scan_views(publications))
        validity = Validity(snapshot, publications)
        answers: list[Decided] = []
        asked: list[tuple[int, int, Candidate]] = []
        asking: list[Asking] = []
        undecided: list[Undecided] = []
        stats = MatchStats(publications=len(publications))
        backgrounds = {each: Background.of(each, taxonomy) for each in Entailment}
        for segment, views, lost, encoded in readings.read(snapshot.segments):
            found = match_segment(segment, views, encoded, self._scratch_of(segment))
            if lost:
                found = found.without(lost)
                for publication, _, registration in validity.keep(segment, all_pairs(lost, segment)):
                    undecided.append(Undecided(publication, registration, f"budget: {EntailmentTooLarge()}"))
            combined, calculated = validity.keep_decided(found.combined), validity.keep_decided(found.calculated)
            answers += [validity.keep_decided(found.decided), combined, calculated]
            counted = len(calculated.publication)
            stats += MatchStats(combined=len(combined.publication) + counted, calculated=counted)
            background = backgrounds[segment.reading.entailment]
            for publication, number, registration in validity.keep(segment, found.candidates):
                text, language = segment.texts.of(number)
                candidate = Candidate(publications[publication], registration, text, language, background)
                asked.append((publication, registration, candidate))
            asking += validity.keep_asking(found.asking)
            for publication, _, registration in validity.keep(segment, found.exhausted):
                undecided.append(Undecided(publication, registration, EXHAUSTED))
            stats += MatchStats(keys=found.counts[0], touched=found.counts[1], joins=found.counts[2])
        operating = self.operators.begin(publications, asking, asked, self._evaluator, known)
        return Opened(answers, asked, asking, undecided, stats, operating)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        scratch.operators = self.operators.performer.operators
        return scratch
