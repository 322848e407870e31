"""``match`` of G-ToPSS (2005, section 4.2): edges first, then the join of the binding tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.gtopss.corrections import CORRECTED, Corrections
from experiments.gtopss.join import Table, join_all, star_rows
from experiments.gtopss.matrix import Matrix, MatrixEdge
from experiments.gtopss.model import Answers, Edge, Node, Publication, Row
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy, check_constraints

LOOKUPS = "look-ups"
"""In either level of ``G_M``."""
POSTINGS = "postings"
"""Subscriptions of a matched edge, counted one by one."""
BOUND = "binding rows"
CANDIDATES = "candidates"
"""Subscriptions of which an edge matched, tried one by one."""


class Matcher:
    """The state of ``match`` beside ``G_M``: counters and tables, kept from publication to publication."""

    def __init__(self, matrix: Matrix, taxonomy: Taxonomy = NO_TAXONOMY, corrections: Corrections = CORRECTED) -> None:
        self.matrix = matrix
        self.taxonomy = taxonomy
        self.corrections = corrections
        self.work: Counter[str] = Counter()
        """Of all publications so far."""
        self._counts: dict[int, int] = {}
        """``S.edgeCount``."""

    def match(self, publication: Publication) -> Answers:
        answers: Answers = {}
        for number, row in self.match_rows(publication):
            answers.setdefault(number, set()).add(row)
        return answers

    def match_rows(self, publication: Publication) -> list[tuple[int, Row]]:
        """``match(G_E)``: ``(S, R)`` as often as the algorithm finds it."""
        return list(self.find_bindings(self.find_edges(publication)))

    def find_edges(self, publication: Publication) -> dict[int, None]:
        """The first stage, lines 1 to 11: ``SubSet``, in the order found."""
        self._clear()
        found: dict[int, None] = {}
        counts, once = self._counts, self.corrections.c6_rows_are_added_once
        distinct = self.corrections.c5_distinct_edges_are_counted
        postings = rows = 0
        touched: dict[MatrixEdge, None] = {}
        for edge in publication:
            for matched in self._matched_edges(edge):
                fresh = matched not in touched
                touched[matched] = None
                row = edge.subject, edge.object
                matched.rows.extend([row] if once else [row] * len(matched.subscriptions))  # line 10
                rows += 1 if once else len(matched.subscriptions)
                if fresh or not distinct:
                    postings += len(matched.subscriptions)
                    for number in matched.subscriptions:  # line 8
                        counts[number] = counts.get(number, 0) + 1  # line 9
                        found[number] = None  # line 11
        self.matrix.filled.update(touched)
        self.work.update({POSTINGS: postings, BOUND: rows})
        return found

    def find_bindings(self, found: dict[int, None]) -> Iterator[tuple[int, Row]]:
        """The second stage, lines 12 to 21."""
        corrections, matrix = self.corrections, self.matrix
        self.work[CANDIDATES] += len(found)
        for number in found:
            edges = matrix.edges[number]
            if self._counts[number] < len(edges):  # line 14
                continue
            self._counts[number] = 0  # line 15
            joined = join_all([Table(edge.ends, edge.rows) for edge in edges], self.work)  # lines 16 to 18
            if not joined.rows:
                continue
            constraints = matrix.subscriptions[number].constraints
            for row in star_rows(joined):  # line 19
                if check_constraints(row, constraints, self.taxonomy, corrections, self.work):  # line 20
                    yield number, row  # line 21

    def _clear(self) -> None:
        """c3 and c4."""
        if self.corrections.c3_tables_are_cleared:
            self.matrix.clear_tables()
        if self.corrections.c4_counters_are_cleared:
            self._counts.clear()

    def _matched_edges(self, edge: Edge) -> Iterator[MatrixEdge]:
        """Lines 2 to 7: the edges of ``G_M`` between the ends of the publication's edge, or stars, with its label."""
        tables = self.matrix.tables
        lookups = 0
        for ends in self._pairs(edge):
            table = tables.get(ends)  # line 4
            lookups += 1
            if table is not None:
                lookups += 1
                known = table.get(edge.label)  # line 6
                if known is not None:
                    yield known
        self.work[LOOKUPS] += lookups

    def _pairs(self, edge: Edge) -> Iterator[tuple[Node, Node]]:
        """The edges of the complete graph of line 2, c1 and c2 applied."""
        stars = range(-1, -self.matrix.stars - 1, -1)
        loop = edge.subject == edge.object
        if self.corrections.c1_edges_keep_their_direction:
            firsts: tuple[Node, ...] = (edge.subject, *stars)
            seconds: tuple[Node, ...] = (edge.object, *stars)
        else:
            firsts = seconds = tuple(dict.fromkeys((edge.subject, edge.object, *stars)))
        for first in firsts:
            for second in seconds:
                if first != second or (loop and self.corrections.c2_loops_are_edges):
                    yield first, second
