"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, TracebackType
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.evaluate import Background, Candidate, Decision, Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.index import Segment, Snapshot
from triplecast.kernels.render import gather
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.match.answer import Verdict
from triplecast.match.asking import Asking
from triplecast.match.found import Decided, make_matches
from triplecast.match.operate import Operated, Operators
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
        before it. `known` are answers of operators by position, which are not asked for again."""
        parts = [
            self._match_run(snapshot, publications[first:last], taxonomy, known)
            for first, last, taxonomy in taxonomies.runs(publications)
        ]
        return parts[0] if len(parts) == 1 else _join(parts)

    def _match_run(
        self,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomy: Taxonomy,
        known: Mapping[int, Answers],
    ) -> MatchedBatch:
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
        operated = self.operators.decide(publications, asking, asked, self._evaluator, known)
        verified, doubts = _verified(asked, operated.decisions)
        answered, more_doubts = _answered(asking, operated.verdicts)
        answers += [verified, answered]
        undecided += [*doubts, *more_doubts]
        undecided.sort(key=lambda doubt: (doubt.publication, doubt.registration))
        stats += MatchStats(
            candidates=len(asked),
            verified=len(verified.publication),
            matches=sum(len(part.publication) for part in answers),
            undecided=len(undecided),
            operator_calls=len(operated.results),
            operator_failures=operated.failed,
            operated=len(answered.publication),
        )
        return _order(answers, tuple(undecided), operated, stats)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        return scratch


def _verified(
    asked: Sequence[tuple[int, int, Candidate]], decisions: Sequence[Decision]
) -> tuple[Decided, list[Undecided]]:
    """What the evaluator says of the candidates."""
    doubts: list[Undecided] = []
    kept: list[tuple[int, int, bytes]] = []
    for (publication, registration, _), decision in zip(asked, decisions, strict=True):
        if decision.undecided is not None:
            doubts.append(Undecided(publication, registration, decision.undecided))
        elif decision.matched:
            kept.append((publication, registration, decision.bindings))
    return _made(kept), doubts


def _answered(asking: Sequence[Asking], verdicts: Sequence[Verdict]) -> tuple[Decided, list[Undecided]]:
    """What the rows of the index and the operators come to."""
    doubts: list[Undecided] = []
    kept: list[tuple[int, int, bytes]] = []
    for pair, verdict in zip(asking, verdicts, strict=True):
        if verdict.undecided is not None:
            doubts.append(Undecided(pair.publication, pair.registration, verdict.undecided))
        elif verdict.bindings is not None:
            kept.append((pair.publication, pair.registration, verdict.bindings))
    return _made(kept), doubts


def _made(kept: Sequence[tuple[int, int, bytes]]) -> Decided:
    return make_matches(
        [publication for publication, _, _ in kept],
        [registration for _, registration, _ in kept],
        [bindings for _, _, bindings in kept],
    )


def _join(parts: Sequence[MatchedBatch]) -> MatchedBatch:
    """Runs of publications one after the other."""
    firsts = np.cumsum([0, *(part.stats.publications for part in parts)])[:-1].tolist()
    sizes = np.cumsum([0, *(len(part.bindings) for part in parts)])[:-1].tolist()
    return MatchedBatch(
        np.concatenate([part.publication + np.int32(first) for part, first in zip(parts, firsts, strict=True)]),
        np.concatenate([part.registration for part in parts]),
        np.concatenate(
            [
                np.zeros(1, np.int64),
                *(part.bindings_offsets[1:] + size for part, size in zip(parts, sizes, strict=True)),
            ]
        ),
        np.concatenate([part.bindings for part in parts]),
        tuple(
            Undecided(pair.publication + first, pair.registration, pair.reason)
            for part, first in zip(parts, firsts, strict=True)
            for pair in part.undecided
        ),
        tuple(
            replace(result, publication=result.publication + first)
            for part, first in zip(parts, firsts, strict=True)
            for result in part.results
        ),
        tuple(row for part in parts for row in part.learnt),
        sum((part.stats for part in parts), MatchStats()),
    )


def _order(
    parts: Sequence[Decided],
    undecided: tuple[Undecided, ...],
    operated: Operated,
    stats: MatchStats,
) -> MatchedBatch:
    """All rows by (publication, registration)."""
    shifts = np.cumsum([0, *(len(part.text) for part in parts)])[:-1]
    publication = np.concatenate([part.publication for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    start = np.concatenate([part.start + shift for part, shift in zip(parts, shifts, strict=True)])
    length = np.concatenate([part.length for part in parts])
    order = np.lexsort((registration, publication))
    bindings, offsets = gather(np.concatenate([part.text for part in parts]), start[order], length[order])
    return MatchedBatch(
        publication[order],
        registration[order],
        offsets,
        bindings,
        undecided,
        tuple(operated.results),
        operated.learnt,
        stats,
    )
