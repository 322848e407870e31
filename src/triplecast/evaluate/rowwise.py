"""Expressions of single rows, outside any publication: for those that ask for nothing but the row."""

from __future__ import annotations

from triplecast.evaluate.budget import Budget
from triplecast.evaluate.evaluation import EMPTY
from triplecast.evaluate.expressions import holds, value
from triplecast.evaluate.graphs import open_publication
from triplecast.evaluate.patterns import solve
from triplecast.evaluate.rows import Row
from triplecast.evaluate.run import Place, Run
from triplecast.model.algebra import BasicPattern, Expression, Query, Term
from triplecast.terms.compare import ValueFault

_NO_QUERY = Query("ask", BasicPattern(()), ())


class Calculation:
    """One evaluation's expressions, within its budget. No expression may have EXISTS, BNODE, NOW or functions of the
    taxonomy."""

    def __init__(self, steps: int) -> None:
        graphs = open_publication(EMPTY)
        self._run = Run(_NO_QUERY, EMPTY, graphs, Budget(steps), solve)
        self._place = Place(graphs.default, {}, [])

    def holds(self, condition: Expression, row: Row) -> bool:
        """What FILTER keeps. Raises `BudgetExceeded`."""
        self._run.budget.spend_row(row)
        return holds(self._run, condition, row, self._place)

    def value(self, expression: Expression, row: Row) -> Term | None:
        """None where the expression has none. Raises `BudgetExceeded`."""
        self._run.budget.spend_row(row)
        try:
            return value(self._run, expression, row, self._place)
        except ValueFault:
            return None
