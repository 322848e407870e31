"""RDF documents → drafts, by pyoxigraph, without reaching for network or files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.contexts import inline_contexts
from triplecast.ingest.document import part_iri
from triplecast.ingest.limits import GateLimits
from triplecast.ingest.lines import make_draft, write_lines
from triplecast.model.publication import Draft

_FORMATS = {
    media_types.TURTLE: RdfFormat.TURTLE,
    media_types.N_TRIPLES: RdfFormat.N_TRIPLES,
    media_types.N_QUADS: RdfFormat.N_QUADS,
    media_types.TRIG: RdfFormat.TRIG,
    media_types.RDF_XML: RdfFormat.RDF_XML,
    media_types.JSON_LD: RdfFormat.JSON_LD,
}
_NAMED = frozenset((media_types.N_QUADS, media_types.TRIG, media_types.JSON_LD))
"""Formats with named graphs."""
_WANTED = {
    media_types.TURTLE: "Turtle",
    media_types.N_TRIPLES: "N-Triples",
    media_types.N_QUADS: "N-Quads",
    media_types.TRIG: "TriG",
    media_types.RDF_XML: "RDF/XML",
    media_types.JSON_LD: "JSON-LD",
}
_PREAMBLE = re.compile(r"^Parser error at line \d+ [^:]*: ")
_REMOTE_CONTEXT = "LoadDocumentCallback"


def parse_rdf(data: bytes, media_type: str, base: str, dataset: bool, limits: GateLimits) -> tuple[Draft, ...]:
    """One draft, or one per named graph beside that of a default graph that is not empty. Raises DocumentRejected."""
    try:
        return _drafts(data, media_type, base, dataset, limits)
    except SyntaxError as error:
        if media_type == media_types.JSON_LD and _REMOTE_CONTEXT in str(error):
            return parse_rdf(inline_contexts(data), media_type, base, dataset, limits)
        raise _unreadable(error, media_type) from None


def parse_triples(data: bytes, media_type: str, base: str, limits: GateLimits) -> list[Triple]:
    """The triples, in document order, of a document that holds one graph. Raises DocumentRejected."""
    try:
        quads = parse(data, format=_FORMATS[media_type], base_iri=base)
        return [quad.triple for quad in islice(quads, limits.triples + 1)]
    except SyntaxError as error:
        raise _unreadable(error, media_type) from None


def _drafts(data: bytes, media_type: str, base: str, dataset: bool, limits: GateLimits) -> tuple[Draft, ...]:
    quads: Iterable[Quad] = parse(data, format=_FORMATS[media_type], base_iri=base)
    if media_type == media_types.JSON_LD and b"@direction" in data:
        quads = map(_without_direction, quads)
    size = len(data) + len(base)
    if dataset:
        return (make_draft(base, write_lines(quads, size, limits, dataset=True), data, limits, dataset=True),)
    if media_type not in _NAMED:
        return (make_draft(base, write_lines(quads, size, limits, dataset=False), data, limits),)
    return _draft_per_graph(quads, data, base, size, limits)


def _draft_per_graph(quads: Iterable[Quad], data: bytes, base: str, size: int, limits: GateLimits) -> tuple[Draft, ...]:
    graphs: dict[NamedNode | BlankNode | DefaultGraph, list[Quad]] = {}
    count = 0
    for quad in quads:
        graphs.setdefault(quad.graph_name, []).append(quad)
        count += 1
        if count > limits.triples:
            break  # `write_lines` says so
    if not graphs:
        return (make_draft(base, [], data, limits),)
    drafts = []
    room = limits.expanded_bytes
    for number, (name, members) in enumerate(graphs.items()):
        lines = write_lines((quad.triple for quad in members), size, limits, dataset=False)
        room -= sum(map(len, lines))
        if room < 0 or count > limits.triples:
            raise DocumentRejected(
                stage="gate",
                reason=f"the dataset has more than {limits.triples} quads or {limits.expanded_bytes} bytes written out",
                hint="split it into smaller documents",
            )
        drafts.append(make_draft(_identity(name, number, base), lines, data, limits))
    return tuple(drafts)


def _without_direction(quad: Quad) -> Quad:
    """JSON-LD 1.1 to RDF 1.1 leaves base directions out (JSON-LD 1.1 API, `rdfDirection` null)."""
    value = quad.object
    if isinstance(value, Literal) and value.direction is not None:
        return Quad(quad.subject, quad.predicate, Literal(value.value, language=value.language), quad.graph_name)
    return quad


def _identity(name: NamedNode | BlankNode | DefaultGraph, number: int, base: str) -> str:
    """A graph named by a blank node has no IRI: it is known by its place in the document."""
    if isinstance(name, NamedNode):
        return name.value
    return base if isinstance(name, DefaultGraph) else part_iri(base, f"graph-{number + 1}")


def _unreadable(error: SyntaxError, media_type: str) -> DocumentRejected:
    found = _PREAMBLE.sub("", str(error.args[0] if error.args else error))
    name = _WANTED[media_type]
    place = "" if error.lineno is None else " at this place"
    return DocumentRejected(
        stage="parse",
        reason=f"not {name}: {found}",
        hint=f"repair the {name}{place}, or name the document's true media type",
        line=error.lineno,
        column=error.offset,
    )
