"""OPS read more kindly: partial graphs that subscriptions have in common are searched once.

"A very general subgraph isomorphism algorithm for matching over overlapping graphs" (2005, line 51) may also mean a
tree of steps: subscriptions that begin with the same steps share them. The text does not say so; the baseline is
``ops.py``, and this shows how much of its cost is due to the reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.gtopss.model import Answers, Node, Publication, Row, Subscription
from experiments.gtopss.steps import Graph, Step, accept, extend, to_graph, to_steps
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy


class Part:
    """A common partial graph: the steps on the way to it."""

    __slots__ = ("complete", "next")

    def __init__(self) -> None:
        self.next: dict[Step, Part] = {}
        self.complete: list[tuple[int, tuple[Node, ...]]] = []
        """Subscriptions whose last step this is, with their nodes in the order met."""


class OpsTree:
    """All subscriptions as one tree of steps."""

    def __init__(self, taxonomy: Taxonomy = NO_TAXONOMY, one_to_one: bool = False) -> None:
        """`one_to_one` is the printed form, without o1."""
        self.taxonomy = taxonomy
        self.one_to_one = one_to_one
        self.work: Counter[str] = Counter()
        self.root = Part()
        self.subscriptions: list[Subscription] = []

    def insert(self, subscription: Subscription) -> int:
        number = len(self.subscriptions)
        self.subscriptions.append(subscription)
        steps = to_steps(subscription)
        part = self.root
        for step in steps.edges:
            part = part.next.setdefault(step, Part())
        part.complete.append((number, steps.nodes))
        return number

    def match(self, publication: Publication) -> Answers:
        answers: Answers = {}
        for number, row in self._search(self.root, (), to_graph(publication)):
            answers.setdefault(number, set()).add(row)
        return answers

    def _search(self, part: Part, mapping: Row, graph: Graph) -> Iterator[tuple[int, Row]]:
        for number, nodes in part.complete:
            row = accept(mapping, nodes, self.subscriptions[number], self.taxonomy, self.work)
            if row is not None:
                yield number, row
        for step, following in part.next.items():
            for longer in extend(step, mapping, graph, self.one_to_one, self.work):
                yield from self._search(following, longer, graph)
