"""The values of ingest: a document as received, and the publications and rejects parsed from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from triplecast.errors import InputError
from triplecast.ingest.attachments import check_attachments
from triplecast.model.publication import Draft, Reject

DOCUMENT_PREFIX = "urn:triplecast:document:"
"""The identity of a document without a graph IRI is this and its percent-escaped source."""

_Entry = TypeVar("_Entry", bound="Document | Reject")

_LONGEST_PATH = 4096
"""Characters of a text that may be meant as the path of a file."""
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
    split: str | None = None
    """The roots that RDF is cut at, each with its description a publication: a class as ``dcat:Dataset`` or ``<iri>``,
    or a SELECT query with one variable."""

    @property
    def size(self) -> int:
        """Bytes, with attachments."""
        return len(self.data) + (sum(map(len, self.attachments.values())) if self.attachments else 0)


def cut_at(documents: Iterable[Document], split: str | None) -> list[Document]:
    """Return the documents, to be cut at the roots that `split` says."""
    return [replace(each, split=split) for each in documents] if split is not None else [*documents]


class ParsedDocument(NamedTuple):
    """Publications in document order, and what was rejected."""

    drafts: tuple[Draft, ...]
    rejects: tuple[Reject, ...] = ()
    overran: bool = False
    """Whether it was rejected since parsing it took too long, which on another machine or day it might not."""
    warnings: tuple[str, ...] = ()
    """What is probably not meant."""


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


def document_of(
    data: bytes | str,
    media_type: str | None,
    graph: str | None,
    dataset: bool,
    attachments: Mapping[str, bytes] | None = None,
    split: str | None = None,
) -> Document:
    """Return the document of a `publish` call: named by `graph`, or by its content, so that equal content is one
    document."""
    if not isinstance(data, bytes | bytearray | memoryview | str):
        of_path = isinstance(data, PathLike)
        hint = "give what is in it: path.read_bytes()" if of_path else "give its bytes, or its text as str"
        raise InputError(f"a document cannot be made of {type(data).__name__}", hint)
    _check_named(media_type, graph, dataset, split)
    if isinstance(data, str) and _names_file(data):
        raise InputError(f"{data!r} is the name of a file, not a document", f"publish Path({data!r}).read_bytes()")
    try:
        content = data.encode() if isinstance(data, str) else bytes(data)
        (graph or "").encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object[:80]!r} holds half a character", "give text that can be UTF-8") from error
    source = graph if graph is not None else f"sha256/{hashlib.sha256(content).hexdigest()}"
    given = {} if attachments is None else attachments
    check_attachments(given)
    return Document(source, content, media_type, graph, dataset, given, split)


def _names_file(text: str) -> bool:
    """Whether a text that is no document is the name of a file here."""
    if len(text) > _LONGEST_PATH or any(sign in text for sign in "<{\n\0"):
        return False
    try:
        return Path(text).is_file()
    except OSError:
        return False


def checked_documents(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield `documents`. Raises TypeError for what is no document, and for a field of another type than it says;
    `InputError` for attachments that cannot be."""
    if isinstance(documents, str | bytes | bytearray) or not isinstance(documents, Iterable):
        raise _no_document(documents)
    for document in documents:
        if not isinstance(document, Document):
            raise _no_document(document)
        _check_types(document)
        check_attachments(document.attachments)
        yield document


def _no_document(found: object) -> TypeError:
    return TypeError(
        f"publish_many takes an iterable of triplecast.Document, not {type(found).__name__}; "
        "`publish` takes the bytes or the text of one document"
    )


def _check_types(document: Document) -> None:
    if not isinstance(document.source, str):
        raise _mistyped("source", "str", document.source)
    if not isinstance(document.data, bytes | bytearray | memoryview):
        raise _mistyped("data", "bytes", document.data)
    _check_named(document.media_type, document.graph, document.dataset, document.split)


def _check_named(media_type: object, graph: object, dataset: object, split: object) -> None:
    for name, value in (("media_type", media_type), ("graph", graph), ("split", split)):
        if value is not None and not isinstance(value, str):
            raise _mistyped(name, "str or None", value)
    if not isinstance(dataset, bool):
        raise _mistyped("dataset", "bool", dataset)


def _mistyped(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"the {name} of a document is {wanted}, not {type(value).__name__}")


def document_iri(document: Document) -> str:
    """Return the document's identity and base: its graph IRI, or one made from its source."""
    return DOCUMENT_PREFIX + escape(document.source) if document.graph is None else document.graph


def part_iri(document: str, name: str) -> str:
    """Return an identity for a part without an absolute IRI: `document` without its fragment, and `name` escaped."""
    return f"{document.partition('#')[0]}#{escape(name)}"


def escape(text: str) -> str:
    """Percent-escape what an IRI's path cannot hold and all beyond ASCII; undecodable file names keep their bytes."""
    return quote(text.encode("utf-8", "surrogateescape"), safe=_KEPT)
