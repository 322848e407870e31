"""What is left of a decided query after the index's joins: join rows, a program and answers to a pair's solutions."""

from triplecast.residual.agreement import JoinRows, Verdict, solve_pair
from triplecast.residual.conditions import Condition, PublicationConditions
from triplecast.residual.program import UNBOUND, Program, Programs, Row
from triplecast.residual.terms import TermNumbers

__all__ = [
    "UNBOUND",
    "Condition",
    "JoinRows",
    "Program",
    "Programs",
    "PublicationConditions",
    "Row",
    "TermNumbers",
    "Verdict",
    "solve_pair",
]
