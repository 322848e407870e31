"""The operators of the algebra (SPARQL 18.5) over rows, lazily.

`solve(run, pattern, place, row)` yields the solutions of `pattern` in the active graph that agree with `row`, joined
with it. `row` is what EXISTS replaced, or more where the pattern is *open*: made of joins of basic patterns, VALUES,
UNION, GRAPH and property functions only, so that solving it from a row is joining it with that row. Everything else is
solved on its own and joined afterwards (bottom-up semantics). Rows that need operator results are omitted and noted.

`solve_under` gives the same as `solve` with conditions applied to its rows, but applies each to the rows of the
smallest part that is certain to bind its variables: a row that fails there makes no row that passes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from pyoxigraph import BlankNode, NamedNode

from triplecast.evaluate.aggregates import aggregate_rows
from triplecast.evaluate.basic import solve_basic
from triplecast.evaluate.conjuncts import Conjuncts, out_of_graphs, part_of
from triplecast.evaluate.expressions import passes, sift, value
from triplecast.evaluate.graphs import GraphName
from triplecast.evaluate.paths import unfilled
from triplecast.evaluate.row_operators import (
    bind_rows,
    distinct_rows,
    enter_subselect,
    produce_rows,
    restrict_rows,
    solve_values,
)
from triplecast.evaluate.rows import UNBOUND, Row, Table, in_canonical_order, merge
from triplecast.evaluate.scope import parts_of, visible_names
from triplecast.evaluate.state import Evaluation, Place, Recorder
from triplecast.evaluate.unknown import Unknown, all_of
from triplecast.model import algebra
from triplecast.model.algebra import Expression, Pattern, Slot, Term, Variable
from triplecast.terms.compare import ValueFault, value_key

Operator: TypeAlias = Callable[..., Iterator[Row]]
"""(evaluation, pattern, place, row) and, for most, conditions on its rows."""


def solve(run: Evaluation, pattern: Pattern, place: Place, row: Row) -> Iterator[Row]:
    """Yield the solutions of `pattern` that agree with `row`, each joined with it."""
    rows = _OPERATORS[type(pattern)](run, pattern, place, row)
    return rows if run.recorder is None else _recorded(run.recorder, pattern, rows, row)


def solve_under(run: Evaluation, pattern: Pattern, conditions: Conjuncts, place: Place, row: Row) -> Iterator[Row]:
    """Yield the rows of `solve` that fulfil the conditions."""
    if not conditions:
        return solve(run, pattern, place, row)
    if isinstance(pattern, _FILTERED_AFTERWARDS):
        return sift(run, conditions, solve(run, pattern, place, row), place)
    rows = _OPERATORS[type(pattern)](run, pattern, place, row, conditions)
    return rows if run.recorder is None else _recorded(run.recorder, pattern, rows, row)


def _recorded(recorder: Recorder, pattern: Pattern, rows: Iterator[Row], row: Row) -> Iterator[Row]:
    recorder.tried(pattern, row)
    for found in rows:
        recorder.kept(pattern, found)
        yield found


def arrange(run: Evaluation, pattern: Pattern, place: Place) -> list[Row]:
    """List the solutions in the order of ORDER BY, then in canonical order (semantics 1.4)."""
    if isinstance(pattern, algebra.Slice):
        inside = place.aside()
        rows = arrange(run, pattern.pattern, inside)
        if inside.unknown:
            place.unknown.extend(inside.unknown)
            return []
        return rows[pattern.offset : None if pattern.limit is None else pattern.offset + pattern.limit]
    if isinstance(pattern, algebra.Distinct):
        return list(distinct_rows(run, arrange(run, pattern.pattern, place)))
    if isinstance(pattern, algebra.Reduced):
        return arrange(run, pattern.pattern, place)
    if isinstance(pattern, algebra.Project):
        names = [variable.name for variable in pattern.variables]
        inner = enter_subselect(place, names)
        if isinstance(pattern.pattern, algebra.OrderBy):
            return restrict_rows(run, place, names, _sort(run, pattern.pattern, inner, names))
        projected = restrict_rows(run, place, names, solve(run, pattern.pattern, inner, dict(inner.replaced)))
        return in_canonical_order(projected, run.numbering, names)
    if isinstance(pattern, algebra.OrderBy):
        return _sort(run, pattern, place, None)
    return in_canonical_order(solve(run, pattern, place, dict(place.replaced)), run.numbering)


def is_open(pattern: Pattern) -> bool:
    """Whether a pattern may be solved from any row that it is to be joined with."""
    if isinstance(pattern, algebra.Join | algebra.Union):
        return is_open(pattern.left) and is_open(pattern.right)
    if isinstance(pattern, algebra.Graph | algebra.Produce):
        return is_open(pattern.pattern)
    return isinstance(pattern, algebra.BasicPattern | algebra.Values)


def _produces(pattern: Pattern) -> bool:
    """Whether a pattern is open and calls operators: its join partner is solved first."""
    return is_open(pattern) and any(isinstance(part, algebra.Produce) for part in parts_of(pattern))


def _join(run: Evaluation, pattern: algebra.Join, place: Place, row: Row, conditions: Conjuncts = ()) -> Iterator[Row]:
    left, right = pattern.left, pattern.right
    if (is_open(left) and not is_open(right)) or (_produces(left) and is_open(right) and not _produces(right)):
        left, right = right, left
    first, rest = part_of(conditions, run.certain(left) | row.keys())
    seen = run.certain(left) if is_open(right) else frozenset[str]()
    second, rest = part_of(rest, run.certain(right) | seen | row.keys())
    combine = _combiner(run, right, place, second)
    joined = (both for found in solve_under(run, left, first, place, row) for both in combine(found))
    return sift(run, rest, joined, place)


def _after(inner: str, step: Callable[[Evaluation, Any, Place, Iterator[Row]], Iterator[Row]]) -> Operator:
    """Make an operator of a `step` on the rows of the pattern's field `inner`, with conditions applied as early as
    possible."""

    def solve_after(
        run: Evaluation, pattern: Pattern, place: Place, row: Row, conditions: Conjuncts = ()
    ) -> Iterator[Row]:
        child = getattr(pattern, inner)
        inside, rest = part_of(conditions, run.certain(child) | row.keys())
        return sift(run, rest, step(run, pattern, place, solve_under(run, child, inside, place, row)), place)

    return solve_after


def _extend_left(run: Evaluation, pattern: algebra.LeftJoin, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
    inside = place.aside()
    combine = _combiner(run, pattern.right, inside)
    condition = pattern.condition
    for first in rows:
        if is_open(pattern.right):
            inside.unknown.clear()
        matched = False
        unsure: list[Unknown] = []
        for both in combine(first):
            try:
                fulfilled = condition is None or passes(run, condition, both, place)
            except Unknown as met:
                unsure.append(met)
                continue
            if fulfilled:
                matched = True
                yield both
        unsure += inside.unknown
        place.unknown.extend(unsure)
        if not matched and not unsure:
            yield first


def _combiner(
    run: Evaluation, pattern: Pattern, place: Place, conditions: Conjuncts = ()
) -> Callable[[Row], Iterator[Row]]:
    """A function from a row to its joins with the solutions of `pattern`, which are computed when first needed."""
    if is_open(pattern):
        return lambda row: solve_under(run, pattern, conditions, place, row)
    tables: list[Table] = []

    def look_up(row: Row) -> Iterator[Row]:
        if not tables:
            tables.append(Table(solve_under(run, pattern, conditions, place, dict(place.replaced)), run.numbering))
        return (union for _, union in tables[0].compatible(row))

    return look_up


def _filter(
    run: Evaluation, pattern: algebra.Filter, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    movable, staying = run.conjuncts(pattern)
    rows = solve_under(run, pattern.pattern, movable + conditions, place, row)
    if not staying:
        return rows
    return (found for found in rows if _fulfils(run, staying, found, place))


def _fulfils(run: Evaluation, conditions: Sequence[Expression], row: Row, place: Place) -> bool:
    """Whether a row surely fulfils all conditions; noted where that is unknown."""
    unknown: list[Unknown] = []
    for condition in conditions:
        try:
            if not passes(run, condition, row, place):
                return False
        except Unknown as met:
            unknown.append(met)
    if unknown:
        place.unknown.append(all_of(unknown))
    return not unknown


def _union(
    run: Evaluation, pattern: algebra.Union, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    for branch in (pattern.left, pattern.right):
        inside, rest = part_of(conditions, run.certain(branch) | row.keys())
        yield from sift(run, rest, solve_under(run, branch, inside, place, row), place)


def _graph(
    run: Evaluation, pattern: algebra.Graph, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    seed = row if is_open(pattern.pattern) else place.replaced
    inside, rest = part_of(conditions, run.certain(pattern.pattern) | seed.keys())
    inside, outside = out_of_graphs(inside)
    return sift(run, (*outside, *rest), _in_graphs(run, pattern, place, row, seed, inside), place)


def _in_graphs(
    run: Evaluation, pattern: algebra.Graph, place: Place, row: Row, seed: Row, conditions: Conjuncts
) -> Iterator[Row]:
    name = pattern.name
    if isinstance(name, Slot):
        raise unfilled(name)
    wanted = row.get(name.name) if isinstance(name, Variable) else name
    for graph_name in _graph_names(run, wanted):
        run.budget.spend()
        there = place._replace(graph=run.graphs.named[graph_name])
        for found in solve_under(run, pattern.pattern, conditions, there, dict(seed)):
            if isinstance(name, Variable):
                named = merge(found, {name.name: graph_name})
                if named is not None:
                    yield named
            else:
                yield found


def _graph_names(run: Evaluation, wanted: Term | None) -> Iterable[GraphName]:
    if wanted is None:
        return run.graphs.named
    return (wanted,) if isinstance(wanted, NamedNode | BlankNode) and wanted in run.graphs.named else ()


def _remove(run: Evaluation, pattern: algebra.Minus, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
    removing: Table | None = None
    inside = place.aside()
    domain = visible_names(pattern.left) & visible_names(pattern.right)
    for found in rows:
        if removing is None:
            removing = Table(solve(run, pattern.right, inside, dict(place.replaced)), run.numbering)
        bound = [name for name in domain if name in found]
        run.budget.spend_row(domain)
        if any(name in other for other, _ in removing.compatible(found) for name in bound):
            continue
        if inside.unknown and bound:
            place.unknown.extend(inside.unknown)
            continue
        yield found


def _project(
    run: Evaluation, pattern: algebra.Project, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    names = [variable.name for variable in pattern.variables]
    inner = enter_subselect(place, names)
    inside, rest = part_of(conditions, run.certain(pattern) | inner.replaced.keys())
    rows = solve_under(run, pattern.pattern, inside, inner, dict(inner.replaced))
    return sift(run, rest, (cut for found in rows for cut in restrict_rows(run, place, names, (found,))), place)


def _solve_distinct(
    run: Evaluation, pattern: algebra.Distinct, place: Place, _: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    return distinct_rows(run, solve_under(run, pattern.pattern, conditions, place, dict(place.replaced)))


def _group(run: Evaluation, pattern: algebra.Group, place: Place, row: Row) -> Iterator[Row]:
    inside = place.aside()
    rows = list(solve(run, pattern.pattern, inside, row))
    if inside.unknown:
        place.unknown.extend(inside.unknown)
        return
    yield from aggregate_rows(run, pattern, place, rows)


def _solve_inner(
    run: Evaluation, pattern: algebra.Reduced | algebra.OrderBy, place: Place, row: Row, conditions: Conjuncts = ()
) -> Iterator[Row]:
    return solve_under(run, pattern.pattern, conditions, place, row)


def _slice(run: Evaluation, pattern: algebra.Slice, place: Place, _: Row) -> Iterator[Row]:
    return iter(arrange(run, pattern, place))


def _sort(run: Evaluation, pattern: algebra.OrderBy, place: Place, ties: list[str] | None) -> list[Row]:
    """Rows by the conditions; ties by the canonical order of `ties` (default: all visible variables)."""
    rows = in_canonical_order(solve(run, pattern.pattern, place, dict(place.replaced)), run.numbering, ties)
    for condition, descending in reversed(pattern.conditions):
        run.budget.spend(len(rows))
        numbers = [_number(run, condition, row, place) for row in rows]
        ranks = run.numbering.ranks(numbers, value_key)
        places = [ranks[number] for number in numbers]
        rows = [rows[index] for index in sorted(range(len(rows)), key=places.__getitem__, reverse=descending)]
    return rows


def _number(run: Evaluation, condition: Expression, row: Row, place: Place) -> int:
    """The number of what a condition gives, that of no term for an error."""
    try:
        return run.numbering.number(value(run, condition, row, place))
    except ValueFault:
        return UNBOUND


_OPERATORS: Mapping[type, Operator] = MappingProxyType(
    {
        algebra.BasicPattern: solve_basic,
        algebra.Join: _join,
        algebra.LeftJoin: _after("left", _extend_left),
        algebra.Filter: _filter,
        algebra.Union: _union,
        algebra.Graph: _graph,
        algebra.Extend: _after("pattern", bind_rows),
        algebra.Produce: _after("pattern", produce_rows),
        algebra.Minus: _after("left", _remove),
        algebra.Values: solve_values,
        algebra.Group: _group,
        algebra.OrderBy: _solve_inner,
        algebra.Project: _project,
        algebra.Distinct: _solve_distinct,
        algebra.Reduced: _solve_inner,
        algebra.Slice: _slice,
    }
)
_FILTERED_AFTERWARDS = (algebra.Values, algebra.Group, algebra.Slice)
"""Patterns whose operators take no conditions."""
