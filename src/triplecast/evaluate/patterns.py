"""The operators of the algebra (SPARQL 18.5) over rows, lazily.

`solve(run, pattern, place, row)` yields the solutions of `pattern` in the active graph that agree with `row`, joined
with it. `row` is what EXISTS replaced, or more where the pattern is *open*: made of joins of basic patterns, VALUES,
UNION, GRAPH and property functions only, so that solving it from a row is joining it with that row. Everything else is
solved on its own and joined afterwards (bottom-up semantics). Rows that wait for operators are left out and noted.

`solve_under` gives the same as `solve` with conditions applied to its rows, but applies each to the rows of the
smallest part that is certain to bind its variables: a row that fails there makes no row that passes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pyoxigraph import BlankNode, NamedNode

from triplecast.evaluate.aggregates import ORDERED, aggregate
from triplecast.evaluate.basic import resolve, solve_basic
from triplecast.evaluate.budget import ENTRIES_A_STEP
from triplecast.evaluate.conditions import Conditions, part_of
from triplecast.evaluate.expressions import passes, sift, value
from triplecast.evaluate.graphs import GraphName
from triplecast.evaluate.numbering import UNBOUND
from triplecast.evaluate.paths import unfilled
from triplecast.evaluate.rows import (
    Row,
    Table,
    hidden,
    in_canonical_order,
    merge,
    names_of,
)
from triplecast.evaluate.run import Place, Recorder, Run
from triplecast.evaluate.scope import parts_of, visible_names
from triplecast.evaluate.unknown import Unknown, all_of, answer_of, any_of, extensions
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
    Produce,
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


def solve_under(run: Run, pattern: Pattern, conditions: Conditions, place: Place, row: Row) -> Iterator[Row]:
    """The rows of `solve` that fulfil the conditions."""
    if not conditions:
        return solve(run, pattern, place, row)
    operator = _UNDER.get(type(pattern))
    if operator is None:
        return sift(run, conditions, solve(run, pattern, place, row), place)
    rows = operator(run, pattern, place, row, conditions)
    return rows if run.recorder is None else _recorded(run.recorder, pattern, rows, row)


def _recorded(recorder: Recorder, pattern: Pattern, rows: Iterator[Row], row: Row) -> Iterator[Row]:
    recorder.tried(pattern, row)
    for found in rows:
        recorder.kept(pattern, found)
        yield found


def arrange(run: Run, pattern: Pattern, place: Place) -> list[Row]:
    """The solutions in order: that of ORDER BY, then canonical (semantics 1.4)."""
    if isinstance(pattern, Slice):
        inside = place.aside()
        rows = arrange(run, pattern.pattern, inside)
        if inside.unknown:
            place.unknown.extend(inside.unknown)
            return []
        return rows[pattern.offset : None if pattern.limit is None else pattern.offset + pattern.limit]
    if isinstance(pattern, Distinct):
        return list(_distinct(run, arrange(run, pattern.pattern, place)))
    if isinstance(pattern, Reduced):
        return arrange(run, pattern.pattern, place)
    if isinstance(pattern, Project):
        names = [variable.name for variable in pattern.variables]
        inner = _enter(place, names)
        if isinstance(pattern.pattern, OrderBy):
            return _restrict(run, place, names, _sort(run, pattern.pattern, inner, names))
        projected = _restrict(run, place, names, solve(run, pattern.pattern, inner, dict(inner.replaced)))
        return in_canonical_order(projected, run.numbering, names)
    if isinstance(pattern, OrderBy):
        return _sort(run, pattern, place, None)
    return in_canonical_order(solve(run, pattern, place, dict(place.replaced)), run.numbering)


def is_open(pattern: Pattern) -> bool:
    """Whether a pattern may be solved from any row that it is to be joined with."""
    if isinstance(pattern, Join | Union):
        return is_open(pattern.left) and is_open(pattern.right)
    if isinstance(pattern, Graph | Produce):
        return is_open(pattern.pattern)
    return isinstance(pattern, BasicPattern | Values)


def _produces(pattern: Pattern) -> bool:
    """Whether it is open and operators give some of its rows: what it is joined with is solved first."""
    return is_open(pattern) and any(isinstance(part, Produce) for part in parts_of(pattern))


def _join(run: Run, pattern: Join, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    left, right = pattern.left, pattern.right
    if (is_open(left) and not is_open(right)) or (_produces(left) and is_open(right) and not _produces(right)):
        left, right = right, left
    first, rest = part_of(conditions, run.certain(left) | row.keys())
    seen = run.certain(left) if is_open(right) else frozenset[str]()
    second, rest = part_of(rest, run.certain(right) | seen | row.keys())
    combine = _combiner(run, right, place, second)
    joined = (both for found in solve_under(run, left, first, place, row) for both in combine(found))
    return sift(run, rest, joined, place)


def _left_join(run: Run, pattern: LeftJoin, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    inside, rest = part_of(conditions, run.certain(pattern.left) | row.keys())
    return sift(run, rest, _extend_left(run, pattern, place, solve_under(run, pattern.left, inside, place, row)), place)


def _extend_left(run: Run, pattern: LeftJoin, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
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


def _combiner(run: Run, pattern: Pattern, place: Place, conditions: Conditions = ()) -> Callable[[Row], Iterator[Row]]:
    """A function from a row to its joins with the solutions of `pattern`, which are computed when first needed."""
    if is_open(pattern):
        return lambda row: solve_under(run, pattern, conditions, place, row)
    tables: list[Table] = []

    def look_up(row: Row) -> Iterator[Row]:
        if not tables:
            tables.append(Table(solve_under(run, pattern, conditions, place, dict(place.replaced)), run.numbering))
        return (union for _, union in tables[0].compatible(row))

    return look_up


def _filter(run: Run, pattern: Filter, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    movable, staying = run.conjuncts(pattern)
    rows = solve_under(run, pattern.pattern, movable + conditions, place, row)
    if not staying:
        return rows
    return (found for found in rows if _fulfils(run, staying, found, place))


def _fulfils(run: Run, conditions: Sequence[Expression], row: Row, place: Place) -> bool:
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


def _union(run: Run, pattern: Union, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    for branch in (pattern.left, pattern.right):
        inside, rest = part_of(conditions, run.certain(branch) | row.keys())
        yield from sift(run, rest, solve_under(run, branch, inside, place, row), place)


def _graph(run: Run, pattern: Graph, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    seed = row if is_open(pattern.pattern) else place.replaced
    inside, rest = part_of(conditions, run.certain(pattern.pattern) | seed.keys())
    return sift(run, rest, _in_graphs(run, pattern, place, row, seed, inside), place)


def _in_graphs(run: Run, pattern: Graph, place: Place, row: Row, seed: Row, conditions: Conditions) -> Iterator[Row]:
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


def _graph_names(run: Run, wanted: Term | None) -> Iterable[GraphName]:
    if wanted is None:
        return run.graphs.named
    return (wanted,) if isinstance(wanted, NamedNode | BlankNode) and wanted in run.graphs.named else ()


def _extend(run: Run, pattern: Extend, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    inside, rest = part_of(conditions, run.certain(pattern.pattern) | row.keys())
    return sift(run, rest, _bind(run, pattern, place, solve_under(run, pattern.pattern, inside, place, row)), place)


def _bind(run: Run, pattern: Extend, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
    name = pattern.variable.name
    for found in rows:
        run.budget.spend_row(found)
        try:
            term = value(run, pattern.expression, found, place)
        except ValueFault:
            yield found
            continue
        except Unknown as met:
            place.unknown.append(met)
            continue
        run.budget.note(term)
        if found.get(name, term) == term:
            yield {**found, name: term}


def _produce(run: Run, pattern: Produce, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    inside, rest = part_of(conditions, run.certain(pattern.pattern) | row.keys())
    rows = solve_under(run, pattern.pattern, inside, place, row)
    return sift(run, rest, _add_produced(run, pattern, place, rows), place)


def _add_produced(run: Run, pattern: Produce, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
    pairs = tuple(zip(pattern.arguments, pattern.free, strict=True))
    free = tuple(node for node, is_free in pairs if is_free)
    given = tuple(node for node, is_free in pairs if not is_free)
    for found in rows:
        run.budget.spend_row(found)
        terms = [resolve(node, found)[0] for node in given]
        if None in terms:
            continue
        try:
            answer = answer_of(run.answers, pattern.operator, [term for term in terms if term is not None])
        except Unknown as met:
            place.unknown.append(met)
            continue
        for added in extensions(answer, free, found):
            run.budget.spend_row(found)
            for term in added.values():
                run.budget.note(term)
            yield {**found, **added}


def _minus(run: Run, pattern: Minus, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    inside, rest = part_of(conditions, run.certain(pattern.left) | row.keys())
    return sift(run, rest, _remove(run, pattern, place, solve_under(run, pattern.left, inside, place, row)), place)


def _remove(run: Run, pattern: Minus, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
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


def _values(run: Run, pattern: Values, _: Place, row: Row) -> Iterator[Row]:
    names = [variable.name for variable in pattern.variables]
    for constants in pattern.rows:
        run.budget.spend_row(row)
        run.budget.spend_row(names)
        given: Row = {}
        for name, term in zip(names, constants, strict=True):
            if isinstance(term, Slot):
                raise unfilled(term)
            if term is not None:
                run.budget.note(term)
                run.budget.spend_noted(term)
                given[name] = term
        union = merge(row, given)
        if union is not None:
            yield union


def _group(run: Run, pattern: Group, place: Place, row: Row) -> Iterator[Row]:
    inside = place.aside()
    rows: Iterable[Row] = list(solve(run, pattern.pattern, inside, row))
    if inside.unknown:
        place.unknown.extend(inside.unknown)
        return
    if any(what.function in ORDERED for _, what in pattern.aggregates):
        rows = in_canonical_order(rows, run.numbering)
    keys = [key.name for key in pattern.keys]
    groups: dict[tuple[int, ...], list[Row]] = {} if keys else {(): []}
    for found in rows:
        run.budget.spend_row(keys)
        groups.setdefault(run.numbering.key(found, keys), []).append(found)
    for members in groups.values():
        answer = {name: members[0][name] for name in keys if name in members[0]}
        for variable, what in pattern.aggregates:
            try:
                answer[variable.name] = term = _aggregate(run, what, members, place)
            except ValueFault:
                continue
            except Unknown as met:
                place.unknown.append(met)
                break
            run.budget.note(term)
        else:
            union = merge(place.replaced, answer)
            if union is not None:
                yield union


def _aggregate(run: Run, what: Aggregate, members: list[Row], place: Place) -> Term:
    if what.argument is None:
        if not what.distinct:
            return integer_term(len(members))
        names = names_of(members)
        run.budget.spend(len(members) * (1 + len(names) // ENTRIES_A_STEP))
        return integer_term(len({run.numbering.key(row, names) for row in members}))
    values: list[Term | None] = []
    unknown: list[Unknown] = []
    for row in members:
        try:
            values.append(value(run, what.argument, row, place))
        except ValueFault:
            values.append(None)
        except Unknown as met:
            unknown.append(met)
    if unknown:
        raise any_of(unknown)
    return aggregate(what, values, run.numbering)


def _enter(place: Place, names: Iterable[str]) -> Place:
    """Inside a sub-select EXISTS replaces only the variables that it projects."""
    if not place.replaced:
        return place
    return place._replace(replaced={name: place.replaced[name] for name in names if name in place.replaced})


def _restrict(run: Run, place: Place, names: Sequence[str], rows: Iterable[Row]) -> list[Row]:
    """Rows cut to the projected names, joined with what EXISTS replaced."""
    cut: list[Row] = []
    for found in rows:
        run.budget.spend(len(names) // ENTRIES_A_STEP)
        kept: Row | None = {name: found[name] for name in names if name in found}
        if place.replaced and kept is not None:
            kept = merge(place.replaced, kept)
        if kept is not None:
            cut.append(kept)
    return cut


def _project(run: Run, pattern: Project, place: Place, row: Row, conditions: Conditions = ()) -> Iterator[Row]:
    names = [variable.name for variable in pattern.variables]
    inner = _enter(place, names)
    inside, rest = part_of(conditions, run.certain(pattern) | inner.replaced.keys())
    rows = solve_under(run, pattern.pattern, inside, inner, dict(inner.replaced))
    return sift(run, rest, (cut for found in rows for cut in _restrict(run, place, names, (found,))), place)


def _distinct(run: Run, rows: Iterable[Row]) -> Iterator[Row]:
    met: set[frozenset[tuple[str, int]]] = set()
    for row in rows:
        run.budget.spend_row(row)
        key = frozenset([(name, run.numbering.number(term)) for name, term in row.items() if not hidden(name)])
        if key not in met:
            met.add(key)
            yield row


def _solve_distinct(run: Run, pattern: Distinct, place: Place, _: Row, conditions: Conditions = ()) -> Iterator[Row]:
    return _distinct(run, solve_under(run, pattern.pattern, conditions, place, dict(place.replaced)))


def _solve_inner(
    run: Run, pattern: Reduced | OrderBy, place: Place, row: Row, conditions: Conditions = ()
) -> Iterator[Row]:
    return solve_under(run, pattern.pattern, conditions, place, row)


def _slice(run: Run, pattern: Slice, place: Place, _: Row) -> Iterator[Row]:
    return iter(arrange(run, pattern, place))


def _sort(run: Run, pattern: OrderBy, place: Place, ties: list[str] | None) -> list[Row]:
    """Rows by the conditions; ties by the canonical order of `ties` (default: all visible variables)."""
    rows = in_canonical_order(solve(run, pattern.pattern, place, dict(place.replaced)), run.numbering, ties)
    for condition, descending in reversed(pattern.conditions):
        run.budget.spend(len(rows))
        numbers = [_number(run, condition, row, place) for row in rows]
        ranks = run.numbering.ranks(numbers, sort_key)
        places = [ranks[number] for number in numbers]
        rows = [rows[index] for index in sorted(range(len(rows)), key=places.__getitem__, reverse=descending)]
    return rows


def _number(run: Run, condition: Expression, row: Row, place: Place) -> int:
    """The number of what a condition gives, that of no term for an error."""
    try:
        return run.numbering.number(value(run, condition, row, place))
    except ValueFault:
        return UNBOUND


_OPERATORS: Mapping[type, Callable[[Run, Any, Place, Row], Iterator[Row]]] = MappingProxyType(
    {
        BasicPattern: solve_basic,
        Join: _join,
        LeftJoin: _left_join,
        Filter: _filter,
        Union: _union,
        Graph: _graph,
        Extend: _extend,
        Produce: _produce,
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
_UNDER: Mapping[type, Callable[[Run, Any, Place, Row, Conditions], Iterator[Row]]] = MappingProxyType(
    {
        BasicPattern: solve_basic,
        Join: _join,
        LeftJoin: _left_join,
        Filter: _filter,
        Union: _union,
        Graph: _graph,
        Extend: _extend,
        Produce: _produce,
        Minus: _minus,
        Project: _project,
        Distinct: _solve_distinct,
        Reduced: _solve_inner,
        OrderBy: _solve_inner,
    }
)
"""The operators that apply conditions inside."""
