"""Section 5's workload in two readings of "overlap": of edges, or of one subscription contained in another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from experiments.gtopss.model import Constraint, Edge, Node, Publication, Subscription, is_star
from experiments.gtopss.rdf import contents, to_asked
from experiments.gtopss.workload import Parameters, Workload, limit, make_workload
from experiments.rss_cluster.workload import SECTION_5
from triplecast.index import Segment, build_segments
from triplecast.model.publication import Position
from triplecast.model.publication import Publication as Accepted
from triplecast.model.subscription import Registration, RegistrationId

EDGES, CONTAINED = "edges in common", "contained"
"""The readings."""
FILLED = 0.2
"""Of the contained ones whose star has no constraint, those that have a node there; the others have one more
constraint."""
_ACCEPTED = "2026-11-24T08:00:00.000000Z"


def make(
    subscriptions: int, publications: int, matched: float, overlap: float, reading: str, seed: int = SECTION_5.seed
) -> Workload:
    """`overlap`: the share of the subscriptions whose edges lie in one graph, or that another one contains."""
    parameters = replace(
        SECTION_5,
        subscriptions=subscriptions,
        publications=publications,
        matched=matched,
        overlap=overlap,
        seed=seed,
    )
    return make_workload(parameters) if reading == EDGES else make_contained(parameters)


def make_contained(parameters: Parameters) -> Workload:
    """Subscriptions of which a share is a narrower form of one before: the same edges, and one star filled or one more
    constraint, by what the star stood for. So they match where the other does."""
    share, source = parameters.overlap, random.Random(parameters.seed + 1)
    whole = make_workload(replace(parameters, overlap=0.0))
    kinds = round(1 / parameters.matched)
    drawn = iter(enumerate(whole.subscriptions))
    broad: list[tuple[Subscription, Publication]] = []
    asked: list[Subscription] = []
    for number in range(parameters.subscriptions):
        if broad and int((number + 1) * share) > int(number * share):
            wide, graph = broad[source.randrange(len(broad))]
            asked.append(_narrow(source, wide, graph, parameters))
            continue
        at, subscription = next(drawn)
        asked.append(subscription)
        if subscription.stars:
            of_publication = at % kinds < len(whole.publications)
            broad.append((subscription, whole.publications[at % kinds] if of_publication else subscription.edges))
    return Workload(tuple(asked), whole.publications)


def _narrow(source: random.Random, wide: Subscription, graph: Publication, parameters: Parameters) -> Subscription:
    star = source.choice(wide.stars)
    node = _stands_for(wide, star, graph, source.randrange(parameters.names))
    limited = {each.star for each in wide.constraints}
    if star in limited or source.random() >= FILLED:
        return Subscription(wide.edges, (*wide.constraints, limit(source, star, node, parameters.names)))
    left: dict[Node, int] = {
        other: -place for place, other in enumerate((each for each in wide.stars if each != star), 1)
    }
    named: dict[Node, Node] = {star: node, **left}
    edges = (
        Edge(named.get(each.subject, each.subject), each.label, named.get(each.object, each.object))
        for each in wide.edges
    )
    kept = tuple(Constraint(left[each.star], *each[1:]) for each in wide.constraints)
    return Subscription(tuple(dict.fromkeys(edges)), kept)


def _stands_for(wide: Subscription, star: int, graph: Publication, otherwise: int) -> int:
    """A node of the graph that has the star's edges, as far as their other ends are nodes."""
    found: set[Node] | None = None
    for subject, label, end in wide.edges:
        if subject == star and not is_star(end):
            here = {edge.subject for edge in graph if edge.label == label and edge.object == end}
        elif end == star and not is_star(subject):
            here = {edge.object for edge in graph if edge.label == label and edge.subject == subject}
        else:
            continue
        found = here if found is None else found & here
    return min((node for node in found or () if isinstance(node, int) and node >= 0), default=otherwise)


def to_segment(subscriptions: Sequence[Subscription], before: int = 0) -> Segment:
    """`before`: how many subscriptions come before these."""
    registrations = [
        Registration(RegistrationId(number), to_asked(each, f"s{number}"))
        for number, each in enumerate(subscriptions, before + 1)
    ]
    (segment,) = build_segments(registrations)
    return segment


def to_publications(workload: Workload) -> list[Accepted]:
    first = len(workload.subscriptions) + 1
    return [
        Accepted(Position(first + number), f"urn:experiment:{number}", 1, _ACCEPTED, lines)
        for number, lines in enumerate(contents(workload.publications, workload.subscriptions))
    ]
