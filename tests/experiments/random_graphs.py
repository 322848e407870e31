"""Small random publications and subscriptions of the papers' kind: many match, and many almost do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.gtopss.model import Constraint, Edge, Node, Publication, Subscription
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy

LABELS = 3
NAMES = 6
CLASSES = tuple(f"class{number}" for number in range(7))


@dataclass(frozen=True, slots=True)
class Drawn:
    subscriptions: Sequence[Subscription]
    publications: Sequence[Publication]
    taxonomy: Taxonomy


def draw_all(seed: int, subscriptions: int, publications: int, operators: Sequence[str]) -> Drawn:
    """`operators` are those that constraints may have; with is-a among them there is a taxonomy of nodes and classes,
    classes being nodes of publications too."""
    source = random.Random(seed)
    taxonomy = _draw_taxonomy(source) if any(each.startswith("is-a") for each in operators) else NO_TAXONOMY
    nodes: list[Node] = [*range(NAMES - 2), *CLASSES[:2]] if taxonomy.broader else [*range(NAMES)]
    graphs = [_draw_graph(source, nodes) for _ in range(publications)]
    asked = [_draw_subscription(source, source.choice(graphs), nodes, operators) for _ in range(subscriptions)]
    return Drawn(asked, graphs, taxonomy)


def _draw_graph(source: random.Random, nodes: Sequence[Node]) -> Publication:
    """Loops, parallel edges and parts apart from each other occur."""
    size = source.randrange(18, 32)
    edges = (Edge(source.choice(nodes), source.randrange(LABELS), source.choice(nodes)) for _ in range(size))
    return tuple(dict.fromkeys(edges))


def _draw_taxonomy(source: random.Random) -> Taxonomy:
    """Several parents, also of instances; no cycles, as a class is only under later ones."""
    broader = {
        name: tuple(source.sample(CLASSES[place + 1 :], min(source.randrange(3), len(CLASSES) - place - 1)))
        for place, name in enumerate(CLASSES)
    }
    types = {number: tuple(source.sample(CLASSES, source.randrange(4))) for number in range(NAMES)}
    return Taxonomy(broader, types)


def _draw_subscription(
    source: random.Random, graph: Publication, nodes: Sequence[Node], operators: Sequence[str]
) -> Subscription:
    """Some edges of a publication, some of its nodes replaced by stars, now and then an edge that is not there."""
    edges = source.sample(graph, source.choice((1, 1, 2, 2, 3)))
    if source.random() < 0.1:
        edges.append(Edge(source.choice(nodes), source.randrange(LABELS), source.choice(nodes)))
    present = list(dict.fromkeys(node for edge in edges for node in (edge.subject, edge.object)))
    chosen = source.sample(present, min(len(present), source.randrange(4)))
    stars: dict[Node, int] = {node: -place for place, node in enumerate(chosen, 1)}
    replaced = tuple(
        dict.fromkeys(Edge(stars.get(left, left), label, stars.get(right, right)) for left, label, right in edges)
    )
    count = source.choice((0, 0, 0, 1, 1, 2)) if stars and operators else 0
    constraints = (_draw_constraint(source, source.choice([*stars.values()]), operators) for _ in range(count))
    return Subscription(replaced, tuple(dict.fromkeys(constraints)))


def _draw_constraint(source: random.Random, star: int, operators: Sequence[str]) -> Constraint:
    operator = source.choice(operators)
    value: Node = source.choice(CLASSES) if operator.startswith("is-a") else source.randrange(NAMES)
    return Constraint(star, operator, value)
