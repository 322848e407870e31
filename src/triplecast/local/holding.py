"""Who holds what in a local folder: the subscriptions that name a resource, and strong references to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from triplecast.engine import Engine
from triplecast.journal import Clock, JournalFile, system_clock
from triplecast.local.closure import Node
from triplecast.local.descriptions import HELD, Description, held_graph, node_of_graph
from triplecast.local.held_state import STRONG_KEY, Held


class Holder(NamedTuple):
    """Why a resource is held."""

    subscription: str
    path: tuple[Node, ...]
    """Resources in N-Triples form, from the one that the subscription's rows name to the one that is held; each refers
    strongly to the next."""


class HeldResources(NamedTuple):
    """The held resources of a folder, with what holds them."""

    nodes: Collection[Node]
    names: Mapping[Node, tuple[str, ...]]
    """The subscriptions whose rows name a resource."""
    references: Mapping[Node, frozenset[Node]]

    def holders(self, node: Node) -> list[Holder]:
        """One for each subscription that holds a resource, with a shortest path, by id."""
        into: dict[Node, list[Node]] = {}
        for source in sorted(self.references):
            for target in self.references[source]:
                into.setdefault(target, []).append(source)
        found: dict[str, Holder] = {}
        for path in _paths([node], into):
            for name in self.names.get(path[-1], ()):
                found.setdefault(name, Holder(name, path[::-1]))
        return [found[name] for name in sorted(found)]

    def first_holders(self) -> dict[Node, Holder]:
        """One for each resource that has one."""
        found: dict[Node, Holder] = {}
        for path in _paths(sorted(self.names), self.references):
            found[path[-1]] = Holder(self.names[path[0]][0], path)
        return found


def _paths(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> Iterator[tuple[Node, ...]]:
    """A shortest path to each node that the starts reach, short ones first."""
    paths: list[tuple[Node, ...]] = [(start,) for start in dict.fromkeys(starts)]
    seen = {path[0] for path in paths}
    while paths:
        yield from paths
        longer = []
        for path in paths:
            for target in sorted(following.get(path[-1], ())):
                if target not in seen:
                    seen.add(target)
                    longer.append((*path, target))
        paths = longer


def read_held(journal: JournalFile) -> HeldResources:
    """Read what a local folder holds."""
    names = {graph: tuple(json.loads(state.outcome)) for graph, state in journal.sources().items() if _is_held(graph)}
    strong = names.pop(STRONG_KEY, ())
    references: dict[Node, frozenset[Node]] = {}
    documents = journal.current_documents(HELD)
    for graph, document in documents.items():
        lines = tuple(Held(document.quads).lines)
        references[node_of_graph(graph)] = Description(lines, frozenset()).references(strong)
    nodes = {node_of_graph(graph) for graph in (*documents, *names)}
    return HeldResources(nodes, {node_of_graph(graph): found for graph, found in names.items()}, references)


def _is_held(graph: str) -> bool:
    return graph == STRONG_KEY or graph.startswith(HELD)


def collect_garbage(folder: Path, clock: Clock = system_clock) -> list[Node]:
    """Drop what nothing holds, and return it: nothing, unless the folder was changed by other means than `sync`."""
    with Engine.open(folder, clock) as engine, JournalFile.read_only(folder) as journal:
        held = read_held(journal)
        lost = sorted({*held.nodes} - {*held.first_holders()})
        if lost:
            engine.taking.changes([held_graph(node) for node in lost], {})
    return lost
