"""What is left of a decided query after the index's joins: join rows, a plan and answers to a pair's solutions."""

from triplecast.residual.agreement import JoinRows, Verdict, solve_pair
from triplecast.residual.conditions import Condition, PublicationConditions
from triplecast.residual.plans import UNBOUND, ResidualPlan, ResidualPlans, Row
from triplecast.residual.terms import NumberedTerms

__all__ = [
    "UNBOUND",
    "Condition",
    "JoinRows",
    "NumberedTerms",
    "PublicationConditions",
    "ResidualPlan",
    "ResidualPlans",
    "Row",
    "Verdict",
    "solve_pair",
]
