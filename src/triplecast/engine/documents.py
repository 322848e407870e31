"""What `Engine.publish` and `Engine.publish_many` are given, checked and cut into groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import NoneType

from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.ingest.attachments import check_attachments
from triplecast.journal import BYTES_AT_ONCE
from triplecast.model.subscription import Subscription

DOCUMENTS_AT_ONCE = 500
"""Documents of `Engine.publish_many` that are committed together, unless fewer come to `BYTES_AT_ONCE`."""


def document_of(
    data: bytes | str,
    media_type: str | None,
    graph: str | None,
    dataset: bool,
    attachments: Mapping[str, bytes] | None = None,
) -> Document:
    """The document of a `publish` call: named by `graph`, or by its content, so that equal content is one document."""
    if not isinstance(data, bytes | bytearray | memoryview | str):
        of_path = isinstance(data, PathLike)
        hint = "give what is in it: path.read_bytes()" if of_path else "give its bytes, or its text as str"
        raise InputError(f"a document cannot be made of {type(data).__name__}", hint)
    _check_types(Document("", b"", media_type, graph, dataset))
    try:
        content = data.encode() if isinstance(data, str) else bytes(data)
        (graph or "").encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object[:80]!r} holds half a character", "give text that can be UTF-8") from error
    source = graph if graph is not None else f"sha256/{hashlib.sha256(content).hexdigest()}"
    given = {} if attachments is None else attachments
    check_attachments(given)
    return Document(source, content, media_type, graph, dataset, given)


def group_documents(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """`documents` in order, in groups of at most `DOCUMENTS_AT_ONCE` that end once they come to `BYTES_AT_ONCE`.

    Raises TypeError for what is no document, and for a field of another type than it says; `InputError` for attachments
    that cannot be.
    """
    group: list[Document] = []
    size = 0
    if isinstance(documents, str | bytes | bytearray) or not isinstance(documents, Iterable):
        raise _no_document(documents)
    for document in documents:
        if not isinstance(document, Document):
            raise _no_document(document)
        _check_types(document)
        check_attachments(document.attachments)
        group.append(document)
        size += document.size
        if len(group) >= DOCUMENTS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def check_subscriptions(subscriptions: Sequence[Subscription]) -> None:
    """Raises TypeError for what is no sequence of subscriptions."""
    whole = isinstance(subscriptions, Sequence) and not isinstance(subscriptions, str | bytes)
    for found in subscriptions if whole else [subscriptions]:
        if not isinstance(found, Subscription):
            raise TypeError(
                f"subscribe_many takes a list of triplecast.Subscription, not {type(found).__name__}; "
                "`subscribe` takes the text of one query"
            )


def _no_document(found: object) -> TypeError:
    return TypeError(
        f"publish_many takes an iterable of triplecast.Document, not {type(found).__name__}; "
        "`publish` takes the bytes or the text of one document"
    )


def _check_types(document: Document) -> None:
    for field, value, kinds, wanted in (
        ("source", document.source, (str,), "str"),
        ("data", document.data, (bytes, bytearray, memoryview), "bytes"),
        ("media_type", document.media_type, (str, NoneType), "str or None"),
        ("graph", document.graph, (str, NoneType), "str or None"),
        ("dataset", document.dataset, (bool,), "bool"),
    ):
        if not isinstance(value, kinds):
            raise TypeError(f"the {field} of a document is {wanted}, not {type(value).__name__}")
