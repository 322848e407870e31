"""Conditions and values of rows after the join, by the evaluator's own expressions, in this process.

Only what `compile.cases.is_residual` lets through comes here: small expressions that ask for nothing but the row. Those
that ask operators too go to `match.asking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from triplecast.compile.plans import plan_of
from triplecast.compile.residual import Residual
from triplecast.evaluate.rowwise import Calculation
from triplecast.languages import parse_template
from triplecast.languages.rewriting import replace_constants
from triplecast.model.algebra import Slot, Term
from triplecast.model.operators import OperatorSet
from triplecast.model.terms import from_ntriples

KEPT = 20_000
"""Subscriptions whose expressions a process remembers."""

Residuals = tuple[tuple[Residual, ...], ...]


@lru_cache(maxsize=KEPT)
def residuals_of(text: str, language: str, entailed: bool, operators: OperatorSet) -> Residuals:
    """What a subscription calculates of the rows of each branch, with its constants. Raises `QuerySyntaxError` and
    `QueryRefused` where an operator that was known when it was indexed is not among `operators`."""
    template, constants = parse_template(text, language, operators=operators)

    def filled(constant: object) -> object:
        return from_ntriples(constants[constant.index]) if isinstance(constant, Slot) else constant

    plan = plan_of(template, constants, entailed)
    return tuple(
        tuple(
            each._replace(
                expression=replace_constants(each.expression, filled), free=replace_constants(each.free, filled)
            )
            for each in residual
        )
        for residual in plan.residuals
    )


def calculate(
    residual: tuple[Residual, ...], rows: Iterable[dict[str, Term]], calculation: Calculation
) -> Iterator[dict[str, Term]]:
    """The rows that fulfil all conditions, with the new values; a value that fails is unbound. Raises
    `BudgetExceeded`."""
    for row in rows:
        for each in residual:
            seen = {name.name: row[name.name] for name in each.names if name.name in row}
            if each.variable is None:
                if not calculation.holds(each.expression, seen):
                    break
            elif (term := calculation.value(each.expression, seen)) is not None:
                row[each.variable.name] = term
        else:
            yield row
