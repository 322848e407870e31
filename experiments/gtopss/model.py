"""Publications and subscriptions as both G-ToPSS papers have them (2005, section 3; 2007, section 2).

A *node* is a name (text) or a number that is its own name, as in the papers, where a graph node is a term and a value
at once. A negative number is a *star*: -1 is the papers' ``*1``. How this becomes RDF is in ``rdf.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeGuard

Node: TypeAlias = int | str
Label: TypeAlias = int | str

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Value filters: 2005 has ``= <= >=``, and ``>`` in its examples; 2007 has ``= > < !=``. They hold of numbers only."""
IS_A = ("is-a =", "is-a <=", "is-a >=")
"""Direct instance, descendant and ancestor of a class (2005, section 3.2)."""


class Edge(NamedTuple):
    subject: Node
    label: Label
    object: Node


class Constraint(NamedTuple):
    """``(?x, op, v)``."""

    star: int
    operator: str
    """Of `COMPARISONS` or `IS_A`."""
    value: Node


Publication: TypeAlias = tuple[Edge, ...]
"""Different edges without stars."""
Row: TypeAlias = tuple[Node, ...]
"""What the stars of a subscription are bound to: -1 first."""
Answers: TypeAlias = dict[int, set[Row]]
"""Number of a matched subscription → its satisfying bindings; of one without stars, one empty row."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The 5-tuples: the constraint sets of an edge's ends are those of the stars there."""

    edges: tuple[Edge, ...]
    """All different. Its stars are -1, -2, … without gaps."""
    constraints: tuple[Constraint, ...] = ()

    @property
    def stars(self) -> tuple[int, ...]:
        """-1 first."""
        nodes = (node for edge in self.edges for node in (edge.subject, edge.object))
        return tuple(sorted({node for node in nodes if is_star(node)}, reverse=True))


def is_star(node: Node) -> TypeGuard[int]:
    return isinstance(node, int) and node < 0


def compares(node: Node, comparison: str, value: Node) -> bool:
    return isinstance(node, int) and isinstance(value, int) and COMPARISONS[comparison](node, value)
