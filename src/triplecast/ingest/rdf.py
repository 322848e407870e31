"""Parse RDF documents with pyoxigraph, without network or files: to canonical lines, within the limits, and drafts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.canonical import OutOfSteps, canonical_names, names_by_appearance, rename, split_line
from triplecast.ingest.contexts import inline_contexts
from triplecast.ingest.document import part_iri
from triplecast.ingest.gate import GateLimits
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
_BLANK_LINE = re.compile(rb"^_:| _:[^ \"]+ (?:<[^>]*> )?\.$", re.MULTILINE)
"""A blank node as subject, object or graph, which no literal or IRI resembles."""
_NEW_SYNTAX = (b"<<(", b"--ltr", b"--rtl")


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


# ---- lines and drafts ------------------------------------------------------------------------------------------------


def write_lines(
    quads: Iterable[Quad] | Iterable[Triple], source_bytes: int, limits: GateLimits, dataset: bool
) -> list[bytes]:
    """Return canonical lines in parser order, each ending in a newline, with duplicates. Raises DocumentRejected.

    `source_bytes` is the size of the source with its base: hardly a term is longer, so it bounds how many quads are
    written at once before the limits are checked.
    """
    form = RdfFormat.N_QUADS if dataset else RdfFormat.N_TRIPLES
    step = max(1, limits.expanded_bytes // (4 * source_bytes + 64))
    stream: Iterator[Triple] = iter(quads)  # type: ignore[arg-type]  # quads or triples, never both
    lines: list[bytes] = []
    size = 0
    while part := serialize(islice(stream, step), format=form):
        size += len(part)
        _refuse_new_syntax(part)
        lines += part.splitlines(True) if b"\r" not in part else [line + b"\n" for line in part.split(b"\n")[:-1]]
        if size > limits.expanded_bytes:
            raise _too_much(f"more than {limits.expanded_bytes} bytes with every term written out")
        if len(lines) > limits.triples:
            raise _too_much(f"more than {limits.triples} triples")
    _refuse_long_terms(lines, limits)
    return lines


def make_draft(graph: str, lines: list[bytes], source: bytes, limits: GateLimits, dataset: bool = False) -> Draft:
    """Make the publication of these lines; blank nodes get canonical names if the step limit allows (semantics 2.3).

    Raises DocumentRejected for a `graph` that is no absolute IRI.
    """
    _refuse_invalid(graph)
    text = b"".join(lines)
    labels = "none"
    if b"_:" in text and _BLANK_LINE.search(text):
        lines, labels = _name_blank_nodes(lines, limits)
    quads = b"".join(sorted(set(lines)))
    digest = sha256(source if labels == "input" else quads).digest()
    return Draft(graph, quads, digest, labels, dataset)


def _refuse_invalid(graph: str) -> None:
    try:
        NamedNode(graph)
    except ValueError as error:
        reason = f"{graph[:200]!r} cannot be a publication's identity, it is no absolute IRI: {error}"
        raise DocumentRejected("gate", reason, "name graphs and items by absolute IRIs") from None


def _name_blank_nodes(lines: list[bytes], limits: GateLimits) -> tuple[list[bytes], str]:
    """Rename blank nodes; lines without any take no part in canonicalisation."""
    unique = dict.fromkeys(lines)
    blank = [line for line in unique if b"_:" in line and _BLANK_LINE.search(line)]
    try:
        names, labels = canonical_names(blank, limits.canonical_steps), "canonical"
    except OutOfSteps:
        names, labels = names_by_appearance(blank), "input"
    touched = set(blank)
    return [line for line in unique if line not in touched] + rename(blank, names), labels


def _refuse_new_syntax(part: bytes) -> None:
    """Raise DocumentRejected for RDF 1.2, which is not supported (semantics 1.5)."""
    if not any(mark in part for mark in _NEW_SYNTAX):
        return
    for line in part.split(b"\n")[:-1]:
        if any(mark in line for mark in _NEW_SYNTAX):  # a literal may contain them
            terms = split_line(line + b"\n")
            if terms is None:
                raise _rdf_12("a triple term (RDF 1.2)", "use rdf:Statement, or a named graph, instead")
            if terms[2].endswith((b"--ltr", b"--rtl")):
                raise _rdf_12("a language tag with a base direction (RDF 1.2)", "leave the direction out of the tag")


def _rdf_12(what: str, hint: str) -> DocumentRejected:
    return DocumentRejected("gate", f"it contains {what}, which is not supported", hint)


def _too_much(what: str) -> DocumentRejected:
    return DocumentRejected("gate", f"the document has {what}", "split it into smaller documents")


def _refuse_long_terms(lines: list[bytes], limits: GateLimits) -> None:
    if not lines or max(map(len, lines)) <= limits.term_bytes:
        return
    for line in lines:
        longest = max(map(len, line.split(b" ", 2)))
        if longest > limits.term_bytes:
            reason = f"a term has about {longest} bytes, {limits.term_bytes} are allowed: {line[:60]!r}…"
            raise DocumentRejected("gate", reason, "link to long content instead of embedding it")
