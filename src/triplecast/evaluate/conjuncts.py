"""The conjuncts of FILTER, each applied as soon as its variables are bound.

A row stays iff every conjunct of its condition is true; false and error both drop it (semantics 3.8). So conjuncts are
applied one by one, and one whose variables have their final values in a part of the pattern is applied to that part's
rows. EXISTS, which sees the whole row, and BNODE, which names it, stay where they are written. Conjuncts that call
operators stay too and are evaluated last.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple, TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.scope import condition_names
from triplecast.evaluate.unknown import asks_operators
from triplecast.model.algebra import Call, Exists, Expression, Operation, Variable, subexpressions
from triplecast.model.entailment import FUNCTION_MARKS


class Conjunct(NamedTuple):
    """A conjunct that may be applied wherever all its `names` are certain."""

    expression: Expression
    names: frozenset[str]
    reads_graph: bool = False
    """Whether it calls a function of the taxonomy, which reads the graph that is active where it is written."""


Conjuncts: TypeAlias = tuple[Conjunct, ...]


class Split(NamedTuple):
    """A filter's conjuncts, each part in the order written but with operator calls last."""

    movable: Conjuncts
    staying: tuple[Expression, ...]


def split(condition: Expression) -> Split:
    movable: list[Conjunct] = []
    staying: list[Expression] = []
    for part in conjuncts(condition):
        if _is_movable(part):
            reads_graph = any(
                isinstance(each, Call) and each.function in FUNCTION_MARKS for each in subexpressions(part)
            )
            movable.append(Conjunct(part, frozenset(condition_names(part)), reads_graph))
        else:
            staying.append(part)
    staying.sort(key=asks_operators)
    return Split(tuple(movable), tuple(staying))


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """List the arguments of nested ``&&``, from left to right."""
    found: list[Expression] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Operation) and part.operator == "&&":
            waiting.extend(reversed(part.arguments))
        else:
            found.append(part)
    return tuple(found)


def part_of(conditions: Conjuncts, certain: Set[str]) -> tuple[Conjuncts, Conjuncts]:
    """Split conditions into those whose names are all `certain` and the others."""
    inside = tuple([condition for condition in conditions if condition.names <= certain])
    if len(inside) == len(conditions):
        return conditions, ()
    return inside, tuple([condition for condition in conditions if not condition.names <= certain])


def out_of_graphs(conditions: Conjuncts) -> tuple[Conjuncts, Conjuncts]:
    """Split conditions into those that may be applied inside a GRAPH and those that read the graph outside."""
    inside = tuple([condition for condition in conditions if not condition.reads_graph])
    return inside, tuple([condition for condition in conditions if condition.reads_graph])


def selectivity(conditions: Conjuncts, strongest: float) -> dict[str, float]:
    """Estimate by how much conditions divide the rows that bind a name: `strongest` where it must equal a constant."""
    found: dict[str, float] = {}
    for condition in conditions:
        if len(condition.names) == 1:
            (name,) = condition.names
            factor = strongest if _is_equality(condition.expression) else 2.0
            found[name] = min(strongest, found.get(name, 1.0) * factor)
    return found


def _is_equality(expression: Expression) -> bool:
    if isinstance(expression, Call):
        return expression.function == "SAMETERM" and _compares_constants(expression.arguments)
    if not isinstance(expression, Operation) or expression.operator not in ("=", "in"):
        return False
    return _compares_constants(expression.arguments)


def _compares_constants(arguments: Iterable[Expression]) -> bool:
    return sum(not isinstance(argument, NamedNode | Literal) for argument in arguments) == 1 and any(
        isinstance(argument, Variable) for argument in arguments
    )


def _is_movable(expression: Expression) -> bool:
    return not asks_operators(expression) and not any(
        isinstance(part, Exists) or (isinstance(part, Call) and part.function == "BNODE")
        for part in subexpressions(expression)
    )
