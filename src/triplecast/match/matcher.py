"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.evaluate import Background, Candidate, Evaluator
from triplecast.index import Segment, Snapshot
from triplecast.kernels.render import gather
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.kernels.walk import STEPS_LIMIT
from triplecast.match.found import Decided, make_matches
from triplecast.match.pairs import Scratch, all_pairs, match_segment
from triplecast.match.readings import Readings
from triplecast.match.validity import Validity
from triplecast.match.views import scan_views
from triplecast.model.entailment import Entailment
from triplecast.model.match import MatchedBatch, MatchStats, Undecided
from triplecast.model.publication import Publication
from triplecast.taxonomy import NO_TAXONOMIES, EntailmentTooLarge, Taxonomies, Taxonomy

EXHAUSTED = (
    f"more than {SOLUTIONS_LIMIT:,} solutions of its patterns, or {STEPS_LIMIT:,} join steps, in this publication"
)


class Matcher:
    """Matches batches; keeps scratch for each segment. For one thread at a time.

    The `evaluator` is asked about what the index cannot decide; without one, a `Matcher` has its own, which `close`
    ends.
    """

    def __init__(self, evaluator: Evaluator | None = None) -> None:
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
        if self._owned:
            self._evaluator.close()

    def match(
        self, snapshot: Snapshot, publications: Sequence[Publication], taxonomies: Taxonomies = NO_TAXONOMIES
    ) -> MatchedBatch:
        """What matches each publication, as of its own position: added < position < removed, and with the last taxonomy
        before it."""
        parts = [
            self._match_run(snapshot, publications[first:last], taxonomy)
            for first, last, taxonomy in taxonomies.runs(publications)
        ]
        return parts[0] if len(parts) == 1 else _join(parts)

    def _match_run(self, snapshot: Snapshot, publications: Sequence[Publication], taxonomy: Taxonomy) -> MatchedBatch:
        readings = self._readings.of(snapshot.segments, taxonomy, scan_views(publications))
        validity = Validity(snapshot, publications)
        answers: list[Decided] = []
        asked: list[Candidate] = []
        of_asked: list[tuple[int, int]] = []
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
                asked.append(Candidate(publications[publication], registration, text, language, background))
                of_asked.append((publication, registration))
            for publication, _, registration in validity.keep(segment, found.exhausted):
                undecided.append(Undecided(publication, registration, EXHAUSTED))
            stats += MatchStats(keys=found.counts[0], touched=found.counts[1], joins=found.counts[2])
        verified, doubts = self._decide(asked, of_asked)
        answers.append(verified)
        undecided.extend(doubts)
        undecided.sort(key=lambda doubt: (doubt.publication, doubt.registration))
        stats += MatchStats(
            candidates=len(asked),
            verified=len(verified.publication),
            matches=sum(len(part.publication) for part in answers),
            undecided=len(undecided),
        )
        return _order(answers, tuple(undecided), stats)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        return scratch

    def _decide(self, asked: Sequence[Candidate], pairs: Sequence[tuple[int, int]]) -> tuple[Decided, list[Undecided]]:
        """What the evaluator says of the candidates."""
        decisions = self._evaluator.decide(asked) if asked else []
        doubts = [
            Undecided(publication, registration, decision.undecided)
            for (publication, registration), decision in zip(pairs, decisions, strict=True)
            if decision.undecided is not None
        ]
        kept = [
            (*pair, decision.bindings)
            for pair, decision in zip(pairs, decisions, strict=True)
            if decision.undecided is None and decision.matched
        ]
        made = make_matches(
            [publication for publication, _, _ in kept],
            [registration for _, registration, _ in kept],
            [bindings for _, _, bindings in kept],
        )
        return made, doubts


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
        sum((part.stats for part in parts), MatchStats()),
    )


def _order(parts: Sequence[Decided], undecided: tuple[Undecided, ...], stats: MatchStats) -> MatchedBatch:
    """All rows by (publication, registration)."""
    shifts = np.cumsum([0, *(len(part.text) for part in parts)])[:-1]
    publication = np.concatenate([part.publication for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    start = np.concatenate([part.start + shift for part, shift in zip(parts, shifts, strict=True)])
    length = np.concatenate([part.length for part in parts])
    order = np.lexsort((registration, publication))
    bindings, offsets = gather(np.concatenate([part.text for part in parts]), start[order], length[order])
    return MatchedBatch(publication[order], registration[order], offsets, bindings, undecided, stats)
