"""Basic graph patterns: an index nested-loop join of triple patterns and paths, most selective first, with conditions
applied as soon as their variables are bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.budget import ENTRIES_A_STEP, LONGEST_FREE, Budget
from triplecast.evaluate.conjuncts import Conjuncts, part_of, selectivity
from triplecast.evaluate.expressions import sift
from triplecast.evaluate.graphs import ActiveGraph
from triplecast.evaluate.paths import ANY, End, connect, unfilled
from triplecast.evaluate.rows import Row
from triplecast.evaluate.state import Evaluation, Level, Place, Recorder
from triplecast.languages.rewriting import names_of_path
from triplecast.model.algebra import BasicPattern, Node, PathPattern, Slot, Term, TriplePattern, Variable

BOUND_DIVIDES = 8.0
"""By what a bound name is guessed to divide the rows of a pattern."""


def solve_basic(
    run: Evaluation, pattern: BasicPattern, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    """Yield each extension of `row` that maps all triples and paths into the graph and fulfils the conditions."""
    if not pattern.triples:
        yield from sift(run, conditions, iter((dict(row),)), place)
        return
    ordered = _ordered(run, pattern, place.graph, row, conditions)
    last = len(ordered) - 1
    levels = [_extend(run, ordered[0], place, row)]
    while levels:
        extended = next(levels[-1], None)
        if extended is None:
            levels.pop()
        elif len(levels) > last:
            yield extended
        else:
            levels.append(_extend(run, ordered[len(levels)], place, extended))


def _ordered(
    run: Evaluation, pattern: BasicPattern, graph: ActiveGraph, row: Row, conditions: Conjuncts
) -> tuple[Level, ...]:
    key = (id(pattern), frozenset(row), tuple([id(condition.expression) for condition in conditions]))
    if key not in run.orders:
        bound = frozenset(row)
        ordered = order_patterns(pattern.triples, graph, bound, selectivity(conditions, BOUND_DIVIDES))
        run.orders[key] = _level(ordered, bound, conditions)
        _note_constants(pattern.triples, run.budget)
    return run.orders[key]


def _level(
    ordered: Sequence[TriplePattern | PathPattern], bound: frozenset[str], conditions: Conjuncts
) -> tuple[Level, ...]:
    """Apply each condition at the first pattern after which its names are bound, else at the last one."""
    levels: list[Level] = []
    met = set(bound)
    waiting = conditions
    for pattern in ordered[:-1]:
        met.update(_names(pattern))
        now, waiting = part_of(waiting, met)
        levels.append(Level(pattern, now))
    return (*levels, Level(ordered[-1], waiting))


def _note_constants(patterns: Sequence[TriplePattern | PathPattern], budget: Budget) -> None:
    for pattern in patterns:
        middle = (pattern.predicate,) if type(pattern) is TriplePattern else names_of_path(pattern.path)  # type: ignore[union-attr]
        for node in (pattern.subject, *middle, pattern.object):
            if type(node) is NamedNode:
                if len(node.value) > LONGEST_FREE:
                    budget.note(node)
            elif type(node) is Literal:
                budget.note(node)


def order_patterns(
    patterns: Sequence[TriplePattern | PathPattern],
    graph: ActiveGraph,
    bound: frozenset[str],
    selective: Mapping[str, float] = MappingProxyType({}),
) -> tuple[TriplePattern | PathPattern, ...]:
    """Order patterns greedily by estimated size: what the constants leave, divided by 8 for each name bound before and
    by `selective` (at most 8) for each other name with conditions; ties as written.

    A path without a bound name comes after triples. Takes time in proportion to the names written, not to their square.
    """
    if len(patterns) == 1:
        return tuple(patterns)
    names = [_names(pattern) for pattern in patterns]
    users: dict[str, list[int]] = {}
    for index, own in enumerate(names):
        for name in own:
            users.setdefault(name, []).append(index)
    costs = [float(_size(pattern, graph)) for pattern in patterns]
    for index, pattern in enumerate(patterns):
        known = sum(name in bound for name in names[index])
        costs[index] /= BOUND_DIVIDES**known
        for name in names[index]:
            if name not in bound:
                costs[index] /= selective.get(name, 1.0)
        if isinstance(pattern, PathPattern) and not known:
            costs[index] += len(graph.triples) + 1
    waiting = [(cost, index) for index, cost in enumerate(costs)]
    heapify(waiting)
    met = set(bound)
    ordered: dict[int, TriplePattern | PathPattern] = {}
    while waiting:
        cost, index = heappop(waiting)
        if index in ordered or cost != costs[index]:
            continue
        ordered[index] = patterns[index]
        for name in names[index]:
            if name not in met:
                met.add(name)
                for user in users[name]:
                    costs[user] /= BOUND_DIVIDES / selective.get(name, 1.0)
                    heappush(waiting, (costs[user], user))
    return tuple(ordered.values())


def _size(pattern: TriplePattern | PathPattern, graph: ActiveGraph) -> int:
    constants = [None if isinstance(node, Variable | Slot) else node for node in (pattern.subject, pattern.object)]
    predicate = pattern.predicate if isinstance(pattern, TriplePattern) else None
    if isinstance(predicate, Variable | Slot):
        predicate = None
    return len(graph.candidates(constants[0], predicate, constants[1]))


def _names(pattern: TriplePattern | PathPattern) -> tuple[str, ...]:
    nodes: tuple[Node, ...] = (pattern.subject, pattern.object)
    if isinstance(pattern, TriplePattern):
        nodes = (*nodes, pattern.predicate)
    return tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Variable)))


def _extend(run: Evaluation, level: Level, place: Place, row: Row) -> Iterator[Row]:
    pattern = level.pattern
    rows = (
        _extend_triple(run, pattern, place, row)
        if isinstance(pattern, TriplePattern)
        else _extend_path(run, pattern, place, row)
    )
    if run.recorder is not None:
        rows = _recorded(run.recorder, pattern, rows, row)
    return sift(run, level.conditions, rows, place)


def _recorded(recorder: Recorder, pattern: TriplePattern | PathPattern, rows: Iterator[Row], row: Row) -> Iterator[Row]:
    recorder.tried(pattern, row)
    for extended in rows:
        recorder.kept(pattern, extended)
        yield extended


def _extend_triple(run: Evaluation, pattern: TriplePattern, place: Place, row: Row) -> Iterator[Row]:
    subject, subject_name = resolve(pattern.subject, row)
    predicate, predicate_name = resolve(pattern.predicate, row)
    object_, object_name = resolve(pattern.object, row)
    if run.budget.long:
        run.budget.spend_noted(subject, predicate, object_)
    candidates = place.graph.candidates(subject, predicate, object_)
    share = 1 + len(row) // ENTRIES_A_STEP
    run.budget.spend(share + share * len(candidates))
    for triple in candidates:
        if (
            (subject is not None and triple[0] != subject)
            or (predicate is not None and triple[1] != predicate)
            or (object_ is not None and triple[2] != object_)
        ):
            continue
        extended = row.copy()
        if subject_name is not None:
            extended[subject_name] = triple[0]
        if predicate_name is not None and extended.setdefault(predicate_name, triple[1]) != triple[1]:
            continue
        if object_name is not None and extended.setdefault(object_name, triple[2]) != triple[2]:
            continue
        yield extended


def _extend_path(run: Evaluation, pattern: PathPattern, place: Place, row: Row) -> Iterator[Row]:
    subject, subject_name = resolve(pattern.subject, row)
    object_, object_name = resolve(pattern.object, row)
    start = ANY if subject is None else End(subject, _written(pattern.subject, place))
    end = ANY if object_ is None else End(object_, _written(pattern.object, place))
    run.budget.spend()
    for first, last in connect(place.graph, pattern.path, start, end, run.budget):
        run.budget.spend_row(row)
        extended = dict(row)
        if subject_name is not None:
            extended[subject_name] = first
        if object_name is not None and extended.setdefault(object_name, last) != last:
            continue
        yield extended


def resolve(node: Node, row: Row) -> tuple[Term | None, str | None]:
    """Return (the node's term, None), or (None, the name that it binds)."""
    if type(node) is Variable:
        name = node.name
        return (row[name], None) if name in row else (None, name)
    if isinstance(node, Slot):
        raise unfilled(node)
    return node, None  # type: ignore[return-value]


def _written(node: Node, place: Place) -> bool:
    return not isinstance(node, Variable) or node.name in place.replaced
