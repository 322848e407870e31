"""Read files that are ready as groups of documents, each with the states of its files.

A file is read once, because its state is written with its documents in one transaction of the journal. A ``.jsonl``
file is read in parts: a digest records how far, so that a restart continues there and a file that has only grown gives
only its new lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from triplecast.errors import InputError
from triplecast.ingest.attachments import decode_attachments
from triplecast.ingest.document import Document
from triplecast.ingest.gate import GATE
from triplecast.ingest.inbox import LINES, InboxFile, is_unchanged, open_inbox_file, read_inbox_file
from triplecast.ingest.media_types import media_type_of
from triplecast.model.printable import printable_name, shortened
from triplecast.model.publication import FileState, Reject
from triplecast.terms.nearness import nearest_names

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


_WANTED = ("id", "media_type", "data")
_ATTACHED = "attachments"
_WRITE = 'write one object a line: {"id": …, "media_type": …, "data": …}'


def document_of_line(line: bytes, source: str, number: int, dataset: bool = False) -> Document | Reject:
    """Read the document in line `number` of the file `source`. Raises nothing, whatever the line holds.

    The document's source is ``source:number``; a reject of the line itself has the file as its source and the number
    as its line. Other fields are ignored, but for one that resembles a missing ``attachments``.
    """
    try:
        row = json.loads(line)
    except RecursionError:
        return Reject(source, "gate", "is not JSON: it nests too deep", _WRITE, number)
    except ValueError as error:
        return Reject(source, "gate", f"is not JSON: {error}", _WRITE, number)
    if not isinstance(row, dict):
        return Reject(source, "gate", "is no JSON object", _WRITE, number)
    id = row.get("id")
    named = f"{printable_name(shortened(id, 200))}: " if isinstance(id, str) and id else ""

    def refuse(reason: str, hint: str) -> Reject:
        return Reject(source, "gate", named + reason, hint, number)

    for name in _WANTED:
        if not isinstance(row.get(name), str):
            near = nearest_names(name, sorted(row.keys() - set(_WANTED)), 1)
            return refuse(
                f'lacks "{name}" as text',
                f'was "{near[0]}" meant as "{name}"?' if near else "give all three in each line",
            )
    slips = nearest_names(_ATTACHED, sorted(row.keys() - set(_WANTED)), 1) if _ATTACHED not in row else []
    if slips:
        return refuse(f'has an unknown field "{slips[0]}"', f'write "{_ATTACHED}" if that was meant, or rename it')
    try:
        data = row["data"].encode()
        (row["id"] + row["media_type"]).encode()
    except UnicodeEncodeError:
        return refuse("holds half a surrogate pair", "write both halves, or the character")
    try:
        attachments = decode_attachments(row.get(_ATTACHED))
    except InputError as error:
        return refuse(error.what, error.hint)
    return Document(f"{source}:{number}", data, row["media_type"], row["id"], dataset, attachments)


LINE_BYTES = 8 * GATE.bytes
"""Most bytes of a line: a document of the largest size fits with every character escaped."""

_FIRST_REST, _LONGER = 60.0, 5.0
"""Seconds before a file that took too long is parsed again, and how many times as long before each further try."""
_PIECE = 4 << 20
_READ = re.compile(r"read (\d+) bytes, (\d+) lines")


class LongLine(Exception):
    """A line of more than `LINE_BYTES` bytes."""


TRIES = 4
"""How often a file is parsed that takes its parser too long, before it is rejected until it changes."""
_OVERRAN = "overran "


def overrun(state: FileState, before: FileState | None) -> FileState:
    """Return the state of a file that took its parser too long; `before`: its state until then."""
    tries = 1 + (_tries(before) if before is not None and before.digest == state.digest else 0)
    return state._replace(outcome="rejected" if tries >= TRIES else f"{_OVERRAN}{tries}")


def seconds_to_next_try(state: FileState) -> float | None:
    """Return how long a file that took too long rests before it is parsed again; None for any other."""
    return _FIRST_REST * _LONGER ** (tries - 1) if (tries := _tries(state)) else None


def _tries(state: FileState) -> int:
    return int(state.outcome.removeprefix(_OVERRAN)) if state.outcome.startswith(_OVERRAN) else 0


def is_whole(state: FileState) -> bool:
    """Whether nothing of the file is left to read, nor to be tried again."""
    part = _READ.fullmatch(state.outcome)
    return not _tries(state) if part is None else int(part[1]) >= state.size


def read_wholly(file: InboxFile) -> FileState:
    """Return the state of a ``.jsonl`` file that is not read again until it changes."""
    return FileState(file.size, file.mtime_ns, b"", f"read {file.size} bytes, 0 lines")


class LineReader:
    """The lines of an open file that `known` does not cover, the last one even without a newline."""

    def __init__(self, descriptor: int, file: InboxFile, known: FileState | None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._done = 0
        self._hash = hashlib.sha256()
        self.number = 0
        """The number of the last line given, from 1."""
        part = _READ.fullmatch(known.outcome) if known is not None else None
        if known is None or part is None or not self._skip(int(part[1]), known.digest):
            os.lseek(descriptor, 0, os.SEEK_SET)

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines; stop if the file has changed. Raises LongLine."""
        rest = b""
        while piece := os.read(self._descriptor, _PIECE):
            if not is_unchanged(self._descriptor, self._file):
                return
            block = rest + piece
            start = 0
            while (end := block.find(b"\n", start)) >= 0:
                yield self._step(block[start : end + 1])
                start = end + 1
            rest = block[start:]
            if len(rest) > LINE_BYTES:
                self.number += 1
                raise LongLine
        if rest and is_unchanged(self._descriptor, self._file):
            yield self._step(rest)

    def state(self) -> FileState:
        """Return the file's state after the lines given so far."""
        outcome = f"read {self._done} bytes, {self.number} lines"
        return FileState(self._file.size, self._file.mtime_ns, self._hash.digest(), outcome)

    def _step(self, line: bytes) -> bytes:
        self._hash.update(line)
        self._done += len(line)
        self.number += 1
        return line

    def _skip(self, length: int, digest: bytes) -> bool:
        """Skip the first `length` bytes if they have `digest`, back to the start of a line that goes on."""
        whole = hashlib.sha256()
        done = lines = 0
        lines_end, at_end = 0, whole.copy()
        while done < length and (piece := os.read(self._descriptor, min(_PIECE, length - done))):
            cut = piece.rfind(b"\n") + 1
            whole.update(piece[:cut])
            if cut:
                lines_end, at_end = done + cut, whole.copy()
                lines += piece.count(b"\n")
            whole.update(piece[cut:])
            done += len(piece)
        if done < length or whole.digest() != digest:
            return False
        if lines_end < length == self._file.size:
            lines_end, at_end, lines = length, whole, lines + 1
        self._done, self._hash, self.number = lines_end, at_end, lines
        os.lseek(self._descriptor, lines_end, os.SEEK_SET)
        return True
