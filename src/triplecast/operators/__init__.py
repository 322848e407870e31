"""Operators: predicates that only code can answer, declared, found and evaluated in workers (docs/operators.md)."""

from triplecast.operators.declaration import Operator, operator
from triplecast.operators.event import Event
from triplecast.operators.registry import Registry, find_operator, known_operators
from triplecast.operators.results import Unanswerable

__all__ = ["Event", "Operator", "Registry", "Unanswerable", "find_operator", "known_operators", "operator"]
