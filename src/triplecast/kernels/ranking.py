"""Which predicate decides most for its cost: a heap over all predicates, kept as rows are decided.

The score of a predicate t, over the open rows r that have it: ``(rows)(1 - p) / (c · free)`` where p is its probability
to hold, c its cost and ``free = Π (1 - q)``, q the probability that all other unknown predicates of r hold: then t
is evaluated whatever comes first, and costs nothing to take now. Scores are kept as logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import F64, I32
from triplecast.kernels.undecided import EPOCH, HOLDS, UNKNOWN, ConjunctionRows, claim, make_rows, settle

SUREST = 1e-9
"""No predicate is taken to hold or to fail with a probability nearer to 1."""
SURELY = 1.0 - 1e-6
"""No predicate is taken to be needed with a probability nearer to 1."""
LOOKED_AT = 8
"""A batch looks at this many predicates for each that it may hold."""
NEVER = -np.inf
"""The score of a predicate that is known or in no open row."""


class Ranking(NamedTuple):
    heap: I32
    """[predicates] a heap, the best first; equal ones by number."""
    place: I32
    """Of each predicate in `heap`."""
    score: F64
    gain: F64
    """[predicates] ``log((1 - p) / c)``"""
    holds: F64
    """[predicates] p"""
    free: F64
    """[predicates] the logarithm of ``free``."""
    chance: F64
    """[rows] the probability that all unknown predicates hold."""
    touched: I32
    """Predicates whose score changes."""


@njit
def make_ranking(rows: ConjunctionRows, holds: F64, costs: F64) -> Ranking:
    predicates = len(holds)
    ranking = Ranking(
        np.arange(predicates, dtype=np.int32),
        np.arange(predicates, dtype=np.int32),
        np.empty(predicates, np.float64),
        np.empty(predicates, np.float64),
        np.empty(predicates, np.float64),
        np.zeros(predicates, np.float64),
        np.ones(len(rows.outcome), np.float64),
        np.empty(predicates, np.int32),
    )
    for predicate in range(predicates):
        probability = min(max(holds[predicate], SUREST), 1.0 - SUREST)
        ranking.holds[predicate] = probability
        ranking.gain[predicate] = np.log((1.0 - probability) / costs[predicate])
    for row in range(len(rows.outcome)):
        for at in range(rows.starts[row], rows.starts[row + 1]):
            ranking.chance[row] *= ranking.holds[rows.members[at]]
        for at in range(rows.starts[row], rows.starts[row + 1]):
            member = rows.members[at]
            ranking.free[member] += _log_free(ranking.chance[row], ranking.holds[member])
    for predicate in range(predicates):
        ranking.score[predicate] = _score(rows, ranking, predicate)
    for place in range(predicates // 2 - 1, -1, -1):
        _sink(ranking, place, predicates)
    return ranking


@borrowing
def settle_ranked(rows: ConjunctionRows, ranking: Ranking, predicate: int, truth: int) -> None:
    """As `settle`, and rank the predicates of its rows again."""
    affected = settle(rows, predicate, truth)
    rows.cursor[EPOCH] += 1
    epoch = rows.cursor[EPOCH]
    touched = 0
    for i in range(affected):
        row = rows.affected[i]
        before = ranking.chance[row]
        after = before / ranking.holds[predicate]
        ranking.chance[row] = after
        for at in range(rows.starts[row], rows.starts[row + 1]):
            member = rows.members[at]
            if rows.known[member] != UNKNOWN:
                continue
            ranking.free[member] -= _log_free(before, ranking.holds[member])
            if rows.outcome[row] == UNKNOWN:
                ranking.free[member] += _log_free(after, ranking.holds[member])
            if rows.predicate_mark[member] != epoch:
                rows.predicate_mark[member] = epoch
                ranking.touched[touched] = member
                touched += 1
    for i in range(touched):
        _move(ranking, ranking.touched[i], _score(rows, ranking, ranking.touched[i]))
    _move(ranking, predicate, NEVER)


@borrowing
def next_ranked(rows: ConjunctionRows, ranking: Ranking, found: I32) -> int:
    """The best predicates, up to ``len(found)`` and no two in one open row: how many were found.

    Of the predicates in order of their scores, at most ``LOOKED_AT * len(found)`` are looked at.
    """
    heap, score = ranking.heap, ranking.score
    predicates = len(heap)
    if predicates == 0 or score[heap[0]] == NEVER:
        return 0
    found[0] = heap[0]
    if len(found) == 1:
        return 1
    rows.cursor[EPOCH] += 1
    filled = 0
    size = predicates
    while size > 0 and filled < len(found) and predicates - size < LOOKED_AT * len(found):
        best = heap[0]
        if score[best] == NEVER:
            break
        if claim(rows, best):
            found[filled] = best
            filled += 1
        size -= 1
        _put(ranking, heap[size], 0)
        _put(ranking, best, size)
        _sink(ranking, 0, size)
    for place in range(size, predicates):
        _rise(ranking, place)
    return filled


@inlined
def _log_free(chance: float, holds: float) -> float:
    """The logarithm of the probability that another unknown predicate of the row does not hold."""
    return float(np.log(1.0 - min(chance / holds, SURELY)))


@inlined
def _score(rows: ConjunctionRows, ranking: Ranking, predicate: int) -> float:
    if rows.wanting[predicate] == 0:
        return NEVER
    return float(np.log(rows.wanting[predicate]) + ranking.gain[predicate] - ranking.free[predicate])


@inlined
def _before(ranking: Ranking, left: int, right: int) -> bool:
    return bool(
        ranking.score[left] > ranking.score[right] or (ranking.score[left] == ranking.score[right] and left < right)
    )


@inlined
def _put(ranking: Ranking, predicate: int, place: int) -> None:
    ranking.heap[place] = predicate
    ranking.place[predicate] = place


@borrowing
def _move(ranking: Ranking, predicate: int, score: float) -> None:
    ranking.score[predicate] = score
    _rise(ranking, ranking.place[predicate])
    _sink(ranking, ranking.place[predicate], len(ranking.heap))


@borrowing
def _rise(ranking: Ranking, place: int) -> None:
    predicate = ranking.heap[place]
    while place > 0:
        parent = (place - 1) >> 1
        if not _before(ranking, predicate, ranking.heap[parent]):
            break
        _put(ranking, ranking.heap[parent], place)
        place = parent
    _put(ranking, predicate, place)


@borrowing
def _sink(ranking: Ranking, place: int, size: int) -> None:
    """`size`: what is behind it is not part of the heap."""
    if place >= size:
        return
    predicate = ranking.heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(ranking, ranking.heap[child + 1], ranking.heap[child]):
            child += 1
        if not _before(ranking, ranking.heap[child], predicate):
            break
        _put(ranking, ranking.heap[child], place)
        place = child
    _put(ranking, predicate, place)


def warm_up() -> None:
    rows = make_rows(np.array([0, 1], np.int64), np.zeros(1, np.int32), 1)
    ranking = make_ranking(rows, np.ones(1), np.ones(1))
    next_ranked(rows, ranking, np.empty(1, np.int32))
    settle_ranked(rows, ranking, 0, HOLDS)
