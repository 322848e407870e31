"""Section 5's workload (line 340), and that of figure 9(b): one structure, many constraints (line 350)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

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


class Variation(NamedTuple):
    """What the text leaves open of figure 9(b), "same graph structure but different constraints"."""

    name: str
    """Of the figure."""
    title: str
    windows: bool = False
    """``>= c`` and ``<= c + 3`` on each star instead of ``= c``."""
    free_edges: bool = False
    """Whether edges occur that touch no limited star."""


VARIATIONS = (
    Variation("9b", "same structure, equalities"),
    Variation("9b-windows", "the same, windows", windows=True),
    Variation("9b-free", "the same, free edges", free_edges=True),
)


def make_same_structure(subscriptions: int, publications: int, variation: Variation) -> Workload:
    """Subscriptions of one structure, all found in every publication, each with comparisons of its own on both stars;
    those of the first `MATCHES` hold.

    The publications share the structure and differ in all other edges.
    """
    source = random.Random(SECTION_5.seed)
    graph = draw_graph(source, SECTION_5.publication_size, SECTION_5)
    count = SECTION_5.subscription_size[1]
    if variation.free_edges:
        part = grow(source, graph, count)
        nodes = list(dict.fromkeys(node for edge in part for node in (edge.subject, edge.object)))
        chosen = source.sample(nodes, SECTION_5.stars)
    else:
        part = _surround(graph, count)
        chosen = [part[0].subject, part[0].object]
    stars = {node: -place for place, node in enumerate(chosen, 1)}
    edges = tuple(Edge(stars.get(left, left), label, stars.get(right, right)) for left, label, right in part)
    asked = []
    for number in range(subscriptions):
        values = [int(node) if number < MATCHES else _miss(number, variation) for node in chosen]
        limits = [each for star, value in enumerate(values, 1) for each in _limit(-star, value, variation.windows)]
        asked.append(Subscription(edges, tuple(limits)))
    return Workload(tuple(asked), tuple(_redraw(source, graph, part) for _ in range(publications)))


def _miss(number: int, variation: Variation) -> int:
    """A value that matches nothing: no node is named by a number of `SECTION_5.names` or more, nor by one below 0.
    Windows lie above all nodes and below them in turn, so that either list ends its traversal in its middle."""
    if variation.windows and number % 2:
        return -WIDTH - number
    return SECTION_5.names + number


def _surround(graph: Publication, count: int) -> Publication:
    """An edge, first, and others at one of its ends: of all edges the one that has most such."""

    def touching(edge: Edge) -> list[Edge]:
        ends = {edge.subject, edge.object}
        return [other for other in graph if other != edge and ends & {other.subject, other.object}]

    middle = max(graph, key=lambda edge: len(touching(edge)))
    return (middle, *touching(middle)[: count - 1])


def _limit(star: int, value: int, windows: bool) -> tuple[Constraint, ...]:
    if windows:
        return Constraint(star, ">=", value), Constraint(star, "<=", value + WIDTH - 1)
    return (Constraint(star, "=", value),)


def _redraw(source: random.Random, graph: Publication, part: Sequence[Edge]) -> Publication:
    """As many edges between the same nodes, those of `part` among them."""
    nodes = list(dict.fromkeys(node for edge in graph for node in (edge.subject, edge.object)))
    found = dict.fromkeys(part)
    while len(found) < len(graph):
        left, right = source.sample(nodes, 2)
        found[Edge(left, source.randrange(SECTION_5.labels), right)] = None
    return tuple(found)
