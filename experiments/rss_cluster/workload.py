"""Section 5's workload (line 340), and that of figure 9(b): one structure, many constraints (line 350)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from experiments.gtopss.model import Constraint, Edge, Publication, Subscription
from experiments.gtopss.workload import Parameters, Workload, draw_graph, grow

SECTION_5 = Parameters(
    publication_size=(30, 90),
    subscription_size=(5, 10),
    subscriptions=100_000,
    matched=0.001,
    limited=0.5,
    seed=2007,
)
"""Its default values, 100 matches of 100,000. How many variables are limited is not said: half."""
MATCHES = 100
"""Of figure 9(b), whatever the number of subscriptions."""
WIDTH = 4
"""Values that a window holds."""


def make_same_structure(subscriptions: int, publications: int, windows: bool) -> Workload:
    """Subscriptions of one structure, all found in every publication, each with a comparison of its own on its first
    star; those of the first `MATCHES` hold.

    ``= c``, or with `windows` ``>= c`` and ``<= c + 3``: the text says "different constraints", not which. The
    publications share the structure and differ in all other edges.
    """
    source = random.Random(SECTION_5.seed)
    graph = draw_graph(source, SECTION_5.publication_size, SECTION_5)
    part = grow(source, graph, SECTION_5.subscription_size[1])
    nodes = list(dict.fromkeys(node for edge in part for node in (edge.subject, edge.object)))
    chosen = source.sample(nodes, SECTION_5.stars)
    stars = {node: -place for place, node in enumerate(chosen, 1)}
    edges = tuple(Edge(stars.get(left, left), label, stars.get(right, right)) for left, label, right in part)
    bound = int(chosen[0])
    asked = [
        Subscription(edges, _limit(bound if number < MATCHES else SECTION_5.names + number, windows))
        for number in range(subscriptions)
    ]
    return Workload(tuple(asked), tuple(_redraw(source, graph, part) for _ in range(publications)))


def _limit(value: int, windows: bool) -> tuple[Constraint, ...]:
    """No node is named by a number of `SECTION_5.names` or more, so that such a value matches nothing."""
    if windows:
        return Constraint(-1, ">=", value), Constraint(-1, "<=", value + WIDTH - 1)
    return (Constraint(-1, "=", value),)


def _redraw(source: random.Random, graph: Publication, part: Sequence[Edge]) -> Publication:
    """As many edges between the same nodes, those of `part` among them."""
    nodes = list(dict.fromkeys(node for edge in graph for node in (edge.subject, edge.object)))
    found = dict.fromkeys(part)
    while len(found) < len(graph):
        left, right = source.sample(nodes, 2)
        found[Edge(left, source.randrange(SECTION_5.labels), right)] = None
    return tuple(found)
