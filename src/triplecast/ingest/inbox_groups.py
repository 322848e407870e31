"""Read files that are ready as groups of documents, each with the states of its files.

A file is read once, because its state is written with its documents in one transaction of the journal.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from triplecast.ingest.document import Document
from triplecast.ingest.document_lines import document_of_line
from triplecast.ingest.inbox import LINES, InboxFile, open_inbox_file, read_inbox_file
from triplecast.ingest.inbox_lines import LINE_BYTES, LineReader, LongLine, read_wholly
from triplecast.ingest.limits import GATE
from triplecast.ingest.media_types import media_type_of
from triplecast.model.file_state import FileState
from triplecast.model.publication import Reject

GROUP_DOCUMENTS = 256
GROUP_BYTES = 4 << 20
"""A group of this many documents or bytes is complete; it is one parser call and one transaction."""


@dataclass(slots=True)
class DocumentGroup:
    """Documents that are parsed and committed together."""

    documents: list[Document] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    """Files and lines rejected before parsing."""
    sources: dict[str, FileState] = field(default_factory=dict)
    size: int = 0

    @property
    def full(self) -> bool:
        return len(self.documents) >= GROUP_DOCUMENTS or self.size >= GROUP_BYTES

    def add(self, document: Document | Reject) -> None:
        if isinstance(document, Document):
            self.documents.append(document)
            self.size += document.size
        else:
            self.rejects.append(document)


def read_groups(
    folder: Path, files: Iterable[InboxFile], known: Mapping[str, FileState], dataset: bool
) -> Iterator[DocumentGroup]:
    """Yield the documents of the files, in order. A file that has changed since the scan is left to a later one."""
    group = DocumentGroup()
    for file in files:
        if os.path.splitext(file.source)[1].lower() == LINES:
            if group.sources:
                yield group
                group = DocumentGroup()
            yield from _read_lines(folder, file, known.get(file.source), dataset)
            continue
        _read_document(folder, file, known.get(file.source), dataset, group)
        if group.full:
            yield group
            group = DocumentGroup()
    if group.sources:
        yield group


def _read_document(folder: Path, file: InboxFile, known: FileState | None, dataset: bool, group: DocumentGroup) -> None:
    refused = FileState(file.size, file.mtime_ns, b"", "rejected")
    if file.size > GATE.bytes:
        reason = f"it has {file.size} bytes; the limit of bytes is {GATE.bytes}"
        group.rejects.append(Reject(file.source, "gate", reason, "split it into smaller documents"))
        group.sources[file.source] = refused
        return
    try:
        content = read_inbox_file(folder, file)
    except OSError as error:
        group.rejects.append(_unreadable(file, error))
        group.sources[file.source] = refused
        return
    if content is None:
        return
    digest = hashlib.sha256(content).digest()
    group.sources[file.source] = FileState(file.size, file.mtime_ns, digest, "accepted")
    if known is None or known.digest != digest or known.outcome != "accepted":
        group.add(Document(file.source, content, media_type_of(file.source), dataset=dataset))


def _read_lines(folder: Path, file: InboxFile, known: FileState | None, dataset: bool) -> Iterator[DocumentGroup]:
    try:
        with open_inbox_file(folder, file) as descriptor:
            if descriptor is not None:
                yield from _read_open_lines(LineReader(descriptor, file, known), file, dataset)
    except OSError as error:
        yield DocumentGroup(rejects=[_unreadable(file, error)], sources={file.source: read_wholly(file)})


def _read_open_lines(reader: LineReader, file: InboxFile, dataset: bool) -> Iterator[DocumentGroup]:
    group = DocumentGroup()
    try:
        for line in reader:
            if not line.isspace():
                group.add(document_of_line(line, file.source, reader.number, dataset))
            if group.full:
                group.sources[file.source] = reader.state()
                yield group
                group = DocumentGroup()
    except LongLine:
        reason = f"the line has more than {LINE_BYTES} bytes; neither it nor what follows is read"
        group.rejects.append(Reject(file.source, "gate", reason, "split the document", reader.number))
        group.sources[file.source] = read_wholly(file)
    else:
        group.sources[file.source] = reader.state()
    yield group


def _unreadable(file: InboxFile, error: OSError) -> Reject:
    return Reject(file.source, "gate", f"cannot be read: {error.strerror}", "make it readable, then touch it")
