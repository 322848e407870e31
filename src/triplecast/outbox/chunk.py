"""A chunk: the rows of one commit as the outbox stores them, a few arrays in one blob (docs/storage.md)."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I64
from triplecast.kernels.render import RowColumns, digest_rows
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import OutboxBatch, PublicationName, check_changes
from triplecast.outbox.distinct import distinct

CHUNK_BYTES = 32 << 20
"""Of rows in one chunk, unless one publication alone has more."""
FILTERED = 4_096
"""A chunk of so many rows has a filter, of two bytes or more for each registration."""
_HEADER = struct.Struct("<6Q")
_Number = TypeVar("_Number", bound=np.generic)
_WIDE, _CHANGES = 1, 2
"""Flags: registrations have 64 bits, not 32; there are changes other than 0."""


class Chunk(NamedTuple):
    """Rows by publication, then by registration, as `OutboxBatch` has them."""

    publications: tuple[PublicationName, ...]
    digests: NDArray[np.uint64]
    """Of all rows that were decided without operators (`digests_of`), also those that are withheld; 0 for none."""
    counts: NDArray[np.uint32]
    """Rows of each publication."""
    registration: NDArray[np.int64]
    change: NDArray[np.uint8]
    sheet: NDArray[np.int32]
    offsets: NDArray[np.int64]
    bindings: NDArray[np.uint8]

    @property
    def position(self) -> NDArray[np.int64]:
        """The position of each row."""
        return np.repeat(np.array([name.position for name in self.publications], np.int64), self.counts)

    def batch(self, undecided: tuple[PairReason, ...] = (), awaited: tuple[PairReason, ...] = ()) -> OutboxBatch:
        """The rows again, with pairs of these publications."""
        columns = self.registration, self.change, self.sheet, self.offsets, self.bindings
        return OutboxBatch(self.publications, self.position, *columns, undecided, awaited)


def digests_of(batch: OutboxBatch) -> NDArray[np.uint64]:
    """Return, for each publication of the batch, 64 bits that tell its rows from others; 0 where it has none."""
    starts = _starts(batch)
    if starts[-1] == 0:
        return np.zeros(len(starts) - 1, np.uint64)
    rows = RowColumns(
        _writable(batch.registration),
        _writable(batch.change),
        _writable(batch.sheet),
        _writable(batch.offsets),
        _writable(batch.bindings),
    )
    digests = digest_rows(starts, rows)
    digests[starts[1:] == starts[:-1]] = 0
    return digests


def _writable(column: NDArray[_Number]) -> NDArray[_Number]:
    """The column as the kernel was compiled for."""
    return column if column.flags.writeable else column.copy()


def write_chunk(batch: OutboxBatch, digests: NDArray[np.uint64]) -> bytes:
    """Encode the rows of a batch: header, the arrays one after the other, wide ones first, and the texts."""
    names = [text.encode() for name in batch.publications for text in (name.graph, name.accepted_at)]
    numbers = [(name.position, name.version) for name in batch.publications]
    size, starts = int(batch.offsets[-1]), _starts(batch)
    wide = int(batch.registration.max(initial=0)) >= 1 << 32
    changes = bool(batch.change.any())
    counts = len(numbers), len(batch.position), len(batch.offsets) - 1, sum(map(len, names)), size
    arrays: list[NDArray[Any]] = [
        np.array(numbers, np.int64),
        digests,
        batch.offsets,
        batch.registration if wide else batch.registration.astype(np.uint32),
        (starts[1:] - starts[:-1]).astype(np.uint32),
        np.array([len(text) for text in names], np.uint32),
        batch.sheet,
        batch.change[: len(batch.change) * changes],
    ]
    header = _HEADER.pack(*counts, wide * _WIDE | changes * _CHANGES)
    return b"".join([header, *(array.tobytes() for array in arrays), *names, batch.bindings[:size].tobytes()])


def read_chunk(body: bytes) -> Chunk:
    """Decode a chunk whose checksum was verified. Raises ValueError or `struct.error` for bytes of another shape."""
    publications, rows, sheets, heap, json, flags = _HEADER.unpack_from(body)
    place = _HEADER.size

    def take(kind: type[_Number], count: int) -> NDArray[_Number]:
        nonlocal place
        found = np.frombuffer(body, kind, count, place)
        place += found.nbytes
        return found

    numbers = take(np.int64, 2 * publications).reshape(-1, 2).tolist()
    digests, offsets = take(np.uint64, publications), take(np.int64, sheets + 1)
    registration = take(np.int64, rows).copy() if flags & _WIDE else take(np.uint32, rows).astype(np.int64)
    counts, lengths = take(np.uint32, publications), take(np.uint32, 2 * publications)
    sheet = take(np.int32, rows)
    change = take(np.uint8, rows).copy() if flags & _CHANGES else np.zeros(rows, np.uint8)
    check_changes(change)
    ends = np.cumsum(lengths, dtype=np.int64) + place
    texts = [body[end - length : end].decode() for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    names = zip(numbers, texts[::2], texts[1::2], strict=True)
    return Chunk(
        tuple(PublicationName(position, graph, version, time) for (position, version), graph, time in names),
        digests,
        counts,
        registration,
        change,
        sheet,
        offsets,
        np.frombuffer(body, np.uint8, json, place + heap),
    )


def registration_filter(registration: I64) -> bytes:
    """Return a bitmap that tells for most registrations that they are not among these; none where they are few."""
    if len(registration) < FILTERED:
        return b""
    numbers, _ = distinct(registration)
    bits = np.zeros(1 << int(16 * len(numbers) - 1).bit_length(), np.bool_)
    bits[_places(numbers, len(bits))] = True
    return np.packbits(bits).tobytes()


def may_have(filter: bytes, registrations: I64) -> bool:
    """Return False only where the rows of a chunk with this filter are of none of the registrations."""
    if not filter:
        return True
    places = _places(registrations, 8 * len(filter))
    return bool((np.frombuffer(filter, np.uint8)[places >> 3] & (0x80 >> (places & 7))).any())


def _places(registrations: I64, bits: int) -> I64:
    mixed = registrations.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(65 - bits.bit_length())).astype(np.int64)


def _starts(batch: OutboxBatch) -> NDArray[np.int64]:
    """[publications + 1] the first row of each."""
    if len(batch.publications) == 1:
        return np.array([0, len(batch.position)], np.int64)
    starts = np.zeros(len(batch.publications) + 1, np.int64)
    starts[1:] = np.searchsorted(batch.position, [name.position for name in batch.publications], side="right")
    return starts
