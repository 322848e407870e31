"""Read a ``.jsonl`` file of publications in parts. A digest records how far it was read, so that a restart continues
there and a file that has only grown gives only its new lines."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator

from triplecast.ingest.inbox import InboxFile, is_unchanged
from triplecast.ingest.limits import GATE
from triplecast.model.file_state import FileState

LINE_BYTES = 8 * GATE.bytes
"""Most bytes of a line: a document of the largest size fits with every character escaped."""

_PIECE = 4 << 20
_READ = re.compile(r"read (\d+) bytes, (\d+) lines")


class LongLine(Exception):
    """A line of more than `LINE_BYTES` bytes."""


def is_whole(state: FileState) -> bool:
    """Whether the whole file was read, not only its first lines."""
    part = _READ.fullmatch(state.outcome)
    return part is None or int(part[1]) >= state.size


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
