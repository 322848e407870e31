"""Random histories of a few documents that share triples and have blank nodes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from triplecast.model.events import Event, Removal, TaxonomyVersion
from triplecast.model.publication import Position, Publication

AT = "2026-11-23T08:00:00.000000Z"
GRAPHS = tuple(f"https://example.org/{name}" for name in "abcdé")
_NODES = tuple(f"<x:{number}>" for number in range(5))
_PREDICATES = ("<x:p>", "<x:q>")
_LITERALS = ('"é . \\n"', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"hut"@fr', '""')


def history(random: Random, events: int) -> Iterator[Event]:
    """New versions, removals (of nothing, too) and taxonomies at positions from 1."""
    for position in range(1, events + 1):
        graph = random.choice(GRAPHS)
        kind = random.random()
        if kind < 0.2:
            yield Removal(Position(position), graph, position, AT)
        elif kind < 0.25:
            yield TaxonomyVersion(position, b"", False)
        else:
            dataset = random.random() < 0.2
            yield publication(position, graph, random_lines(random, dataset), dataset)


def publication(position: int, graph: str, lines: list[str], dataset: bool = False) -> Publication:
    """A version whose blank nodes keep the labels of `lines`."""
    quads = "".join(sorted(set(lines))).encode()
    return Publication(Position(position), graph, position, AT, quads, dataset, "input" if b"_:" in quads else "none")


def random_lines(random: Random, dataset: bool) -> list[str]:
    blank = [f"_:n{number}" for number in random.sample(range(20), 5)]
    lines = [_line(random, _NODES, (*_NODES, *_LITERALS), dataset) for _ in range(random.randrange(6))]
    for component in (blank[:1], blank[1:2], blank[2:]):
        for _ in range(random.choice((0, 0, 1, len(component)))):
            lines.append(_line(random, (*component, *component, _NODES[0]), (*component, _NODES[1], ""), dataset))
    return lines


def _line(random: Random, subjects: tuple[str, ...], objects: tuple[str, ...], dataset: bool) -> str:
    graph = random.choice(("", "<x:g> ", "_:g ")) if dataset else ""
    return f"{random.choice(subjects)} {random.choice(_PREDICATES)} {random.choice(objects) or _NODES[2]} {graph}.\n"
