"""The naive baseline: one subscription after the other (2005, section 5, line 228).

The text says no more. Each is searched for by itself as in ``ops_tree.py``: any node may map to any node, so every pair
of nodes is tried for an edge whose ends are new. A reader who looked at names first would be far faster: this is what
the text compares OPS with, not the best that can be done for one subscription.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.gtopss.model import Answers, Publication, Row, Subscription
from experiments.gtopss.steps import Graph, Step, Steps, accept, extend, to_graph, to_steps
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy


class Naive:
    def __init__(self, taxonomy: Taxonomy = NO_TAXONOMY) -> None:
        self.taxonomy = taxonomy
        self.work: Counter[str] = Counter()
        self.subscriptions: list[tuple[Subscription, Steps]] = []

    def insert(self, subscription: Subscription) -> int:
        self.subscriptions.append((subscription, to_steps(subscription)))
        return len(self.subscriptions) - 1

    def match(self, publication: Publication) -> Answers:
        graph = to_graph(publication)
        answers: Answers = {}
        for number, (subscription, steps) in enumerate(self.subscriptions):
            for mapping in self._search(steps.edges, (), graph):
                row = accept(mapping, steps.nodes, subscription, self.taxonomy, self.work)
                if row is not None:
                    answers.setdefault(number, set()).add(row)
        return answers

    def _search(self, steps: Sequence[Step], mapping: Row, graph: Graph) -> Iterator[Row]:
        if not steps:
            yield mapping
            return
        for longer in extend(steps[0], mapping, graph, False, self.work):
            yield from self._search(steps[1:], longer, graph)
