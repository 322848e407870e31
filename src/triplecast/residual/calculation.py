"""Expressions of single rows, outside any publication: for those that ask for nothing but the row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.budget import Budget
from triplecast.evaluate.evaluation import EMPTY
from triplecast.evaluate.expressions import holds, value
from triplecast.evaluate.graphs import PublishedGraphs, open_publication
from triplecast.evaluate.patterns import solve
from triplecast.evaluate.rows import Row
from triplecast.evaluate.state import Evaluation, Place
from triplecast.evaluate.unknown import NO_ANSWERS, Answers, answer_of, extensions
from triplecast.model.algebra import BasicPattern, Call, Expression, Node, Query, Term
from triplecast.terms.compare import ValueFault

_NO_QUERY = Query("ask", BasicPattern(()), ())


@cache
def _nothing() -> PublishedGraphs:
    return open_publication(EMPTY)


class Calculation:
    """One evaluation's expressions, within its budget. No expression may have EXISTS, BNODE, NOW or functions of the
    taxonomy; operators have the given answers."""

    def __init__(self, steps: int, answers: Answers = NO_ANSWERS) -> None:
        graphs = _nothing()
        self._run = Evaluation(_NO_QUERY, EMPTY, graphs, Budget(steps), solve, answers=answers)
        self._place = Place(graphs.default, {}, [])

    @property
    def spent(self) -> int:
        """Steps until now."""
        budget = self._run.budget
        return budget.steps - budget.left

    def holds(self, condition: Expression, row: Row) -> bool:
        """What FILTER keeps. Raises `BudgetExceeded` and `Unknown`."""
        self._run.budget.spend_row(row)
        return holds(self._run, condition, row, self._place)

    def value(self, expression: Expression, row: Row) -> Term | None:
        """None where the expression has none. Raises `BudgetExceeded` and `Unknown`."""
        self._run.budget.spend_row(row)
        try:
            return value(self._run, expression, row, self._place)
        except ValueFault:
            return None

    def produce(self, call: Call, free: Sequence[Node], row: Row) -> list[Row]:
        """What an operator's rows bind beside `row`; nothing where it is given what has no value. Raises
        `BudgetExceeded` and `Unknown`."""
        terms = [resolve(node, row)[0] for node in call.arguments]  # type: ignore[arg-type]
        if None in terms:
            return []
        found = answer_of(self._run.answers, call.function, [term for term in terms if term is not None])
        self._run.budget.spend(1 + len(found.rows))
        return list(extensions(found, free, row))
