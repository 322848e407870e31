"""Parse RDF documents with pyoxigraph, without network or files: to canonical lines, within the limits, and drafts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.canonical import Known, OutOfSteps, canonical_names, names_by_appearance, rename, split_line
from triplecast.ingest.contexts import inline_contexts
from triplecast.ingest.descriptions import Descriptions, find_roots
from triplecast.ingest.document import Document, ParsedDocument, part_iri
from triplecast.ingest.gate import GateLimits
from triplecast.ingest.syntax_faults import graph_of_line, lines_as_counted, unreadable
from triplecast.model.publication import DOCUMENTS, HELD, TAXONOMY, Draft, Origin, Reject

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
_PART = 4096
"""Quads that are held as objects at once; fewer where they may be long, but `_PART_LEAST`."""
_PART_LEAST = 64
_MOST_FAULTS = 100
"""Graphs that may be left out of one document."""
_REMOTE_CONTEXT = "LoadDocumentCallback"
_BLANK_LINE = re.compile(rb"^_:| _:[^ \"]+ (?:<[^<> ]*> )?\.$", re.MULTILINE)
"""A blank node as subject, object or graph, which no literal or IRI resembles; found in linear time."""
_NEW_SYNTAX = (b"<<(", b"--ltr", b"--rtl")


class ParsedGraphs(NamedTuple):
    """The publications of an RDF document."""

    drafts: tuple[Draft, ...]
    faults: tuple[DocumentRejected, ...] = ()
    """Why graphs were left out."""
    warnings: tuple[str, ...] = ()


def parse_rdf(
    data: bytes, media_type: str, base: str, dataset: bool, limits: GateLimits, split: str | None = None
) -> ParsedGraphs:
    """Return one draft per graph; the default graph counts if it is not empty, or alone. With `split`, return one per
    root in all graphs together, and one for the rest. Raises DocumentRejected."""
    try:
        return _drafts(data, media_type, base, dataset, limits, split)
    except SyntaxError as error:
        if media_type != media_types.JSON_LD or _REMOTE_CONTEXT not in str(error):
            raise unreadable(error, _FORMATS[media_type], data) from None
    return _with_contexts(data, base, dataset, limits, split)  # here, where the first parser and what it holds are gone


def _with_contexts(data: bytes, base: str, dataset: bool, limits: GateLimits, split: str | None) -> ParsedGraphs:
    """Parse JSON-LD that names contexts by address."""
    try:
        return _drafts(inline_contexts(data), media_types.JSON_LD, base, dataset, limits, split)
    except SyntaxError as error:
        if _REMOTE_CONTEXT in str(error):  # named by a key with other escapes
            reason = "it names a JSON-LD context by address, and contexts are never fetched"
            raise DocumentRejected("gate", reason, 'write the key as "@context"') from None
        raise unreadable(error, RdfFormat.JSON_LD, data) from None


def parsed_graphs(document: Document, graphs: ParsedGraphs) -> ParsedDocument:
    """Return the publications and rejects of a document that has these graphs."""
    rejects = (
        Reject(document.source, each.stage, each.reason, each.hint, each.line, each.column) for each in graphs.faults
    )
    return ParsedDocument(graphs.drafts, tuple(rejects), warnings=graphs.warnings)


def parse_triples(data: bytes, media_type: str, base: str, limits: GateLimits) -> list[Triple]:
    """Return the triples, in order, of a document with one graph. Raises DocumentRejected."""
    try:
        quads = parse(data, format=_FORMATS[media_type], base_iri=base)
        return [quad.triple for quad in islice(quads, limits.triples + 1)]
    except SyntaxError as error:
        raise unreadable(error, _FORMATS[media_type], data) from None


def cut_at_roots(
    base: str, lines: list[bytes], split: str, source: bytes, limits: GateLimits, dataset: bool = False
) -> ParsedGraphs:
    """Return a draft for the description of each root in a document of these lines, and one for the rest, if any, or if
    there is nothing else. Raises DocumentRejected."""
    lines = sorted(set(lines))
    roots = find_roots(lines, split, limits)
    descriptions = Descriptions(lines, limits.expanded_bytes)
    parts = {root: own for root in roots.named if (own := descriptions.of(root))}
    if (rest := descriptions.rest()) or not parts:
        parts[base] = parts.get(base, []) + rest
    origin = Origin(base, len(parts))
    known: Known = {}
    drafts = (make_draft(graph, own, source, limits, dataset, known=known) for graph, own in parts.items())
    return ParsedGraphs(tuple(draft._replace(origin=origin) for draft in drafts), warnings=roots.warnings())


def _drafts(
    data: bytes, media_type: str, base: str, dataset: bool, limits: GateLimits, split: str | None
) -> ParsedGraphs:
    size = len(data) + len(base)
    if split is not None:
        quads = _quads(data, media_type, base)
        lines = write_lines(quads if dataset else (quad.triple for quad in quads), size, limits, dataset)
        return cut_at_roots(base, lines, split, data, limits, dataset)
    if dataset or media_type not in _NAMED:
        lines = write_lines(_quads(data, media_type, base), size, limits, dataset)
        return ParsedGraphs((make_draft(base, lines, data, limits, dataset),))
    faults: dict[str, DocumentRejected] = {}
    graphs = _lines_per_graph(_quads(data, media_type, base, faults), size, limits)
    drafts = tuple(
        make_draft(_identity(name, number, base), graphs.pop(name, []), data, limits)
        for number, name in enumerate(tuple(graphs) or (() if faults else (DefaultGraph(),)))
        if ("" if isinstance(name, DefaultGraph) else str(name)) not in faults
    )
    return ParsedGraphs(drafts, tuple(faults.values()))


def _quads(
    data: bytes, media_type: str, base: str, faults: dict[str, DocumentRejected] | None = None
) -> Iterator[Quad]:
    """Return the quads of a document. Their parser may hold it in a large form: whoever has read the last drops it."""
    quads: Iterable[Quad] = parse(data, format=_FORMATS[media_type], base_iri=base)
    if media_type == media_types.JSON_LD and b"@direction" in data:
        quads = map(_without_direction, quads)
    if media_type == media_types.N_QUADS and faults is not None:
        quads = _valid_quads(quads, data, faults)
    return iter(quads)


def _valid_quads(quads: Iterable[Quad], data: bytes, faults: dict[str, DocumentRejected]) -> Iterator[Quad]:
    """Yield the quads of the valid lines of N-Quads, and put the first error of each other graph into `faults`. Raises
    SyntaxError at a line of which even the graph is unknown."""
    stream = iter(quads)
    lines: list[bytes] = []
    while True:
        try:
            yield from stream
            return
        except SyntaxError as error:
            lines = lines or lines_as_counted(data)
            graph = None if error.lineno is None else graph_of_line(lines[error.lineno - 1])
            if graph is None or len(faults) == _MOST_FAULTS:
                raise
            if graph not in faults:
                fault = unreadable(error, RdfFormat.N_QUADS, data)
                fault.reason = f"{f'the graph {graph}' if graph else 'the default graph'} is left out: {fault.reason}"
                faults[graph] = fault


_Graphs = dict[NamedNode | BlankNode | DefaultGraph, list[bytes]]


def _lines_per_graph(quads: Iterator[Quad], size: int, limits: GateLimits) -> _Graphs:
    graphs: _Graphs = {}
    count = 0
    room = limits.expanded_bytes
    while part := list(islice(quads, max(_PART_LEAST, min(_PART, _at_once(size, limits))))):
        lines = write_lines((quad.triple for quad in part), size, limits, dataset=False)
        for quad, line in zip(part, lines, strict=True):
            graphs.setdefault(quad.graph_name, []).append(line)
        if len(graphs) > limits.publications:
            reason = f"the dataset has more than {limits.publications} graphs, each of which is a publication"
            raise DocumentRejected("gate", reason, "split it, or publish it as one dataset (--dataset, dataset=True)")
        count += len(part)
        room -= sum(map(len, lines))
        if room < 0 or count > limits.triples:
            reason = f"the dataset has more than {limits.triples} quads or {limits.expanded_bytes} bytes written out"
            raise DocumentRejected("gate", reason, "split it into smaller documents")
    return graphs


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


# ---- lines and drafts ------------------------------------------------------------------------------------------------


def write_lines(
    quads: Iterable[Quad] | Iterable[Triple], source_bytes: int, limits: GateLimits, dataset: bool
) -> list[bytes]:
    """Return canonical lines in parser order, each ending in a newline, with duplicates. Raises DocumentRejected.

    `source_bytes` is the size of the source with its base: hardly a term is longer, so it bounds how many quads are
    written at once before the limits are checked.
    """
    form = RdfFormat.N_QUADS if dataset else RdfFormat.N_TRIPLES
    step = _at_once(source_bytes, limits)
    stream: Iterator[Triple] = iter(quads)  # type: ignore[arg-type]  # quads or triples, never both
    lines: list[bytes] = []
    size = written = 0
    while len(lines) == written:  # else the stream has ended
        part = serialize(islice(stream, step), format=form) or b""
        written += step
        size += len(part)
        _refuse_new_syntax(part)
        lines += part.splitlines(True) if b"\r" not in part else [line + b"\n" for line in part.split(b"\n")[:-1]]
        if size > limits.expanded_bytes:
            raise _too_much(f"more than {limits.expanded_bytes} bytes with every term written out")
        if len(lines) > limits.triples:
            raise _too_much(f"more than {limits.triples} triples")
    if size > limits.term_bytes:
        _refuse_long_terms(lines, limits)
    return lines


def _at_once(source_bytes: int, limits: GateLimits) -> int:
    """Return how many quads of a source of this size are not too large together."""
    return max(1, limits.expanded_bytes // (4 * source_bytes + 64))


def make_draft(
    graph: str,
    lines: list[bytes],
    source: bytes,
    limits: GateLimits,
    dataset: bool = False,
    is_held: bool = False,
    known: Known | None = None,
) -> Draft:
    """Make the publication of these lines; blank nodes get canonical names if the step limit allows (semantics 2.3).

    Raises DocumentRejected for a `graph` that is no absolute IRI, or is ours; `is_held`: one of a held resource;
    `known`: how blank nodes of the same document are named.
    """
    _refuse_identity(graph, limits)
    if not is_held and (graph in (DOCUMENTS, TAXONOMY) or graph.startswith(HELD)):
        reason = f"{graph[:200]} cannot be a publication's identity, Triplecast names by it what it makes itself"
        raise DocumentRejected("gate", reason, "name graphs and items by IRIs of your own")
    labels = "none"
    quads = b"".join(sorted(set(lines)))
    if may_name_blank_nodes(quads) and _BLANK_LINE.search(quads):
        lines, labels = _name_blank_nodes(lines, limits, known)
        quads = b"".join(sorted(set(lines)))
    digest = sha256(source if labels == "input" else quads).digest()
    return Draft(graph, quads, digest, labels, dataset)


def may_name_blank_nodes(text: bytes) -> bool:
    """Return False only for text without a label of a blank node. One byte is looked for first: that is much faster."""
    return b"_" in text and b"_:" in text


def _refuse_identity(graph: str, limits: GateLimits) -> None:
    if (size := len(graph.encode("utf-8", "replace"))) > limits.identity_bytes:
        reason = f"the graph IRI {graph[:200]!r}… has {size} bytes, {limits.identity_bytes} are allowed"
        raise DocumentRejected("gate", reason, "name graphs and items by shorter IRIs")
    try:
        NamedNode(graph)
    except ValueError as error:
        reason = f"{graph[:200]!r} cannot be a publication's identity, it is no absolute IRI: {error}"
        raise DocumentRejected("gate", reason, "name graphs and items by absolute IRIs") from None


def _name_blank_nodes(lines: list[bytes], limits: GateLimits, known: Known | None) -> tuple[list[bytes], str]:
    """Rename blank nodes; lines without any take no part in canonicalisation."""
    unique = dict.fromkeys(lines)
    blank = [line for line in unique if b"_:" in line and _BLANK_LINE.search(line)]
    try:
        names, labels = canonical_names(blank, limits.canonical_steps, known), "canonical"
    except OutOfSteps:
        names, labels = names_by_appearance(blank), "input"
    touched = set(blank)
    return [line for line in unique if line not in touched] + rename(blank, names), labels


def _refuse_new_syntax(part: bytes) -> None:
    """Raise DocumentRejected for RDF 1.2, which is not supported (semantics 1.5)."""
    if b"(" not in part and b"@" not in part:  # found faster than the marks, most of which begin as each line does
        return
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
    if max(map(len, lines)) <= limits.term_bytes:
        return
    for line in lines:
        longest = max(map(len, line.split(b" ", 2)))
        if longest > limits.term_bytes:
            reason = f"a term has about {longest} bytes, {limits.term_bytes} are allowed: {line[:60]!r}…"
            raise DocumentRejected("gate", reason, "link to long content instead of embedding it")
