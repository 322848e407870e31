"""Operators of the algebra that need rows but no graph: BIND, operator calls, VALUES, projection and DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.budget import ENTRIES_A_STEP
from triplecast.evaluate.expressions import value
from triplecast.evaluate.paths import unfilled
from triplecast.evaluate.rows import Row, hidden, merge
from triplecast.evaluate.state import Evaluation, Place
from triplecast.evaluate.unknown import Unknown, answer_of, extensions
from triplecast.model.algebra import Extend, Produce, Slot, Values
from triplecast.terms.compare import ValueFault


def bind_rows(run: Evaluation, pattern: Extend, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
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


def produce_rows(run: Evaluation, pattern: Produce, place: Place, rows: Iterator[Row]) -> Iterator[Row]:
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


def solve_values(run: Evaluation, pattern: Values, _: Place, row: Row) -> Iterator[Row]:
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


def enter_subselect(place: Place, names: Iterable[str]) -> Place:
    """Inside a sub-select EXISTS replaces only the variables that it projects."""
    if not place.replaced:
        return place
    return place._replace(replaced={name: place.replaced[name] for name in names if name in place.replaced})


def restrict_rows(run: Evaluation, place: Place, names: Sequence[str], rows: Iterable[Row]) -> list[Row]:
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


def distinct_rows(run: Evaluation, rows: Iterable[Row]) -> Iterator[Row]:
    met: set[frozenset[tuple[str, int]]] = set()
    for row in rows:
        run.budget.spend_row(row)
        key = frozenset([(name, run.numbering.number(term)) for name, term in row.items() if not hidden(name)])
        if key not in met:
            met.add(key)
            yield row
