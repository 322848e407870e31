"""Write a parser's quads as canonical lines, within the limits, and make drafts of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

from pyoxigraph import NamedNode, Quad, RdfFormat, Triple, serialize

from triplecast.errors import DocumentRejected
from triplecast.ingest.canonical import OutOfSteps, canonical_names, names_by_appearance, rename, split_line
from triplecast.ingest.limits import GateLimits
from triplecast.model.publication import Draft

_BLANK_LINE = re.compile(rb"^_:| _:[^ \"]+ (?:<[^>]*> )?\.$", re.MULTILINE)
"""A blank node as subject, object or graph, which no literal or IRI resembles."""
_NEW_SYNTAX = (b"<<(", b"--ltr", b"--rtl")


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
