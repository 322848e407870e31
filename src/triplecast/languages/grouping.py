"""Grouped queries: their keys, aggregates and samples (SPARQL 1.1 Query, section 18.2.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from lark.lexer import Token

from triplecast.languages.context import Translation
from triplecast.model.algebra import Aggregate, Call, Expression, Extend, Operation, Pattern, Variable


class GroupKey(NamedTuple):
    """An expression of GROUP BY, with the name that AS gives it."""

    expression: Expression
    name: Token | None


def bind_keys(
    translation: Translation, pattern: Pattern, visible: dict[Variable, None], keys: tuple[GroupKey, ...]
) -> tuple[Pattern, tuple[Variable, ...]]:
    """Bind the expressions of GROUP BY; returns the extended pattern and the keys' variables."""
    names: list[Variable] = []
    for key in keys:
        if key.name is None and isinstance(key.expression, Variable):
            names.append(key.expression)
            continue
        variable = Variable(str(key.name)[1:]) if key.name is not None else translation.fresh("k")
        if key.name is not None and (variable in visible or variable in names):
            raise translation.fault(
                key.name, f"{key.name} has a value already, so GROUP BY cannot give it one", ("another variable",)
            )
        pattern = Extend(pattern, variable, key.expression)
        names.append(variable)
    return pattern, tuple(dict.fromkeys(names))


def _substitute(expression: Expression, seen: Callable[[Variable], Expression]) -> Expression:
    """Replace each variable. Recurses two frames a node; the expression is within `MAX_DEPTH`."""
    if isinstance(expression, Variable):
        return seen(expression)
    if isinstance(expression, Operation | Call):
        return replace(expression, arguments=tuple([_substitute(part, seen) for part in expression.arguments]))
    return expression


class Grouping:
    """What the expressions of a grouped query see: keys, aggregates, and a SAMPLE of any other variable, made at its
    first use."""

    def __init__(
        self, translation: Translation, keys: tuple[Variable, ...], aggregates: dict[Variable, Aggregate]
    ) -> None:
        self.keys = keys
        self.aggregates = aggregates
        self._translation = translation
        self._samples: dict[Variable, Variable] = {}

    def sampled(self, expression: Expression, bound: frozenset[Variable]) -> Expression:
        """`bound` are variables that SELECT gives a value for the group."""
        return _substitute(expression, lambda variable: self._seen(variable, bound))

    def _seen(self, variable: Variable, bound: frozenset[Variable]) -> Variable:
        if variable in self.keys or variable in bound or variable in self.aggregates:
            return variable
        if variable not in self._samples:
            sample = self._samples[variable] = self._translation.fresh("g")
            self.aggregates[sample] = Aggregate("SAMPLE", variable, distinct=False)
        return self._samples[variable]
