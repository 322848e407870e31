"""What comes in and what becomes of it: a document as it was received, and the publications and rejects it gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from triplecast.model.publication import Draft, Reject

DOCUMENT_PREFIX = "urn:triplecast:document:"
"""The identity of a document without a graph IRI of its own is this and its percent-escaped source."""

_Entry = TypeVar("_Entry", bound="Document | Reject")

_KEPT = "/!$&'()*+,;=:@-._~"


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes as a publisher left them."""

    source: str
    """What the user calls it: a path relative to the inbox (never a path of the machine), or an id."""
    data: bytes
    media_type: str | None = None
    """Parameters are allowed; None asks the extension of `source`, then the content."""
    graph: str | None = None
    """The graph IRI, when the publisher gave one: the base of relative IRIs and, of a feed, its own IRI."""
    dataset: bool = False
    """True: named graphs stay together as one publication."""
    attachments: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What came with it, by IRI, for operators to look at."""

    @property
    def size(self) -> int:
        """Bytes, attachments included."""
        return len(self.data) + sum(map(len, self.attachments.values()))


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Publications in document order, and what could not become one."""

    drafts: tuple[Draft, ...]
    rejects: tuple[Reject, ...] = ()


def cut_groups(entries: Iterable[_Entry], most: int, size: int) -> Iterator[list[_Entry]]:
    """`entries` in order, cut behind the one by which a group has `most` of them or `size` bytes; no group is empty."""
    group: list[_Entry] = []
    held = 0
    for entry in entries:
        group.append(entry)
        held += entry.size if isinstance(entry, Document) else 0
        if len(group) >= most or held >= size:
            yield group
            group, held = [], 0
    if group:
        yield group


def document_iri(document: Document) -> str:
    """The document's identity and base: its own graph IRI, or one made from its source."""
    if document.graph is not None:
        return document.graph
    return DOCUMENT_PREFIX + escape(document.source)


def part_iri(document: str, name: str) -> str:
    """The identity of a part that has no absolute IRI of its own; `name` is escaped. A fragment of `document` goes."""
    return f"{document.partition('#')[0]}#{escape(name)}"


def escape(text: str) -> str:
    """Percent-escapes what an IRI's path cannot hold, and all beyond ASCII; undecodable file names keep their bytes."""
    return quote(text.encode("utf-8", "surrogateescape"), safe=_KEPT)
