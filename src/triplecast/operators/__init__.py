"""Operators: predicates that only code can answer, declared, found and evaluated in workers (docs/operators.md)."""

from triplecast.model.operators import Operator, OperatorSet
from triplecast.operators.declaration import operator
from triplecast.operators.operator_set import declared_operators
from triplecast.operators.publication_view import PublicationView, Unanswerable

__all__ = ["Operator", "OperatorSet", "PublicationView", "Unanswerable", "declared_operators", "operator"]
