"""The subscription matrix ``G_M`` and ``Insert`` (2005, section 4.1, figure 7, and section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.gtopss.model import Edge, Label, Node, Subscription


class MatrixEdge:
    """An edge of ``G_M``: its binding table, whose columns are its two ends, and the subscriptions that contain it."""

    __slots__ = ("ends", "rows", "subscriptions")

    def __init__(self, ends: tuple[Node, Node]) -> None:
        self.ends = ends
        self.rows: list[tuple[Node, Node]] = []
        self.subscriptions: list[int] = []


class Matrix:
    """``G_M``: a hash table of node pairs, each with a hash table of edge labels."""

    def __init__(self) -> None:
        self.tables: dict[tuple[Node, Node], dict[Label, MatrixEdge]] = {}
        """``T1``, whose values are the ``T2``."""
        self.stars = 0
        """``|G_M.*|``: of the subscription that has most."""
        self.subscriptions: list[Subscription] = []
        self.edges: list[list[MatrixEdge]] = []
        """By subscription, ``E.smEdge`` of each of its edges."""
        self.filled: dict[MatrixEdge, None] = {}
        """Edges whose binding tables have rows."""

    def insert(self, subscription: Subscription) -> int:
        """``Insert(G_S)``: the subscription's number."""
        number = len(self.subscriptions)
        self.stars = max(self.stars, len(subscription.stars))  # line 1
        self.edges.append([self._insert_edge(edge, number) for edge in subscription.edges])  # lines 2 and 13
        self.subscriptions.append(subscription)  # line 12
        return number

    def clear_tables(self) -> None:
        for edge in self.filled:
            edge.rows.clear()
        self.filled.clear()

    def _insert_edge(self, edge: Edge, number: int) -> MatrixEdge:
        ends = edge.subject, edge.object
        table = self.tables.get(ends)  # line 3
        if table is None:
            table = self.tables[ends] = {}  # lines 4 and 5
        known = table.get(edge.label)  # line 6
        if known is None:
            known = table[edge.label] = MatrixEdge(ends)  # lines 7 to 10
        known.subscriptions.append(number)  # line 11
        return known


def fill_matrix(subscriptions: Sequence[Subscription]) -> Matrix:
    matrix = Matrix()
    for subscription in subscriptions:
        matrix.insert(subscription)
    return matrix
