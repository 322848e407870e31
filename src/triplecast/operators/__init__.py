"""Operators: predicates that only code can answer, declared, found and evaluated in workers (docs/operators.md)."""

from triplecast.operators.answers import Unanswerable
from triplecast.operators.declaration import Operator, operator
from triplecast.operators.event import Event
from triplecast.operators.operator_set import OperatorSet, declared_operators

__all__ = ["Event", "Operator", "OperatorSet", "Unanswerable", "declared_operators", "operator"]
