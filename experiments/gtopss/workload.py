"""Table 1's workload: publications, subscriptions that match them, overlap with each other, or neither.

Section 5 (lines 203 to 219) in four steps. How it was read where it leaves something open is in `README.md`, "The
workload".
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.workloads.graphs import EDGE_LABELS, NODE_LABELS
from experiments.gtopss.model import Constraint, Edge, Node, Publication, Subscription


@dataclass(frozen=True, slots=True)
class Parameters:
    """Table 1, and what it leaves out. A size is (nodes, edges)."""

    publication_size: tuple[int, int] = (35, 90)
    """``SizeP``."""
    subscription_size: tuple[int, int] = (5, 35)
    """``SizeS``."""
    subscriptions: int = 30_000
    """``N_sub``."""
    matched: float = 0.001
    """``ratio_match``: of the subscriptions, made to match one publication; for each publication as many."""
    stars: int = 2
    """``N_stars``: variables of a subscription that has some."""
    with_stars: float = 0.9
    """``N_sub*`` over ``N_sub``: 27,000 of 30,000."""
    overlap: float = 0.5
    """``overlap_s``."""
    limited: float = 0.0
    """Of the stars, those limited by a comparison that what they stood for fulfils ("alternatively", line 219)."""
    publications: int = 5
    """Measured; the text has one."""
    labels: int = EDGE_LABELS
    names: int = NODE_LABELS
    seed: int = 2005


@dataclass(frozen=True, slots=True)
class Workload:
    subscriptions: tuple[Subscription, ...]
    publications: tuple[Publication, ...]


def make_workload(parameters: Parameters) -> Workload:
    """The first n subscriptions of a larger workload are those of one with ``N_sub`` n: kinds alternate."""
    source = random.Random(parameters.seed)
    graphs = [draw_graph(source, parameters.publication_size, parameters) for _ in range(parameters.publications + 1)]
    shared = graphs.pop()
    made = []
    for number in range(parameters.subscriptions):
        edges = _draw_subscription(source, number, graphs, shared, parameters)
        made.append(_put_stars(source, edges, number, parameters))
    return Workload(tuple(made), tuple(graphs))


def draw_graph(source: random.Random, size: tuple[int, int], parameters: Parameters) -> Publication:
    """A simple path through all nodes, then edges between random pairs; all different (line 203)."""
    nodes, edges = size
    chosen = source.sample(range(parameters.names), nodes)
    found = {Edge(left, source.randrange(parameters.labels), right): None for left, right in pairwise(chosen)}
    while len(found) < edges:
        left, right = source.sample(chosen, 2)
        found[Edge(left, source.randrange(parameters.labels), right)] = None
    return tuple(found)


def _draw_subscription(
    source: random.Random, number: int, graphs: Sequence[Publication], shared: Publication, parameters: Parameters
) -> Publication:
    """Steps 1 to 3: part of a publication, part of the one graph in which those that overlap lie, or a graph of its
    own."""
    kind = number % round(1 / parameters.matched) if parameters.matched else len(graphs)
    nodes, edges = parameters.subscription_size
    if kind < len(graphs):
        return grow(source, graphs[kind], edges)
    if int((number + 1) * parameters.overlap) > int(number * parameters.overlap):
        return grow(source, shared, edges)
    return draw_graph(source, (nodes, edges), parameters)


def grow(source: random.Random, graph: Publication, edges: int) -> Publication:
    """A random connected part of so many edges: the next is one of those that touch what is there."""
    touching: dict[Node, list[Edge]] = {}
    for edge in graph:
        for node in (edge.subject, edge.object):
            touching.setdefault(node, []).append(edge)
    first = source.choice(graph)
    seen, frontier = {first}, [first]
    grown: list[Edge] = []
    while frontier and len(grown) < edges:
        edge = frontier.pop(source.randrange(len(frontier)))
        grown.append(edge)
        for node in (edge.subject, edge.object):
            for near in touching[node]:
                if near not in seen:
                    seen.add(near)
                    frontier.append(near)
    return tuple(grown)


def _put_stars(source: random.Random, edges: Publication, number: int, parameters: Parameters) -> Subscription:
    """Step 4, for the share of subscriptions that have stars; a constraint holds of the node that its star replaces."""
    if int((number + 1) * parameters.with_stars) == int(number * parameters.with_stars):
        return Subscription(edges)
    nodes = list(dict.fromkeys(node for edge in edges for node in (edge.subject, edge.object)))
    chosen = source.sample(nodes, min(parameters.stars, len(nodes)))
    stars: dict[Node, int] = {node: -place for place, node in enumerate(chosen, 1)}
    replaced = tuple(Edge(stars.get(left, left), label, stars.get(right, right)) for left, label, right in edges)
    constraints = [
        limit(source, star, node, parameters.names)
        for node, star in stars.items()
        if source.random() < parameters.limited
    ]
    return Subscription(tuple(dict.fromkeys(replaced)), tuple(constraints))


def limit(source: random.Random, star: int, node: Node, names: int) -> Constraint:
    """A comparison that `node`, a number, fulfils."""
    number = int(node)
    shift = source.randrange(1, names)
    choices = (("=", number), ("<=", number + shift), (">=", number - shift), ("!=", number + shift))
    return Constraint(star, *source.choice(choices))
