"""From what the stages found of a batch to a `MatchedBatch`: in two halves, what is decided without asking operators,
and everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from triplecast.evaluate import Candidate, Decision
from triplecast.kernels.render import gather
from triplecast.match.answer import Verdict
from triplecast.match.asking import Asking
from triplecast.match.found import Decided, make_matches
from triplecast.match.operate import Operated, Operating
from triplecast.model.match import Awaited, MatchedBatch, MatchStats, Undecided


class Opened(NamedTuple):
    """What was found of a run of publications that have one taxonomy."""

    answers: list[Decided]
    """What the index decided."""
    asked: list[tuple[int, int, Candidate]]
    asking: list[Asking]
    undecided: list[Undecided]
    """Without operators."""
    stats: MatchStats
    """Of the work until here."""
    operating: Operating

    def batch(self, operated: Operated) -> MatchedBatch:
        """With what operators, and the evaluator, have told until now."""
        verified, doubts, awaited = _verified(self.asked, operated.decisions)
        answered, more_doubts, more_awaited = _answered(self.asking, operated.verdicts)
        answers = [*self.answers, verified, answered]
        undecided = [*self.undecided, *doubts, *more_doubts]
        undecided.sort(key=lambda doubt: (doubt.publication, doubt.registration))
        stats = self.stats + MatchStats(
            candidates=len(self.asked),
            verified=len(verified.publication),
            matches=sum(len(part.publication) for part in answers),
            undecided=len(undecided),
            operator_calls=len(operated.results),
            operator_failures=operated.failed,
            operated=len(answered.publication),
        )
        return _order(answers, tuple(undecided), tuple(sorted([*awaited, *more_awaited])), operated, stats)


class Begun:
    """A batch of which everything is known but what operators have to be asked for."""

    def __init__(self, runs: Sequence[Opened]) -> None:
        self._runs = runs

    def decided(self) -> MatchedBatch:
        """What can be told now; `MatchedBatch.awaited` are the other pairs."""
        return _join([run.batch(run.operating.operated()) for run in self._runs])

    def finish(self) -> MatchedBatch:
        """Everything, once operators have answered or failed. Its rows and undecided pairs are those of `decided` and
        what became of the pairs that were awaited; those are awaited still of which nobody could be asked."""
        return _join([run.batch(_waiting_on(run.operating)) for run in self._runs])


def _waiting_on(operating: Operating) -> Operated:
    """What is known in the end; verdicts and decisions that nobody could be asked for are open, with the reason."""
    operated = operating.finish()
    without = operating.waits_on()
    if without is None:
        return operated
    operated.verdicts = [
        each._replace(undecided=told.undecided) if each.waiting else each
        for each, told in zip(without.verdicts, operated.verdicts, strict=True)
    ]
    operated.decisions = [
        replace(each, undecided=told.undecided) if each.wanted else each
        for each, told in zip(without.decisions, operated.decisions, strict=True)
    ]
    return operated


def _verified(
    asked: Sequence[tuple[int, int, Candidate]], decisions: Sequence[Decision]
) -> tuple[Decided, list[Undecided], list[Awaited]]:
    """What the evaluator says of the candidates."""
    doubts: list[Undecided] = []
    awaited: list[Awaited] = []
    kept: list[tuple[int, int, bytes]] = []
    for (publication, registration, _), decision in zip(asked, decisions, strict=True):
        if decision.wanted:
            awaited.append(Awaited(publication, registration, decision.undecided or ""))
        elif decision.undecided is not None:
            doubts.append(Undecided(publication, registration, decision.undecided))
        elif decision.matched:
            kept.append((publication, registration, decision.bindings))
    return _made(kept), doubts, awaited


def _answered(asking: Sequence[Asking], verdicts: Sequence[Verdict]) -> tuple[Decided, list[Undecided], list[Awaited]]:
    """What the rows of the index and the operators come to."""
    doubts: list[Undecided] = []
    awaited: list[Awaited] = []
    kept: list[tuple[int, int, bytes]] = []
    for pair, verdict in zip(asking, verdicts, strict=True):
        if verdict.waiting:
            awaited.append(Awaited(pair.publication, pair.registration, verdict.undecided or ""))
        elif verdict.undecided is not None:
            doubts.append(Undecided(pair.publication, pair.registration, verdict.undecided))
        elif verdict.bindings is not None:
            kept.append((pair.publication, pair.registration, verdict.bindings))
    return _made(kept), doubts, awaited


def _made(kept: Sequence[tuple[int, int, bytes]]) -> Decided:
    return make_matches(
        [publication for publication, _, _ in kept],
        [registration for _, registration, _ in kept],
        [bindings for _, _, bindings in kept],
    )


def _join(parts: Sequence[MatchedBatch]) -> MatchedBatch:
    """Runs of publications one after the other."""
    if len(parts) == 1:
        return parts[0]
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
        tuple(
            pair._replace(publication=pair.publication + first)
            for part, first in zip(parts, firsts, strict=True)
            for pair in part.awaited
        ),
    )


def _order(
    parts: Sequence[Decided],
    undecided: tuple[Undecided, ...],
    awaited: tuple[Awaited, ...],
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
        awaited,
    )
