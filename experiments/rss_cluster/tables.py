"""The edge-label-first hash with constraint tables (2007, section 4.1, figures 3 and 4)."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.gtopss.model import COMPARISONS, Constraint, Edge, Label, Node, Subscription

Posting = tuple[int, int]
"""(value, subscription)."""

VISITED = "constraint entries"
"""Of the sorted lists, the one that ends a traversal included."""


class ConstraintTable:
    """One star's constraints on one edge: four lists, for ``= > < !=``, sorted by value.

    The text has these four operators for integers. ``<=`` and ``>=`` of 2005 are ``<`` and ``>`` of the next integer.
    """

    __slots__ = ("equal", "greater", "less", "unequal")

    def __init__(self) -> None:
        self.equal: list[Posting] = []
        self.greater: list[Posting] = []
        self.less: list[Posting] = []
        self.unequal: list[Posting] = []

    def insert(self, constraint: Constraint, number: int) -> None:
        """Raises ValueError for what is no comparison with a number."""
        operator, value = constraint.operator, constraint.value
        if operator not in COMPARISONS or not isinstance(value, int):
            raise ValueError(f"a constraint table holds comparisons with whole numbers, not {constraint}")
        shifted = {"<=": ("<", value + 1), ">=": (">", value - 1)}.get(operator, (operator, value))
        lists = {"=": self.equal, ">": self.greater, "<": self.less, "!=": self.unequal}
        insort(lists[shifted[0]], (shifted[1], number))

    def satisfied(self, node: Node, work: Counter[str]) -> Iterator[int]:
        """The subscriptions of which a constraint holds, once for each (line 302).

        Each list is left at the first entry that does not hold: ``>`` from its smallest value, ``<`` from its
        largest. In the ``=`` list what is wanted begins at a place found by halving: a traversal from either end would
        stop at once. The ``!=`` list has no such end. Only numbers compare.
        """
        if not isinstance(node, int):
            return
        visited = 0
        for value, number in self.greater:
            visited += 1
            if value >= node:
                break
            yield number
        for value, number in reversed(self.less):
            visited += 1
            if value <= node:
                break
            yield number
        place, halvings = _first_at(self.equal, node)
        visited += halvings
        while place < len(self.equal):
            visited += 1
            value, number = self.equal[place]
            if value != node:
                break
            yield number
            place += 1
        for value, number in self.unequal:
            visited += 1
            if value != node:
                yield number
        work[VISITED] += visited


def _first_at(entries: Sequence[Posting], value: int) -> tuple[int, int]:
    """The first entry of at least `value`, and how many were looked at."""
    low, high, looked = 0, len(entries), 0
    while low < high:
        middle = (low + high) // 2
        looked += 1
        if entries[middle][0] < value:
            low = middle + 1
        else:
            high = middle
    return low, looked


class MatrixEdge:
    """An edge of ``G_M``: who contains it, by whether and how its ends are limited."""

    __slots__ = ("ends", "free", "object_table", "rows", "subject_table", "wanted")

    def __init__(self, ends: tuple[Node, Node]) -> None:
        self.ends = ends
        self.rows: list[tuple[Node, Node]] = []
        """The binding table that all its subscriptions share."""
        self.free: list[int] = []
        """Subscriptions without constraints on either end."""
        self.subject_table = ConstraintTable()
        self.object_table = ConstraintTable()
        self.wanted: dict[int, tuple[int, int]] = {}
        """Subscription → how many constraints it has on the subject and on the object."""


class Matrix:
    """``G_M``: a hash table of edge labels, each with a hash table of node pairs."""

    def __init__(self) -> None:
        self.tables: dict[Label, dict[tuple[Node, Node], MatrixEdge]] = {}
        self.stars = 0
        self.subscriptions: list[Subscription] = []
        self.edges: list[list[MatrixEdge]] = []
        """By subscription."""
        self.filled: dict[MatrixEdge, None] = {}
        """Edges whose shared binding tables have rows."""

    def insert(self, subscription: Subscription) -> int:
        number = len(self.subscriptions)
        self.stars = max(self.stars, len(subscription.stars))
        self.edges.append([self._insert_edge(edge, subscription, number) for edge in subscription.edges])
        self.subscriptions.append(subscription)
        return number

    def clear_tables(self) -> None:
        for edge in self.filled:
            edge.rows.clear()
        self.filled.clear()

    def _insert_edge(self, edge: Edge, subscription: Subscription, number: int) -> MatrixEdge:
        pairs = self.tables.setdefault(edge.label, {})
        known = pairs.get((edge.subject, edge.object))
        if known is None:
            known = pairs[edge.subject, edge.object] = MatrixEdge((edge.subject, edge.object))
        on_subject = [each for each in subscription.constraints if each.star == edge.subject]
        on_object = [each for each in subscription.constraints if each.star == edge.object != edge.subject]
        for constraint in on_subject:
            known.subject_table.insert(constraint, number)
        for constraint in on_object:
            known.object_table.insert(constraint, number)
        if on_subject or on_object:
            known.wanted[number] = len(on_subject), len(on_object)
        else:
            known.free.append(number)
        return known


def fill_matrix(subscriptions: Sequence[Subscription]) -> Matrix:
    matrix = Matrix()
    for subscription in subscriptions:
        matrix.insert(subscription)
    return matrix
