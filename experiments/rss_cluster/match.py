"""``match`` on a single node (2007, section 4.5, lines 298 to 322): constraints first, then joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.gtopss.corrections import CORRECTED as EVERY
from experiments.gtopss.join import Table, join_all, star_rows
from experiments.gtopss.match import BOUND, CANDIDATES, LOOKUPS, POSTINGS
from experiments.gtopss.model import Answers, Edge, Publication
from experiments.gtopss.taxonomy import NO_TAXONOMY, check_constraints
from experiments.rss_cluster.corrections import CORRECTED, Corrections
from experiments.rss_cluster.tables import Matrix, MatrixEdge

Found = dict[int, set[MatrixEdge]]
"""``SubSet``, in the order found: by subscription, those of its edges that were found and whose constraints held."""


class Matcher:
    """The state of ``match`` beside ``G_M``."""

    def __init__(self, matrix: Matrix, corrections: Corrections = CORRECTED) -> None:
        self.matrix = matrix
        self.corrections = corrections
        self.work: Counter[str] = Counter()
        """Of all publications so far."""

    def match(self, publication: Publication) -> Answers:
        """``match(G_P)``."""
        return self.find_bindings(self.find_edges(publication))

    def find_edges(self, publication: Publication) -> Found:
        """The first stage, lines 1 to 8."""
        if self.corrections.c4_tables_are_cleared:
            self.matrix.clear_tables()
        found: Found = {}
        rows = 0
        for edge in publication:  # line 2
            for matched in self._matched_edges(edge):  # lines 3 and 4
                satisfied = self._satisfied(matched, edge)  # line 5
                if satisfied:
                    self.matrix.filled[matched] = None
                    matched.rows.append((edge.subject, edge.object))  # line 7
                    rows += 1
                for number in satisfied:  # line 6
                    found.setdefault(number, set()).add(matched)  # line 8
        self.work[BOUND] += rows
        return found

    def find_bindings(self, found: Found) -> Answers:
        """The second stage, lines 9 to 14."""
        answers: Answers = {}
        looks_again = self.corrections.c3_constraints_hold_of_what_is_joined
        self.work[CANDIDATES] += len(found)
        for number, satisfied in found.items():
            edges = self.matrix.edges[number]
            if len(satisfied) < len(edges):
                continue  # as line 14 of ``match`` of G-ToPSS: not all edges were found
            joined = join_all([Table(edge.ends, edge.rows) for edge in edges], self.work)  # line 11
            rows = set(star_rows(joined)) if joined.rows else set()
            if looks_again:
                limits = self.matrix.subscriptions[number].constraints
                rows = {row for row in rows if check_constraints(row, limits, NO_TAXONOMY, EVERY, self.work)}
            if rows:  # line 12
                answers[number] = rows  # line 13
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
        """Line 300: who has no constraints there, and whose hold. The former are postings; the latter were counted
        where their lists were traversed."""
        satisfied = list(matched.free)
        self.work[POSTINGS] += len(satisfied)
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
