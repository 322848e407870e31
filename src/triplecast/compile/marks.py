"""Triple patterns with a mark as predicate (`model.entailment.Mark`), by which the index decides taxonomy functions
and paths."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from triplecast.model.algebra import Call, Node, PathExpression, Repeat, Slot, TriplePattern, Variable
from triplecast.model.entailment import FUNCTION_MARKS, PATH_MARKS


def function_mark(call: Call) -> TriplePattern | None:
    """The pattern that holds iff the function is true of a term of the graph, where its class is a constant."""
    mark = FUNCTION_MARKS.get(call.function)
    match call.arguments:
        case (Variable() as node, NamedNode() | Literal() | Slot() as other) if mark is not None:
            return TriplePattern(node, mark.predicate, other)
    return None


def path_mark(start: Node, path: PathExpression, end: Node) -> TriplePattern | None:
    """The pattern that holds iff the path leads from a node of the graph to a constant; none for other paths."""
    match path:
        case Repeat(NamedNode() as step, 0, True) if step.value in PATH_MARKS:
            if isinstance(start, Variable) and not isinstance(end, Variable):
                return TriplePattern(start, PATH_MARKS[step.value].predicate, end)
    return None


def is_mark(pattern: TriplePattern) -> bool:
    """No query can write a literal in a predicate's place."""
    return isinstance(pattern.predicate, Literal)
