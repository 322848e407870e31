"""Parse RDF documents to drafts with pyoxigraph, without network or files."""

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
_PREAMBLE = re.compile(r"^Parser error at line \d+ [^:]*: ")
_REMOTE_CONTEXT = "LoadDocumentCallback"


def parse_rdf(data: bytes, media_type: str, base: str, dataset: bool, limits: GateLimits) -> tuple[Draft, ...]:
    """Return one draft per graph; the default graph counts if it is not empty, or alone. Raises DocumentRejected."""
    try:
        return _drafts(data, media_type, base, dataset, limits)
    except SyntaxError as error:
        if media_type == media_types.JSON_LD and _REMOTE_CONTEXT in str(error):
            return parse_rdf(inline_contexts(data), media_type, base, dataset, limits)
        raise _unreadable(error, media_type) from None


def parse_triples(data: bytes, media_type: str, base: str, limits: GateLimits) -> list[Triple]:
    """Return the triples, in order, of a document with one graph. Raises DocumentRejected."""
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
            reason = f"the dataset has more than {limits.triples} quads or {limits.expanded_bytes} bytes written out"
            raise DocumentRejected("gate", reason, "split it into smaller documents")
        drafts.append(make_draft(_identity(name, number, base), lines, data, limits))
    return tuple(drafts)


def _without_direction(quad: Quad) -> Quad:
    """Remove a base direction, as JSON-LD 1.1 API does for RDF 1.1 (`rdfDirection` null)."""
    value = quad.object
    if isinstance(value, Literal) and value.direction is not None:
        return Quad(quad.subject, quad.predicate, Literal(value.value, language=value.language), quad.graph_name)
    return quad


def _identity(name: NamedNode | BlankNode | DefaultGraph, number: int, base: str) -> str:
    """Return a graph's identity; one named by a blank node is named by its place in the document."""
    if isinstance(name, NamedNode):
        return name.value
    return base if isinstance(name, DefaultGraph) else part_iri(base, f"graph-{number + 1}")


def _unreadable(error: SyntaxError, media_type: str) -> DocumentRejected:
    found = _PREAMBLE.sub("", str(error.args[0] if error.args else error))
    name = _FORMATS[media_type].name
    place = "" if error.lineno is None else " at this place"
    hint = f"repair the {name}{place}, or give the document's true media type"
    return DocumentRejected("parse", f"not {name}: {found}", hint, error.lineno, error.offset)
