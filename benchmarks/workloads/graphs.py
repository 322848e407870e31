"""Random graphs and subscriptions grown from them: the workloads of G-ToPSS (Petrovic, Liu, Jacobsen, 2005) and of its
clustered successor (2008).

A publication is a path through all its nodes and further random edges, all different; 50 edge labels, 1,000 node
labels, uniform. Half the subscriptions are connected parts of a publication, grown edge by edge, a fixed number of
them for each publication, so that each publication has matches; the others are random graphs. Nine in ten then lose
two nodes to variables.

Where this differs from the prototype: there a node is a term and a number at once. In RDF a number is a literal and
cannot be a subject, so where subscriptions compare (`cluster`, `same`), each node has one more triple with its
number, and a compared variable one more pattern.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.workloads.texts import XSD_INTEGER, Workload, iri, to_lines, to_query

Edge = tuple[int, int, int]
"""(node, label, node)."""

EDGE_LABELS = 50
NODE_LABELS = 1_000
OVERLAP = 0.5
"""Of the subscriptions, grown from publications."""
MATCHED = 0.001
"""Of the subscriptions, grown from one publication."""
WITH_VARIABLES = 0.9
VARIABLES = 2


def make_gtopss(subscriptions: int, publications: int) -> Workload:
    """Publications of 35 nodes and 90 edges; subscriptions of 5 nodes and 35 edges; no comparisons."""
    return _make("gtopss", subscriptions, publications, (35, 90), (5, 35), compared=0.0)


def make_cluster(subscriptions: int, publications: int) -> Workload:
    """Publications of 30 nodes and 90 edges; subscriptions of 5 nodes and 10 edges; half the variables are compared."""
    return _make("cluster", subscriptions, publications, (30, 90), (5, 10), compared=0.5)


def make_same_structure(subscriptions: int, publications: int) -> Workload:
    """Ten structures with two variables, all subscriptions with different comparisons (figure 9b of the 2008 paper).

    All publications are one graph with different numbers; about 140 subscriptions match each.
    """
    source = random.Random(3)
    graph = _draw_graph(source, 30, 90)
    structures = [_replace(source, _grow(source, graph, 10), VARIABLES) for _ in range(10)]
    span = max(2, subscriptions // 100)
    texts = []
    for _ in range(subscriptions):
        first, kind = source.randrange(span), source.random()
        if kind < 0.5:
            conditions = {0: [f"= {first}"]}
        elif kind < 0.8:
            conditions = {0: [f">= {first}", f"<= {first + source.randrange(4)}"]}
        else:
            conditions = {0: [f"= {first}"], 1: [f"{source.choice(('<', '>', '!='))} {source.randrange(span)}"]}
        texts.append(_render_subscription(source.choice(structures), conditions))
    nodes = sorted({node for edge in graph for node in (edge[0], edge[2])})
    numbers = [{node: source.randrange(span) for node in nodes} for _ in range(publications)]
    return Workload("same", texts, [_render_publication(graph, values) for values in numbers])


def _make(
    name: str, subscriptions: int, publications: int, size: tuple[int, int], part: tuple[int, int], compared: float
) -> Workload:
    source = random.Random(1)
    grown = int(subscriptions * OVERLAP)
    share = max(1, round(subscriptions * MATCHED))
    graphs = [_draw_graph(source, *size) for _ in range(max(1, min(publications, -(-grown // share))))]
    texts = []
    for i in range(subscriptions):
        grows = i < grown
        edges = _grow(source, graphs[i // share % len(graphs)], part[1]) if grows else _draw_part(source, *part)
        conditions: dict[int, list[str]] = {}
        if source.random() < WITH_VARIABLES:
            nodes = _pick_nodes(source, edges, VARIABLES)
            edges = _substitute(edges, nodes)
            conditions = {k: [_compare(source, node)] for k, node in enumerate(nodes) if source.random() < compared}
        texts.append(_render_subscription(edges, conditions))
    source.shuffle(graphs)
    values = {node: node for node in range(NODE_LABELS)} if compared else {}
    return Workload(name, texts, [_render_publication(graph, values) for graph in graphs])


def _draw_graph(source: random.Random, nodes: int, edges: int) -> list[Edge]:
    chosen = source.sample(range(NODE_LABELS), nodes)
    path = [(left, source.randrange(EDGE_LABELS), right) for left, right in pairwise(chosen)]
    found = dict.fromkeys(path)
    while len(found) < edges:
        found[source.choice(chosen), source.randrange(EDGE_LABELS), source.choice(chosen)] = None
    return list(found)


def _draw_part(source: random.Random, nodes: int, edges: int) -> list[Edge]:
    """As a graph, but nodes and edges may repeat."""
    chosen = [source.randrange(NODE_LABELS) for _ in range(nodes)]
    ends = [*pairwise(chosen)]
    ends += [(source.choice(chosen), source.choice(chosen)) for _ in range(edges - len(ends))]
    return [(left, source.randrange(EDGE_LABELS), right) for left, right in ends]


def _grow(source: random.Random, graph: Sequence[Edge], count: int) -> list[Edge]:
    """`count` connected edges (fewer when the component has no more): each next one uniform among those that touch."""
    touching: dict[int, list[int]] = {}
    for position, (left, _, right) in enumerate(graph):
        for node in {left, right}:
            touching.setdefault(node, []).append(position)
    frontier = [source.randrange(len(graph))]
    seen = set(frontier)
    grown: list[Edge] = []
    while frontier and len(grown) < count:
        place = source.randrange(len(frontier))
        frontier[place], frontier[-1] = frontier[-1], frontier[place]
        edge = graph[frontier.pop()]
        grown.append(edge)
        for node in (edge[0], edge[2]):
            fresh = [position for position in touching[node] if position not in seen]
            seen.update(fresh)
            frontier += fresh
    return grown


def _pick_nodes(source: random.Random, edges: Sequence[Edge], count: int) -> list[int]:
    """Different nodes of `edges`, each found by drawing an edge and one of its ends; fewer when there are not as
    many.
    """
    picked: list[int] = []
    for _ in range(50 * count):
        node = source.choice(edges)[source.choice((0, 2))]
        if node not in picked and len(picked) < count:
            picked.append(node)
    return picked


def _substitute(edges: Sequence[Edge], nodes: Sequence[int]) -> list[Edge]:
    """Node k of `nodes` becomes variable k, written -(k + 1)."""
    variable = {node: -(k + 1) for k, node in enumerate(nodes)}
    return [(variable.get(left, left), label, variable.get(right, right)) for left, label, right in edges]


def _replace(source: random.Random, edges: Sequence[Edge], count: int) -> list[Edge]:
    return _substitute(edges, _pick_nodes(source, edges, count))


def _compare(source: random.Random, number: int) -> str:
    """A comparison that `number` fulfils."""
    return source.choice(
        (
            f"= {number}",
            f"< {number + 1 + source.randrange(NODE_LABELS)}",
            f"> {number - 1 - source.randrange(NODE_LABELS)}",
            f"!= {number + 7}",
        )
    )


def _render_subscription(edges: Sequence[Edge], conditions: dict[int, list[str]]) -> str:
    def term(node: int) -> str:
        return f"?n{-node}" if node < 0 else f"b:n{node}"

    patterns = [(term(left), f"b:e{label}", term(right)) for left, label, right in edges]
    patterns += [(f"?n{k + 1}", "b:value", f"?v{k + 1}") for k in conditions]
    return to_query(patterns, {f"?v{k + 1}": comparisons for k, comparisons in conditions.items()})


def _render_publication(graph: Sequence[Edge], values: dict[int, int]) -> bytes:
    triples = [(iri(f"n{left}"), iri(f"e{label}"), iri(f"n{right}")) for left, label, right in graph]
    nodes = {node for edge in graph for node in (edge[0], edge[2])} if values else ()
    return to_lines(
        [*triples, *((iri(f"n{node}"), iri("value"), f'"{values[node]}"^^<{XSD_INTEGER}>') for node in nodes)]
    )
