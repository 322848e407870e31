"""What one commit of the outbox takes: columns, as matching gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.model.match import MatchedBatch
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication

DECODED_AT_ONCE = 4 << 20


class PublicationName(NamedTuple):
    """A publication as notifications name it."""

    position: int
    graph: str
    version: int
    accepted_at: str


class OutboxRow(NamedTuple):
    """A match: of a publication by position, and a registration."""

    position: int
    registration: int
    change: int
    bindings: str


@dataclass(frozen=True, slots=True)
class OutboxBatch:
    """Matches, undecided pairs and pending pairs of publications, which positions name.

    Rows are sorted by (position, registration), each pair once; row i has the bindings
    ``bindings[bindings_offsets[i]:bindings_offsets[i + 1]]`` (UTF-8 JSON, as `MatchedBatch` has it). Raises ValueError
    where this does not hold.
    """

    publications: tuple[PublicationName, ...]
    """By position; those without rows and pairs may be left out."""
    position: NDArray[np.int64]
    registration: NDArray[np.int64]
    change: NDArray[np.uint8]
    """By its number in `model.match.CHANGES`."""
    bindings_offsets: NDArray[np.int64]
    bindings: NDArray[np.uint8]
    undecided: tuple[PairReason, ...] = ()
    awaited: tuple[PairReason, ...] = ()
    """Pending pairs, whose operators have not answered yet."""

    def __post_init__(self) -> None:
        rows = len(self.position)
        if not (rows == len(self.registration) == len(self.bindings_offsets) - 1 == len(self.change)):
            raise ValueError("an outbox batch has one registration, slice of bindings and change for each row")
        if any(one.position >= other.position for one, other in pairwise(self.publications)):
            raise ValueError("positions of an outbox batch must increase")
        step = np.diff(self.position)
        if ((step < 0) | ((step == 0) & (np.diff(self.registration) <= 0))).any():
            raise ValueError("rows of an outbox batch must be sorted by position and registration, each pair once")
        pairs = {pair.position for pair in (*self.undecided, *self.awaited)}
        if not {*np.unique(self.position).tolist(), *pairs} <= {each.position for each in self.publications}:
            raise ValueError("a row of an outbox batch names a publication that the batch does not have")

    @classmethod
    def of(cls, publications: Sequence[Publication], matched: MatchedBatch) -> OutboxBatch:
        """The batch of what matching `publications` (by position) gave."""
        position = np.array([each.position for each in publications], np.int64)[matched.publication]
        undecided, awaited = matched.undecided_at(publications), matched.open.awaited()
        named = {*np.unique(position).tolist(), *(pair.position for pair in (*undecided, *awaited))}
        return cls(
            tuple(
                PublicationName(each.position, each.graph, each.version, each.accepted_at)
                for each in publications
                if each.position in named
            ),
            position,
            matched.registration,
            matched.change,
            matched.bindings_offsets,
            matched.bindings[: matched.bindings_offsets[-1]],
            undecided,
            awaited,
        )

    @classmethod
    def joined(cls, batches: Sequence[OutboxBatch]) -> OutboxBatch:
        """One batch of several that cover separate ranges of positions, given in any order."""
        ordered = sorted((batch for batch in batches if batch.publications), key=lambda batch: batch.publications[0])
        lengths = [np.zeros(1, np.int64), *(np.diff(batch.bindings_offsets) for batch in ordered)]
        return cls(
            tuple(name for batch in ordered for name in batch.publications),
            np.concatenate([np.zeros(0, np.int64), *(batch.position for batch in ordered)]),
            np.concatenate([np.zeros(0, np.int64), *(batch.registration for batch in ordered)]),
            np.concatenate([np.zeros(0, np.uint8), *(batch.change for batch in ordered)]),
            np.cumsum(np.concatenate(lengths)),
            np.concatenate([np.zeros(0, np.uint8), *(batch.bindings for batch in ordered)]),
            tuple(pair for batch in ordered for pair in batch.undecided),
            tuple(pair for batch in ordered for pair in batch.awaited),
        )

    def between(self, after: int, upto: int) -> OutboxBatch:
        """What there is of publications at positions in (`after`, `upto`]."""
        first, last = np.searchsorted(self.position, (after, upto), side="right").tolist()
        offsets = self.bindings_offsets[first : last + 1]
        return OutboxBatch(
            tuple(name for name in self.publications if after < name.position <= upto),
            self.position[first:last],
            self.registration[first:last],
            self.change[first:last],
            offsets - offsets[0],
            self.bindings[offsets[0] : offsets[-1]],
            tuple(pair for pair in self.undecided if after < pair.position <= upto),
            tuple(pair for pair in self.awaited if after < pair.position <= upto),
        )

    def rows(self) -> list[OutboxRow]:
        columns = (self.position.tolist(), self.registration.tolist(), self.change.tolist(), self._texts())
        return list(map(OutboxRow, *columns))

    def _texts(self) -> Iterator[str]:
        """The bindings of each row, decoded some megabytes at a time."""
        ends, first = self.bindings_offsets[1:], 0
        while first < len(ends):
            start = int(self.bindings_offsets[first])
            last = max(first + 1, int(np.searchsorted(ends, start + DECODED_AT_ONCE, side="right")))
            raw = self.bindings[start : ends[last - 1]].tobytes()
            offsets = (self.bindings_offsets[first : last + 1] - start).tolist()
            slices = map(slice, offsets, offsets[1:])
            yield from (
                map(raw.decode().__getitem__, slices) if raw.isascii() else (raw[part].decode() for part in slices)
            )
            first = last

    def digests(self) -> dict[int, bytes]:
        """Return, by position, 16 bytes that tell the rows of a publication from others."""
        positions, starts = np.unique(self.position, return_index=True)
        ends = [*starts[1:].tolist(), len(self.position)]
        found = {}
        for position, start, end in zip(positions.tolist(), starts.tolist(), ends, strict=False):
            offsets = self.bindings_offsets[start : end + 1]
            state = hashlib.blake2b(self.registration[start:end].astype("<i8").tobytes(), digest_size=16)
            state.update((offsets - offsets[0]).astype("<i8").tobytes())
            state.update(np.ascontiguousarray(self.bindings[offsets[0] : offsets[-1]]).data)
            state.update(self.change[start:end].tobytes())
            found[position] = state.digest()
        return found


NO_ROWS = hashlib.blake2b(np.zeros(1, "<i8").tobytes(), digest_size=16).digest()
"""The digest of a publication without rows."""
