"""The table of chunks: a commit appends one or more, and small ones that follow each other are merged, so that a reader
finds its rows in few.

Each row of a chunk is written again at most once for each of `LEVELS`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.kernels.layout import I64
from triplecast.outbox.batch import OutboxBatch
from triplecast.outbox.chunk import (
    CHUNK_BYTES,
    Chunk,
    digests_of,
    may_have,
    read_chunk,
    registration_filter,
    write_chunk,
)
from triplecast.outbox.tables import damaged
from triplecast.sqlite import SqliteFile

LEVELS = (4 << 10, 256 << 10)
"""`MERGED` last chunks of fewer bytes become one."""
MERGED = 64
_REMEMBERED = MERGED * len(LEVELS)
_KEPT_BYTES = 1 << 20
"""Of the last chunks, which are kept until they are merged."""
_NUMBERED = "number, first, last, first_position, last_position, late, body_crc"
_NUMBERS = struct.Struct("<qqqqqq")


class Chunked(NamedTuple):
    """A chunk that is to be written."""

    rows: int
    first_position: int
    """Of its publications, in order of position."""
    last_position: int
    late: bool
    """Whether it is of pending pairs that were settled, and of rows withheld behind them."""
    filter: bytes
    """`chunk.registration_filter`"""
    body: bytes
    content: ChunkContent

    @classmethod
    def of(cls, batch: OutboxBatch, digests: NDArray[np.uint64], late: bool = False) -> Chunked:
        first, last = batch.publications[0].position, batch.publications[-1].position
        filter = registration_filter(batch.registration)
        body = write_chunk(batch, digests)
        return cls(len(batch.position), first, last, late, filter, body, ChunkContent(batch, digests))


class ChunkContent(NamedTuple):
    """What the body of a chunk says."""

    batch: OutboxBatch
    digests: NDArray[np.uint64]


class StoredChunk(NamedTuple):
    """A chunk as it is stored, verified."""

    first: int
    """Sequence of its first row; `last` + 1 where it has no rows."""
    last: int
    first_position: int
    last_position: int
    late: int
    content: Chunk | None
    """None for one that was asked for rows of registrations that it lacks."""


def chunks_of(batch: OutboxBatch, digests: Mapping[int, int]) -> Iterator[Chunked]:
    """The chunks of rows that were decided without operators; `digests` (`digests_by_position`) are of these and of
    those that are withheld."""
    for piece in batch.cut(CHUNK_BYTES):
        mine = np.array([digests.get(name.position, 0) for name in piece.publications], np.uint64)
        if mine.any():
            yield Chunked.of(piece, mine)


def digests_by_position(batch: OutboxBatch) -> dict[int, int]:
    """Return the digests of the publications that have rows."""
    digests = zip(batch.publications, digests_of(batch).tolist(), strict=True)
    return {name.position: digest for name, digest in digests if digest}


def kept_digests(database: SqliteFile, after: int, upto: int) -> dict[int, int]:
    """Of the publications at positions in (`after`, `upto`] that had rows which were decided without operators."""
    kept: dict[int, int] = {}
    with closing(read_chunks(database, "WHERE late = 0 ORDER BY number DESC")) as chunks:
        for last_position, content in ((chunk.last_position, chunk.content) for chunk in chunks):
            if last_position <= after:
                break
            assert content is not None
            named = zip(content.publications, content.digests.tolist(), strict=True)
            kept.update((name.position, digest) for name, digest in named if digest and after < name.position <= upto)
    return kept


def read_chunks(
    database: SqliteFile, condition: str, values: Sequence[object] = (), wanted: I64 | None = None
) -> Generator[StoredChunk, None, None]:
    """Yield verified chunks, one after the other, but not the contents of those without rows of the registrations that
    are `wanted`. The caller holds the lock of the file meanwhile."""
    for *row, filter, crc in database.each(f"SELECT {_NUMBERED}, filter, crc FROM chunk {condition}", values):
        number, *numbers, body_crc = row
        first, last, first_position, last_position, late = numbers
        content = None
        try:
            sound = _checksum(numbers, filter, body_crc) == crc
            if sound and (wanted is None or may_have(filter, wanted)):
                ((body,),) = database.ask("SELECT body FROM chunk WHERE number = ?", (number,))
                content = read_chunk(body) if zlib.crc32(body) == body_crc else None
                sound = content is not None and len(content.registration) == last - first + 1
        except (struct.error, TypeError, ValueError):  # numbers or bytes that are none now
            sound = False
        if not sound:
            raise damaged(database.where, f"the chunk of notifications {first!r} to {last!r}")
        yield StoredChunk(first, last, first_position, last_position, late, content)


def _checksum(numbers: Sequence[int], filter: bytes, body_crc: int) -> int:
    """The CRC-32 of the numbers of a chunk and the CRC-32 of its body (64 bits each, little endian), and its filter."""
    return zlib.crc32(filter, zlib.crc32(_NUMBERS.pack(*numbers, body_crc)))


class ChunkWriter:
    """Appends chunks, and merges the last ones. What it remembers of them holds until a transaction fails."""

    def __init__(self, database: SqliteFile) -> None:
        self._database = database
        self._last = 0
        """Number of the last chunk."""
        self._sizes: list[int] | None = None
        """In bytes, of the last chunks that may be merged, the last one last."""
        self._kept: dict[int, tuple[int, Chunked]] = {}
        """First sequence and content of the last ones by number, in order: they need not be read back to be merged."""
        self._kept_bytes = 0

    def forget(self) -> None:
        """Forget what a transaction that failed, or one that pruned, may have left here."""
        self._sizes = None
        self._kept.clear()
        self._kept_bytes = 0

    def append(self, first: int, chunks: Iterable[Chunked]) -> int:
        """Insert chunks with notifications from sequence `first`; return the next sequence."""
        sizes = self._read_sizes() if self._sizes is None else self._sizes
        self._sizes = None
        for chunk in chunks:
            self._insert(first, chunk)
            sizes = [] if chunk.late else [*sizes, len(chunk.body)][-_REMEMBERED:]
            first += chunk.rows
        for level in LEVELS:
            small = next((at for at, size in enumerate(reversed(sizes)) if size >= level), len(sizes))
            if small >= MERGED:
                sizes = [*sizes[:-small], *self._merge(small)]
        self._sizes = sizes
        return first

    def _read_sizes(self) -> list[int]:
        statement = "SELECT number, late, length(body) FROM chunk ORDER BY number DESC LIMIT ?"
        rows = self._database.ask(statement, (_REMEMBERED,))
        self._last = rows[0][0] if rows else 0
        return [size for _, _, size in takewhile(lambda row: not row[1], rows)][::-1]

    def _insert(self, first: int, chunk: Chunked) -> None:
        self._last += 1
        numbers = first, first + chunk.rows - 1, chunk.first_position, chunk.last_position, int(chunk.late)
        body_crc = zlib.crc32(chunk.body)
        row = self._last, *numbers, body_crc, chunk.filter, _checksum(numbers, chunk.filter, body_crc), chunk.body
        self._database.run(f"INSERT INTO chunk({_NUMBERED}, filter, crc, body) VALUES ({'?, ' * 9}?)", [row])
        self._kept[self._last] = first, chunk
        self._kept_bytes += len(chunk.body)
        while self._kept_bytes > _KEPT_BYTES or len(self._kept) > _REMEMBERED:
            self._take(next(iter(self._kept)))

    def _merge(self, count: int) -> list[int]:
        """Put one chunk in the place of the last `count`; return its size. Damaged ones stay as they are."""
        after = self._last - count
        try:
            first, contents = self._read_last(after)
        except StorageFault:
            return []
        batch = OutboxBatch.joined([content.batch for content in contents])
        merged = Chunked.of(batch, np.concatenate([content.digests for content in contents]))
        self._database.run("DELETE FROM chunk WHERE number > ?", [(after,)])
        self._last = after
        reach("outbox.chunks-merged")
        self._insert(first, merged)
        return [len(merged.body)]

    def _read_last(self, after: int) -> tuple[int, list[ChunkContent]]:
        """The first sequence and the contents of the chunks beyond number `after`, which are kept no longer."""
        kept = [self._take(number) for number in range(after + 1, self._last + 1)]
        known = [each for each in kept if each is not None]
        if len(known) == len(kept):
            return known[0][0], [chunk.content for _, chunk in known]
        chunks = [*read_chunks(self._database, "WHERE number > ? ORDER BY number", (after,))]
        contents = [chunk.content for chunk in chunks if chunk.content is not None]
        return chunks[0].first, [ChunkContent(content.batch(), content.digests) for content in contents]

    def _take(self, number: int) -> tuple[int, Chunked] | None:
        """What is kept of a chunk, no longer."""
        found = self._kept.pop(number, None)
        self._kept_bytes -= len(found[1].body) if found else 0
        return found
