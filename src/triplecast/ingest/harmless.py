"""Parse a small harmless document in the caller's own process; all others belong in a killable child.

For a small document a child costs more than the work; it is there for what might crash, hang or fill memory.
Harmless is a document that can do none of these, whatever its bytes are:

- Turtle, TriG, N-Triples and N-Quads, uncompressed: their parser has no recursion and no entities, and reads no other
  file. JSON-LD, XML and feeds have more machinery, also Python's.
- At most `_BYTES`: the work of parser and checks is linear but for the products below.
- (Colons + ``<``) × longest IRI at most `_RESOLVED`: resolving IRIs and prefixed names copies no more. The longest IRI
  is the longest run without a space, added to the base once for each further ``base``.
- At most `_BRACKETS`: nested triple terms and blank nodes are dropped recursively.
- At most `_LIMITS.triples` triples in `_LIMITS.publications` graphs, and `_LIMITS.expanded_bytes` written out: commas
  repeat a subject and a predicate. What is written is checked every few triples, so it exceeds them by little.
- Not cut at what a query finds, whose work has no bound.
- Where there may be blank nodes, at most `_BLANK.triples` triples, named within `_BLANK.canonical_steps`: naming runs
  in Python, and takes 100 times as long as the rest.

A document beyond one of these, one that the pre-parse checks reject, and one that makes the parser panic go to the
child, which gives their results. So results never depend on where a document is parsed.
"""

from __future__ import annotations

from dataclasses import replace

from triplecast.ingest import media_types
from triplecast.ingest.checked import parse_checked, parse_flat
from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.gate import GATE, GateLimits
from triplecast.ingest.rdf import may_name_blank_nodes

_BYTES = 1 << 16
_RESOLVED = 1 << 20
_BRACKETS = 100
_LIMITS = replace(GATE, bytes=_BYTES, expanded_bytes=1 << 19, triples=2_000, publications=100)
_BLANK = replace(_LIMITS, triples=200, canonical_steps=100)
_TYPES = frozenset((media_types.TURTLE, media_types.TRIG, media_types.N_TRIPLES, media_types.N_QUADS))
_PANIC = "PanicException"
"""What pyoxigraph raises for a fault of its own: no Exception, and in no module that could be imported."""


class _Harmful(Exception):
    """The document belongs in a child."""


def may_be_harmless(document: Document) -> bool:
    """Whether it is worth a try, for a document that is said to be of one of the types."""
    said = document.media_type or media_types.media_type_of(document.source)
    is_small = type(document.data) is bytes and len(document.data) <= _BYTES
    return said in _TYPES and is_small and not _is_cut_by_query(document)


def _is_cut_by_query(document: Document) -> bool:
    """Whether a query finds its roots, however long that takes."""
    return document.split is not None and not document.split.startswith("<")


def parse_harmless(document: Document) -> ParsedDocument | None:
    """Return what a child would; None for a document that belongs in one."""
    data = document.data
    if type(data) is not bytes or len(data) > _BYTES or _is_cut_by_query(document) or data.startswith(b"\x1f\x8b"):
        return None
    try:
        parsed = parse_checked(document, _LIMITS, _parse)
    except Exception:  # whatever it is, a child reports it
        return None
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        return None
    for reject in parsed.rejects:
        if reject.stage == "gate":
            return None
    for each in parsed.drafts:
        if each.labels == "input":
            return None
    return parsed


def _parse(document: Document, media_type: str, charset: str | None, base: str, _: GateLimits) -> ParsedDocument:
    if media_type not in _TYPES:
        raise _Harmful
    data = document.data
    square = data.count(b"[") if b"[" in data else 0  # mostly none
    round_ = data.count(b"(") if b"(" in data else 0
    curly = data.count(b"{") if b"{" in data else 0
    if square + round_ + curly + data.count(b"<<") > _BRACKETS or _resolves_much(data, len(base)):
        raise _Harmful
    limits = _BLANK if square or round_ or may_name_blank_nodes(data) else _LIMITS
    return parse_flat(document, media_type, base, limits)  # so few brackets nest no deeper than is allowed


def _resolves_much(data: bytes, base: int) -> bool:
    """Whether resolving IRIs and prefixed names may write more than `_RESOLVED` bytes, with a base of so many
    characters."""
    resolved = data.count(b":") + data.count(b"<")
    bases = data.lower().count(b"base") + 2  # those of the document, the IRI of a prefix, and what is written
    most = _RESOLVED - resolved * base * 4  # bytes of a character, at most
    return resolved * bases * len(data) > most and resolved * bases * max(map(len, data.split())) > most
