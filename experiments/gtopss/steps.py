"""General subgraph search, step by step, in which any node may map to any node.

The naive baseline searches so for one subscription after the other, and so does OPS in its kinder reading
(``ops_tree.py``). A subscription is read as *steps*, an edge each, between nodes without names; a step whose end is new
tries every node of the publication. Names and constraints are looked at when all edges are mapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from experiments.gtopss.corrections import CORRECTED
from experiments.gtopss.model import Edge, Label, Node, Publication, Row, Subscription, is_star
from experiments.gtopss.taxonomy import Taxonomy, check_constraints

TRIED = "node mappings tried"
NAMED = "names compared"


class Step(NamedTuple):
    """An edge between nodes by the order in which they are met; those not met before are new."""

    label: Label
    subject: int
    object: int


class Steps(NamedTuple):
    edges: tuple[Step, ...]
    nodes: tuple[Node, ...]
    """The subscription's nodes in the order met."""


class Graph(NamedTuple):
    """A publication as the search sees it."""

    nodes: tuple[Node, ...]
    edges: frozenset[Edge]


def to_graph(publication: Publication) -> Graph:
    nodes = dict.fromkeys(node for edge in publication for node in (edge.subject, edge.object))
    return Graph(tuple(nodes), frozenset(publication))


def to_steps(subscription: Subscription) -> Steps:
    """Smallest label first, then always an edge that touches what is met, where there is one, those between two nodes
    met first: equal parts of different subscriptions begin alike."""
    waiting = sorted(subscription.edges, key=lambda edge: (str(edge.label), str(edge.subject), str(edge.object)))
    met: dict[Node, int] = {}
    steps: list[Step] = []
    while waiting:
        touching = [edge for edge in waiting if edge.subject in met or edge.object in met]
        best = min(touching or waiting, key=lambda edge: (edge.subject not in met) + (edge.object not in met))
        waiting.remove(best)
        ends = [met.setdefault(node, len(met)) for node in (best.subject, best.object)]
        steps.append(Step(best.label, *ends))
    return Steps(tuple(steps), tuple(met))


def extend(step: Step, mapping: Sequence[Node], graph: Graph, one_to_one: bool, work: Counter[str]) -> Iterator[Row]:
    """The mappings, one for each way of mapping the step's edge too."""
    met = len(mapping)
    subjects: Sequence[Node] = graph.nodes if step.subject >= met else (mapping[step.subject],)
    objects: Sequence[Node] = graph.nodes if step.object >= met else (mapping[step.object],)
    loop = step.subject == step.object
    tried = 0
    for subject in subjects:
        for end in (subject,) if loop else objects:
            tried += 1
            if (subject, step.label, end) not in graph.edges:
                continue
            fresh = ((subject,) if step.subject >= met else ()) + ((end,) if step.object >= met and not loop else ())
            if one_to_one and (len(set(fresh)) < len(fresh) or any(node in mapping for node in fresh)):
                continue
            yield (*mapping, *fresh)
    work[TRIED] += tried


def name_row(mapping: Row, nodes: Sequence[Node], work: Counter[str]) -> Row | None:
    """What the stars are mapped to, -1 first; None where a constant is mapped to another name."""
    bound: dict[int, Node] = {}
    for node, mapped in zip(nodes, mapping, strict=True):
        work[NAMED] += 1
        if is_star(node):
            bound[node] = mapped
        elif node != mapped:
            return None
    return tuple(bound[star] for star in sorted(bound, reverse=True))


def accept(
    mapping: Row, nodes: Sequence[Node], subscription: Subscription, taxonomy: Taxonomy, work: Counter[str]
) -> Row | None:
    """The row of a complete mapping, where names and constraints allow it."""
    row = name_row(mapping, nodes, work)
    if row is None or not check_constraints(row, subscription.constraints, taxonomy, CORRECTED, work):
        return None
    return row
