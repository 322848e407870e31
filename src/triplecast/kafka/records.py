"""What a record of a topic says: its key is the graph IRI, headers say how it is read, no value removes the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from triplecast.ingest import Document
from triplecast.ingest.gate import GATE
from triplecast.model.publication import Reject

MEDIA_TYPE = "content-type"
VERSION = "triplecast-version"
"""Header with the publisher's own version of a document, a whole number."""

_NUMBER = re.compile(r"[0-9]{1,18}")


class Record(NamedTuple):
    """A record as Kafka gives it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()

    @property
    def source(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Arrival(NamedTuple):
    """What a record asks for."""

    record: Record
    change: Document | str | Reject
    """A document, the graph to be removed, or why neither."""
    graph: str | None = None
    version: int | None = None
    """The publisher's own: a record with a lower one than was taken of its graph comes too late."""


def read_record(record: Record, dataset: bool = False, split: str | None = None) -> Arrival:
    """Read a record. Raises nothing, whatever it holds."""

    def refuse(reason: str, hint: str) -> Arrival:
        return Arrival(record, Reject(record.source, "gate", reason, hint))

    try:
        graph = None if record.key is None else record.key.decode("utf-8")
        media_type, version = _header(record, MEDIA_TYPE), _header(record, VERSION)
    except UnicodeDecodeError as error:
        return refuse(f"its key or a header is no UTF-8: {error}", "send the graph IRI as text, as the key")
    if version is not None and not _NUMBER.fullmatch(version):
        return refuse(f"the header {VERSION} is {version[:40]!r}", "send a whole number of 18 digits at most")
    number = None if version is None else int(version)
    if number is not None and graph is None:
        return refuse(f"it has a header {VERSION} and no key", "send the graph IRI as the key")
    if record.value is None:
        if graph is None:
            return refuse("it has neither key nor value", "send the graph IRI as the key of a removal")
        return Arrival(record, graph, graph, number)
    if len(record.value) > GATE.bytes:
        reason = f"the document has {len(record.value)} bytes, {GATE.bytes} are allowed"
        return refuse(reason, "split it into smaller documents")
    document = Document(record.source, record.value, media_type, graph, dataset, split=split)
    return Arrival(record, document, graph, number)


def _header(record: Record, wanted: str) -> str | None:
    """The last header of a name, in any letter case."""
    found = [value for name, value in record.headers if name.lower() == wanted]
    return found[-1].decode("utf-8").strip() if found and found[-1] is not None else None
