"""A document's triples as lines whose blank nodes mean the same in the whole repository (semantics 2.6).

Blank nodes that share triples are a *component*. Its nodes are named by the document's identity and the component's
canonical form, so an equal component of the next version has the same nodes, and no other document has them. Where
naming a component needs more steps than a document may take, its own labels are its form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from triplecast.ingest import GATE
from triplecast.ingest.canonical import Known, names_within, rename, split_line
from triplecast.model.publication import Publication

DOCUMENT_STEPS = 10 * GATE.canonical_steps
"""Steps that naming all components of one document may take."""
SHARED, SHARED_LINES = 64, 1_000
"""Of how many components of at most so many lines the names are remembered, for documents that have parts alike."""
_KNOWN: Known = {}


def document_lines(publication: Publication) -> bytes:
    """The triples of a version as distinct N-Triples lines; those of a dataset whatever their graph."""
    lines = _without_graphs(publication.quads) if publication.dataset else publication.quads
    if publication.labels == "none" or b"_:" not in lines:
        return lines
    return b"".join(_name_components(publication.graph, lines.splitlines(keepends=True)))


def blank_names(publication: Publication) -> Mapping[str, str]:
    """The names that blank nodes of a version have in the whole repository, by their labels."""
    if publication.labels == "none":
        return {}
    lines = _without_graphs(publication.quads) if publication.dataset else publication.quads
    names: dict[bytes, bytes] = {}
    for _, found in _named_components(publication.graph, lines.splitlines(keepends=True), []):
        names.update(found)
    return {label.decode(): name.decode() for label, name in names.items()}


def _without_graphs(quads: bytes) -> bytes:
    """The triples of N-Quads lines, each once."""
    triples: dict[bytes, None] = {}
    for line in quads.split(b"\n")[:-1]:
        quad = split_line(line + b"\n")
        if quad is None:
            raise ValueError(f"not a canonical line: {line[:200]!r}")
        triples[b"%b %b %b .\n" % quad[:3]] = None
    return b"".join(triples)


def _name_components(graph: str, lines: list[bytes]) -> list[bytes]:
    named: list[bytes] = []
    for component, names in _named_components(graph, lines, named):
        named += rename(component, names)
    return named


def _named_components(
    graph: str, lines: list[bytes], others: list[bytes]
) -> Iterator[tuple[list[bytes], dict[bytes, bytes]]]:
    """The lines of each component, and the names of its nodes by their labels; other lines go to `others`."""
    occurrences: Counter[bytes] = Counter()
    left = DOCUMENT_STEPS
    for component in _components(lines, others):
        shares = len(component) <= SHARED_LINES and left >= GATE.canonical_steps
        if len(_KNOWN) >= SHARED:
            _KNOWN.clear()
        found, taken = names_within(component, min(left, GATE.canonical_steps), _KNOWN if shares else None)
        left -= taken
        form = found or {node: node for node in sorted({node for line in component for node in _nodes(line)})}
        names = {node: number for number, node in enumerate(form)}
        text = b"".join(sorted(rename(component, form)))
        digest = sha256(b"%b\n%d\n%b" % (graph.encode(), occurrences[text], text)).hexdigest()[:32].encode()
        occurrences[text] += 1
        yield component, {node: b"_:b%bn%d" % (digest, number) for node, number in names.items()}


def _components(lines: list[bytes], others: list[bytes]) -> Iterable[list[bytes]]:
    """The lines of each component, in order of appearance; lines without blank nodes go to `others`."""
    parents: dict[bytes, bytes] = {}
    touching: list[tuple[bytes, bytes]] = []
    for line in lines:
        nodes = _nodes(line)
        if not nodes:
            others.append(line)
            continue
        for node in nodes:
            parents.setdefault(node, node)
        parents[_root(parents, nodes[-1])] = _root(parents, nodes[0])
        touching.append((line, nodes[0]))
    components: dict[bytes, list[bytes]] = {}
    for line, node in touching:
        components.setdefault(_root(parents, node), []).append(line)
    return components.values()


def _root(parents: dict[bytes, bytes], node: bytes) -> bytes:
    while (parent := parents[node]) != node:
        parents[node] = parents[parent]
        node = parent
    return node


def _nodes(line: bytes) -> tuple[bytes, ...]:
    """The blank nodes of a line, subject first."""
    quad = None if b"_:" not in line else split_line(line)
    return () if quad is None else tuple(term for term in (quad.subject, quad.object) if term.startswith(b"_:"))
