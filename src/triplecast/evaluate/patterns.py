"""The operators of the algebra (SPARQL 18.5) over rows, lazily.

`solve(run, pattern, place, row)` yields the solutions of `pattern` in the active graph that agree with `row`, joined
with it. `row` is what EXISTS replaced, or more where the pattern is *open*: made of joins of basic patterns, VALUES,
UNION and GRAPH only, so that solving it from a row is joining it with that row. Everything else is solved on its own
and joined afterwards (bottom-up semantics).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pyoxigraph import BlankNode, NamedNode

from triplecast.evaluate.aggregates import aggregate
from triplecast.evaluate.basic import solve_basic
from triplecast.evaluate.expressions import holds, value
from triplecast.evaluate.graphs import GraphName
from triplecast.evaluate.paths import unfilled
from triplecast.evaluate.rows import (
    Row,
    Table,
    aligned,
    hidden,
    in_canonical_order,
    merge,
    names_of,
)
from triplecast.evaluate.run import Place, Recorder, Run
from triplecast.evaluate.scope import visible_names
from triplecast.model.algebra import (
    Aggregate,
    BasicPattern,
    Distinct,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Slice,
    Slot,
    Term,
    Union,
    Values,
    Variable,
)
from triplecast.terms.arithmetic import integer_term
from triplecast.terms.compare import ValueFault
from triplecast.terms.order import sort_key


def solve(run: Run, pattern: Pattern, place: Place, row: Row) -> Iterator[Row]:
    """The solutions of `pattern` that agree with `row`, each joined with it."""
    rows = _OPERATORS[type(pattern)](run, pattern, place, row)
    return rows if run.recorder is None else _recorded(run.recorder, pattern, rows, row)


def _recorded(recorder: Recorder, pattern: Pattern, rows: Iterator[Row], row: Row) -> Iterator[Row]:
    recorder.tried(pattern, row)
    for found in rows:
        recorder.kept(pattern, found)
        yield found


def arrange(run: Run, pattern: Pattern, place: Place) -> list[Row]:
    """The solutions in order: that of ORDER BY, then canonical (semantics 1.4)."""
    if isinstance(pattern, Slice):
        rows = arrange(run, pattern.pattern, place)
        return rows[pattern.offset : None if pattern.limit is None else pattern.offset + pattern.limit]
    if isinstance(pattern, Distinct):
        return list(_distinct(run, arrange(run, pattern.pattern, place)))
    if isinstance(pattern, Reduced):
        return arrange(run, pattern.pattern, place)
    if isinstance(pattern, Project):
        names = [variable.name for variable in pattern.variables]
        inner = _enter(place, names)
        if isinstance(pattern.pattern, OrderBy):
            return _restrict(place, names, _sort(run, pattern.pattern, inner, names))
        projected = _restrict(place, names, solve(run, pattern.pattern, inner, dict(inner.replaced)))
        return in_canonical_order(projected, run.budget, names)
    if isinstance(pattern, OrderBy):
        return _sort(run, pattern, place, None)
    return in_canonical_order(solve(run, pattern, place, dict(place.replaced)), run.budget)


def is_open(pattern: Pattern) -> bool:
    """Whether a pattern may be solved from any row that it is to be joined with."""
    if isinstance(pattern, Join | Union):
        return is_open(pattern.left) and is_open(pattern.right)
    if isinstance(pattern, Graph):
        return is_open(pattern.pattern)
    return isinstance(pattern, BasicPattern | Values)


def _join(run: Run, pattern: Join, place: Place, row: Row) -> Iterator[Row]:
    left, right = pattern.left, pattern.right
    if is_open(left) and not is_open(right):
        left, right = right, left
    combine = _combiner(run, right, place)
    for first in solve(run, left, place, row):
        yield from combine(first)


def _left_join(run: Run, pattern: LeftJoin, place: Place, row: Row) -> Iterator[Row]:
    combine = _combiner(run, pattern.right, place)
    condition = pattern.condition
    for first in solve(run, pattern.left, place, row):
        matched = False
        for both in combine(first):
            if condition is None or _passes(run, condition, both, place):
                matched = True
                yield both
        if not matched:
            yield first


def _combiner(run: Run, pattern: Pattern, place: Place) -> Callable[[Row], Iterator[Row]]:
    """A function from a row to its joins with the solutions of `pattern`, which are computed when first needed."""
    if is_open(pattern):
        return lambda row: solve(run, pattern, place, row)
    tables: list[Table] = []

    def look_up(row: Row) -> Iterator[Row]:
        if not tables:
            tables.append(Table(solve(run, pattern, place, dict(place.replaced)), run.budget))
        return (union for _, union in tables[0].compatible(row))

    return look_up


def _filter(run: Run, pattern: Filter, place: Place, row: Row) -> Iterator[Row]:
    return (found for found in solve(run, pattern.pattern, place, row) if _passes(run, pattern.condition, found, place))


def _passes(run: Run, condition: Expression, row: Row, place: Place) -> bool:
    if run.recorder is None:
        return holds(run, condition, row, place)
    run.recorder.tried(condition, row)
    verdict = holds(run, condition, row, place)
    if verdict:
        run.recorder.kept(condition, row)
    return verdict


def _union(run: Run, pattern: Union, place: Place, row: Row) -> Iterator[Row]:
    yield from solve(run, pattern.left, place, row)
    yield from solve(run, pattern.right, place, row)


def _graph(run: Run, pattern: Graph, place: Place, row: Row) -> Iterator[Row]:
    seed = row if is_open(pattern.pattern) else place.replaced
    name = pattern.name
    if isinstance(name, Slot):
        raise unfilled(name)
    wanted = row.get(name.name) if isinstance(name, Variable) else name
    for graph_name in _graph_names(run, wanted):
        run.budget.spend()
        there = Place(run.graphs.named[graph_name], place.replaced)
        for found in solve(run, pattern.pattern, there, dict(seed)):
            if isinstance(name, Variable):
                named = merge(found, {name.name: graph_name})
                if named is not None:
                    yield named
            else:
                yield found


def _graph_names(run: Run, wanted: Term | None) -> Iterable[GraphName]:
    if wanted is None:
        return run.graphs.named
    return (wanted,) if isinstance(wanted, NamedNode | BlankNode) and wanted in run.graphs.named else ()


def _extend(run: Run, pattern: Extend, place: Place, row: Row) -> Iterator[Row]:
    name = pattern.variable.name
    for found in solve(run, pattern.pattern, place, row):
        run.budget.spend()
        try:
            term = value(run, pattern.expression, found, place)
        except ValueFault:
            yield found
            continue
        if found.get(name, term) == term:
            yield {**found, name: term}


def _minus(run: Run, pattern: Minus, place: Place, row: Row) -> Iterator[Row]:
    removing: Table | None = None
    domain = visible_names(pattern.left) & visible_names(pattern.right)
    for found in solve(run, pattern.left, place, row):
        if removing is None:
            removing = Table(solve(run, pattern.right, place, dict(place.replaced)), run.budget)
        if not any(name in found and name in other for other, _ in removing.compatible(found) for name in domain):
            yield found


def _values(run: Run, pattern: Values, _: Place, row: Row) -> Iterator[Row]:
    names = [variable.name for variable in pattern.variables]
    for constants in pattern.rows:
        run.budget.spend()
        given: Row = {}
        for name, term in zip(names, constants, strict=True):
            if isinstance(term, Slot):
                raise unfilled(term)
            if term is not None:
                given[name] = term
        union = merge(row, given)
        if union is not None:
            yield union


def _group(run: Run, pattern: Group, place: Place, row: Row) -> Iterator[Row]:
    rows = in_canonical_order(solve(run, pattern.pattern, place, row), run.budget)
    keys = [key.name for key in pattern.keys]
    groups: dict[tuple[Term | None, ...], list[Row]] = {} if keys else {(): []}
    for found in rows:
        run.budget.spend()
        groups.setdefault(aligned(found, keys), []).append(found)
    for key, members in groups.items():
        answer = {name: term for name, term in zip(keys, key, strict=True) if term is not None}
        for variable, what in pattern.aggregates:
            try:
                answer[variable.name] = _aggregate(run, what, members, place)
            except ValueFault:
                continue
        union = merge(place.replaced, answer)
        if union is not None:
            yield union


def _aggregate(run: Run, what: Aggregate, members: list[Row], place: Place) -> Term:
    if what.argument is None:
        names = names_of(members)
        return integer_term(len({aligned(row, names) for row in members}) if what.distinct else len(members))
    values: list[Term | None] = []
    for row in members:
        try:
            values.append(value(run, what.argument, row, place))
        except ValueFault:
            values.append(None)
    return aggregate(what, values, run.budget)


def _enter(place: Place, names: Iterable[str]) -> Place:
    """Inside a sub-select EXISTS replaces only the variables that it projects."""
    if not place.replaced:
        return place
    return Place(place.graph, {name: place.replaced[name] for name in names if name in place.replaced})


def _restrict(place: Place, names: Iterable[str], rows: Iterable[Row]) -> list[Row]:
    """Rows cut to the projected names, joined with what EXISTS replaced."""
    wanted = tuple(names)
    cut = ({name: found[name] for name in wanted if name in found} for found in rows)
    if not place.replaced:
        return list(cut)
    return [union for found in cut if (union := merge(place.replaced, found)) is not None]


def _project(run: Run, pattern: Project, place: Place, row: Row) -> Iterator[Row]:
    names = [variable.name for variable in pattern.variables]
    inner = _enter(place, names)
    for found in solve(run, pattern.pattern, inner, dict(inner.replaced)):
        yield from _restrict(place, names, (found,))


def _distinct(run: Run, rows: Iterable[Row]) -> Iterator[Row]:
    met: set[frozenset[tuple[str, Any]]] = set()
    for row in rows:
        run.budget.spend()
        key = frozenset(item for item in row.items() if not hidden(item[0]))
        if key not in met:
            met.add(key)
            yield row


def _solve_distinct(run: Run, pattern: Distinct, place: Place, _: Row) -> Iterator[Row]:
    return _distinct(run, solve(run, pattern.pattern, place, dict(place.replaced)))


def _solve_inner(run: Run, pattern: Reduced | OrderBy, place: Place, row: Row) -> Iterator[Row]:
    return solve(run, pattern.pattern, place, row)


def _slice(run: Run, pattern: Slice, place: Place, _: Row) -> Iterator[Row]:
    return iter(arrange(run, pattern, place))


def _sort(run: Run, pattern: OrderBy, place: Place, ties: list[str] | None) -> list[Row]:
    """Rows by the conditions; ties by the canonical order of `ties` (default: all visible variables)."""
    rows = in_canonical_order(solve(run, pattern.pattern, place, dict(place.replaced)), run.budget, ties)
    for condition, descending in reversed(pattern.conditions):
        run.budget.spend(len(rows))
        rows.sort(key=lambda row, by=condition: _sorted_by(run, by, row, place), reverse=descending)  # type: ignore[misc]
    return rows


def _sorted_by(run: Run, condition: Expression, row: Row, place: Place) -> tuple[Any, ...]:
    try:
        return sort_key(value(run, condition, row, place))
    except ValueFault:
        return sort_key(None)


_OPERATORS: Mapping[type, Callable[[Run, Any, Place, Row], Iterator[Row]]] = MappingProxyType(
    {
        BasicPattern: solve_basic,
        Join: _join,
        LeftJoin: _left_join,
        Filter: _filter,
        Union: _union,
        Graph: _graph,
        Extend: _extend,
        Minus: _minus,
        Values: _values,
        Group: _group,
        OrderBy: _solve_inner,
        Project: _project,
        Distinct: _solve_distinct,
        Reduced: _solve_inner,
        Slice: _slice,
    }
)
