"""The values of ingest: a document as received, and the publications and rejects parsed from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from triplecast.model.publication import Draft, Reject

DOCUMENT_PREFIX = "urn:triplecast:document:"
"""The identity of a document without a graph IRI is this and its percent-escaped source."""

_Entry = TypeVar("_Entry", bound="Document | Reject")

_KEPT = "/!$&'()*+,;=:@-._~"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as a publisher sent it."""

    source: str
    """The user's name for it: a path relative to the inbox, never one of the machine, or an id."""
    data: bytes
    media_type: str | None = None
    """May have parameters. None: decided by the extension of `source`, then by the content."""
    graph: str | None = None
    """The graph IRI, if the publisher gave one: the base of relative IRIs and the IRI of a feed."""
    dataset: bool = False
    """Whether named graphs stay together as one publication."""
    attachments: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Bytes for operators, by IRI."""

    @property
    def size(self) -> int:
        """Bytes, with attachments."""
        return len(self.data) + sum(map(len, self.attachments.values()))


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Publications in document order, and what was rejected."""

    drafts: tuple[Draft, ...]
    rejects: tuple[Reject, ...] = ()


def cut_groups(entries: Iterable[_Entry], most: int, size: int) -> Iterator[list[_Entry]]:
    """Split `entries`, in order, after the one by which a group has `most` entries or `size` bytes; none is empty."""
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
    """Return the document's identity and base: its graph IRI, or one made from its source."""
    return DOCUMENT_PREFIX + escape(document.source) if document.graph is None else document.graph


def part_iri(document: str, name: str) -> str:
    """Return an identity for a part without an absolute IRI: `document` without its fragment, and `name` escaped."""
    return f"{document.partition('#')[0]}#{escape(name)}"


def escape(text: str) -> str:
    """Percent-escape what an IRI's path cannot hold and all beyond ASCII; undecodable file names keep their bytes."""
    return quote(text.encode("utf-8", "surrogateescape"), safe=_KEPT)
