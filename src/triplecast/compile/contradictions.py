"""Conditions that no solution fulfils, whatever is published: found for warnings, not refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import Constant, constant_text, place_of
from triplecast.compile.texts import read_text
from triplecast.model import algebra
from triplecast.model.algebra import (
    Expression,
    Operation,
    Pattern,
    Slot,
    TriplePattern,
    Variable,
    from_ntriples,
    subexpressions,
)
from triplecast.model.comparison_codes import MIRRORED
from triplecast.terms.compare import ValueFault, compare
from triplecast.terms.values import ValueClass

Constants: TypeAlias = tuple[str, ...]
_FLOATING = frozenset((ValueClass.FLOAT, ValueClass.DOUBLE))


def find_contradictions(parts: Sequence[Pattern]) -> Iterator[Callable[[Constants], Iterable[str]] | str]:
    """Yield warnings of a template, and checks of its constants that give more."""
    for part in parts:
        if not isinstance(part, algebra.Filter | algebra.LeftJoin) or part.condition is None:
            continue
        resources = resources_of(part)
        for inner in subexpressions(part.condition):
            if isinstance(inner, Operation) and inner.operator in MIRRORED and all(map(_is_constant, inner.arguments)):
                yield partial(_warn_constants, inner)
            text = read_text(inner)
            if text is not None and text.variable in resources:
                name = text.variable.name
                yield f"?{name} is a subject or predicate, so no text: the search never finds it; search an object"
        equal: dict[Variable, Constant] = {}
        for variable, constant in _equalities(part.condition):
            if variable in equal:
                yield partial(_warn_two_values, variable, equal[variable], constant)
            equal[variable] = constant


def resources_of(pattern: Pattern) -> frozenset[object]:
    """Variables that every solution of a pattern binds in the subject or predicate of a triple."""
    found: list[object] = []
    waiting: list[Pattern] = [pattern, pattern.right] if isinstance(pattern, algebra.LeftJoin) else [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, algebra.BasicPattern):
            plain = [triple for triple in part.triples if isinstance(triple, TriplePattern)]
            found += [node for triple in plain for node in (triple.subject, triple.predicate)]
        elif isinstance(part, algebra.Join):
            waiting += [part.left, part.right]
        elif isinstance(part, algebra.LeftJoin | algebra.Minus):
            waiting.append(part.left)
        elif isinstance(part, algebra.Filter | algebra.Extend | algebra.Produce | algebra.Graph):
            waiting.append(part.pattern)
    return frozenset(node for node in found if isinstance(node, Variable))


def _is_constant(part: Expression) -> bool:
    return isinstance(part, NamedNode | Literal | Slot)


def _equalities(condition: Expression) -> Iterator[tuple[Variable, Constant]]:
    """The conjuncts that say that a variable equals a constant."""
    conjuncts = condition.arguments if isinstance(condition, Operation) and condition.operator == "&&" else (condition,)
    for part in conjuncts:
        if isinstance(part, Operation) and part.operator == "=":
            for one, two in (part.arguments, part.arguments[::-1]):
                if isinstance(one, Variable) and isinstance(two, NamedNode | Literal | Slot):
                    yield one, two


def _warn_constants(comparison: Operation, constants: Constants) -> Iterator[str]:
    left, right = (constant_text(part, constants) for part in comparison.arguments)  # type: ignore[arg-type]
    try:
        holds = compare(comparison.operator, from_ntriples(left), from_ntriples(right))
    except ValueFault:
        holds = False
    if not holds:
        yield f"{left} {comparison.operator} {right} is never true, whatever is published; compare a variable"


def _warn_two_values(variable: Variable, one: Constant, two: Constant, constants: Constants) -> Iterator[str]:
    left, right = constant_text(one, constants), constant_text(two, constants)
    kinds = {place_of(left)[0], place_of(right)[0]}
    if len(kinds) > 1 and kinds & _FLOATING:  # a number may equal both, since promotion is pair by pair
        return
    try:
        equal = compare("=", from_ntriples(left), from_ntriples(right))
    except ValueFault:
        return
    if not equal:
        name = variable.name
        yield f"?{name} = {left} && ?{name} = {right} is never true: nothing equals both; write || or IN"
