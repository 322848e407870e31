"""The OPS baseline: general subgraph matching over the merged graph (2005, section 2, line 51; section 5, line 227).

All that the text says of OPS: it is a general subgraph isomorphism algorithm over overlapping graphs, every node of a
subscription is a variable, and any node of a publication may map to any node of a subscription. So it is read as
``match`` of G-ToPSS on the same merged graph under that assumption: a publication's edge fits *every* edge of ``G_M``
with its label, wherever this leads; the binding tables of a subscription are joined over all its nodes; names and
constraints are looked at last. Two corrections:

- **o1** A mapping may take two nodes to one: section 3.3 (line 69) asks that each tuple has a triple, no more; an
  isomorphism would miss matches that G-ToPSS finds.
- **o2** Binding tables are emptied before each publication, as c3 of G-ToPSS. What c4 to c7 correct there has no
  uncorrected form here: counters are made anew, and distinct edges counted, once for each row, with all constraints.
"""

from __future__ import annotations

from collections import Counter

from experiments.gtopss.corrections import CORRECTED
from experiments.gtopss.join import Table, join_all
from experiments.gtopss.match import BOUND, CANDIDATES, LOOKUPS, POSTINGS
from experiments.gtopss.matrix import Matrix, MatrixEdge
from experiments.gtopss.model import Answers, Edge, Label, Publication, Subscription
from experiments.gtopss.steps import name_row
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy, check_constraints


class Ops:
    def __init__(self, taxonomy: Taxonomy = NO_TAXONOMY, one_to_one: bool = False, clears: bool = True) -> None:
        """`one_to_one` is the printed form, without o1; not `clears`, without o2."""
        self.clears = clears
        self.taxonomy = taxonomy
        self.one_to_one = one_to_one
        self.work: Counter[str] = Counter()
        self.matrix = Matrix()
        self._by_label: dict[Label, dict[MatrixEdge, None]] = {}

    def insert(self, subscription: Subscription) -> int:
        number = self.matrix.insert(subscription)
        for edge, known in zip(subscription.edges, self.matrix.edges[number], strict=True):
            self._by_label.setdefault(edge.label, {})[known] = None
        return number

    def match(self, publication: Publication) -> Answers:
        answers: Answers = {}
        counts = self._find_edges(publication)
        self.work[CANDIDATES] += len(counts)
        for number, count in counts.items():
            if count == len(self.matrix.edges[number]):
                self._find_bindings(number, answers)
        return answers

    def _find_edges(self, publication: Publication) -> dict[int, int]:
        """Fills the binding tables: of each subscription with such edges, how many."""
        if self.clears:
            self.matrix.clear_tables()
        rows_of: dict[Label, list[Edge]] = {}
        for edge in publication:
            rows_of.setdefault(edge.label, []).append(edge)
        counts: dict[int, int] = {}
        postings = rows = 0
        for label, edges in rows_of.items():
            made = [(edge.subject, edge.object) for edge in edges]
            for known in self._by_label.get(label, ()):
                known.rows.extend(made)
                rows += len(made)
                self.matrix.filled[known] = None
                postings += len(known.subscriptions)
                for number in known.subscriptions:
                    counts[number] = counts.get(number, 0) + 1
        self.work.update({LOOKUPS: len(rows_of), POSTINGS: postings, BOUND: rows})
        return counts

    def _find_bindings(self, number: int, answers: Answers) -> None:
        edges, subscription = self.matrix.edges[number], self.matrix.subscriptions[number]
        joined = join_all([Table(edge.ends, edge.rows) for edge in edges], self.work)
        for row in joined.rows:
            if self.one_to_one and len(set(row)) < len(row):
                continue
            named = name_row(row, joined.columns, self.work)
            if named is None:
                continue
            if check_constraints(named, subscription.constraints, self.taxonomy, CORRECTED, self.work):
                answers.setdefault(number, set()).add(named)
