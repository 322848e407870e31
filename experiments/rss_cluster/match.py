"""``match`` on a single node (2007, section 4.5, lines 298 to 322): constraints first, then joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.gtopss.join import Table, join_all, star_rows
from experiments.gtopss.match import BOUND, CANDIDATES, LOOKUPS, POSTINGS
from experiments.gtopss.model import Answers, Edge, Node, Publication
from experiments.rss_cluster.corrections import CORRECTED, Corrections
from experiments.rss_cluster.tables import Matrix, MatrixEdge

Rows = list[tuple[Node, Node]]


class Matcher:
    """The state of ``match`` beside ``G_M``."""

    def __init__(self, matrix: Matrix, corrections: Corrections = CORRECTED) -> None:
        self.matrix = matrix
        self.corrections = corrections
        self.work: Counter[str] = Counter()
        """Of all publications so far."""
        self._tables: dict[int, dict[MatrixEdge, Rows]] = {}
        """Subscription → its binding table of each edge: ``SubSet`` with c3."""

    def match(self, publication: Publication) -> Answers:
        """``match(G_P)``."""
        return self.find_bindings(self.find_edges(publication))

    def find_edges(self, publication: Publication) -> list[int]:
        """The first stage, lines 1 to 8: ``SubSet``, in the order found."""
        if self.corrections.c4_tables_are_cleared:
            self._tables.clear()
            self.matrix.clear_tables()
        found: dict[int, None] = {}
        postings = 0
        for edge in publication:  # line 2
            row = edge.subject, edge.object
            for matched in self._matched_edges(edge):  # lines 3 and 4
                satisfied = self._satisfied(matched, edge)  # line 5
                postings += len(satisfied)
                if satisfied:
                    self.matrix.filled[matched] = None
                    matched.rows.append(row)
                for number in satisfied:  # line 6
                    self._tables.setdefault(number, {}).setdefault(matched, []).append(row)  # line 7
                    found[number] = None  # line 8
        self.work[POSTINGS] += postings
        self.work[BOUND] += postings
        return list(found)

    def find_bindings(self, found: list[int]) -> Answers:
        """The second stage, lines 9 to 14."""
        answers: Answers = {}
        self.work[CANDIDATES] += len(found)
        for number in found:
            edges = self.matrix.edges[number]
            if self.corrections.c3_rows_belong_to_a_subscription:
                own = self._tables[number]
                if len(own) < len(edges):
                    continue  # some edge has an empty table
                tables = [Table(edge.ends, own[edge]) for edge in edges]
            else:
                tables = [Table(edge.ends, edge.rows) for edge in edges]
            joined = join_all(tables, self.work)  # line 11
            if joined.rows:  # line 12
                answers[number] = set(star_rows(joined))  # line 13
        return answers

    def _matched_edges(self, edge: Edge) -> Iterator[MatrixEdge]:
        """Line 300: those with the label whose ends are the edge's, or stars."""
        pairs = self.matrix.tables.get(edge.label)
        self.work[LOOKUPS] += 1
        if pairs is None:
            return
        stars = range(-1, -self.matrix.stars - 1, -1)
        loop = edge.subject == edge.object
        for first in (edge.subject, *stars):
            for second in (edge.object, *stars):
                if first == second and not loop and self.corrections.c5_loops_keep_both_ends:
                    continue
                self.work[LOOKUPS] += 1
                known = pairs.get((first, second))
                if known is not None:
                    yield known

    def _satisfied(self, matched: MatrixEdge, edge: Edge) -> list[int]:
        """Line 300: who has no constraints there, and whose hold."""
        satisfied = list(matched.free)
        if not matched.wanted:
            return satisfied
        corrections, wanted = self.corrections, matched.wanted
        subjects = Counter(matched.subject_table.satisfied(edge.subject, self.work))
        objects = Counter(matched.object_table.satisfied(edge.object, self.work))
        for number in dict.fromkeys((*subjects, *objects)):
            of_subject, of_object = wanted[number]
            whole = corrections.c2_all_constraints_of_an_end_count
            holds = [
                have >= (need if whole else min(need, 1))
                for have, need in ((subjects[number], of_subject), (objects[number], of_object))
                if need
            ]
            if all(holds) if corrections.c1_both_ends_count else any(holds):
                satisfied.append(number)
        return satisfied
