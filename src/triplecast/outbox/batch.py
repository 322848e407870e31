"""What one commit of the outbox takes: columns, as matching gives them, so that no row is an object on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from triplecast.model.match import Awaited, MatchedBatch, Undecided
from triplecast.model.open_rows import OpenRows
from triplecast.model.publication import Publication

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class OutboxBatch:
    """Matches of publications in order of position.

    `publication`, also of undecided and awaited pairs, counts within `positions`; the rows are sorted by (publication,
    registration) without duplicates; row i has the bindings ``bindings[bindings_offsets[i]:bindings_offsets[i + 1]]``
    (UTF-8 JSON, as `MatchedBatch` has it). Construction raises ValueError where this does not hold.
    """

    positions: NDArray[np.int64]
    """Strictly increasing; publications that nothing matched may be left out."""
    graphs: tuple[str, ...]
    versions: tuple[int, ...]
    accepted_at: tuple[str, ...]
    publication: NDArray[np.int32]
    registration: NDArray[np.int64]
    bindings_offsets: NDArray[np.int64]
    bindings: NDArray[np.uint8]
    undecided: tuple[Undecided, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    """Open pairs, whose operators have not answered yet; sorted."""
    change: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Of each row, by its number in `model.match.CHANGES`; given as empty for additions alone."""

    def __post_init__(self) -> None:
        count, rows = len(self.positions), len(self.publication)
        if not len(self.change):
            object.__setattr__(self, "change", np.zeros(rows, np.uint8))
        if not (count == len(self.graphs) == len(self.versions) == len(self.accepted_at)):
            raise ValueError("an outbox batch has one graph, version and time for each position")
        if not (rows == len(self.registration) == len(self.bindings_offsets) - 1 == len(self.change)):
            raise ValueError("an outbox batch has one registration, slice of bindings and change for each row")
        if (np.diff(self.positions) <= 0).any():
            raise ValueError("positions of an outbox batch must increase")
        step = np.diff(self.publication)
        if ((step < 0) | ((step == 0) & (np.diff(self.registration) <= 0))).any():
            raise ValueError("rows of an outbox batch must be sorted by publication and registration, each pair once")
        used = [int(self.publication[0]), int(self.publication[-1])] if rows else []
        if any(not 0 <= index < count for index in (*used, *self._named())):
            raise ValueError("a row of an outbox batch names a publication that the batch does not have")

    def _named(self) -> Iterator[int]:
        """Publications that pairs without rows name."""
        yield from (pair.publication for pair in self.undecided)
        yield from (pair.publication for pair in self.awaited)

    @classmethod
    def of(cls, publications: Sequence[Publication], matched: MatchedBatch) -> OutboxBatch:
        """The batch of what matching `publications` (by position) gave."""
        return cls(
            np.array([publication.position for publication in publications], np.int64),
            tuple(publication.graph for publication in publications),
            tuple(publication.version for publication in publications),
            tuple(publication.accepted_at for publication in publications),
            matched.publication,
            matched.registration,
            matched.bindings_offsets,
            matched.bindings,
            matched.undecided,
            tuple(awaited_pairs(publications, matched.open)),
            matched.change,
        )

    @classmethod
    def joined(cls, batches: Sequence[OutboxBatch]) -> OutboxBatch:
        """One batch of several that cover separate ranges of positions, given in any order."""
        ordered = sorted(
            (batch for batch in batches if len(batch.positions)), key=lambda batch: int(batch.positions[0])
        )
        shifts = np.cumsum([0, *(len(batch.positions) for batch in ordered)]).tolist()
        starts = np.cumsum([0, *(batch.bindings_offsets[-1] for batch in ordered)]).tolist()
        return cls(
            _concatenated([batch.positions for batch in ordered], np.int64),
            tuple(graph for batch in ordered for graph in batch.graphs),
            tuple(version for batch in ordered for version in batch.versions),
            tuple(at for batch in ordered for at in batch.accepted_at),
            _concatenated([batch.publication + shift for batch, shift in zip(ordered, shifts, strict=False)], np.int32),
            _concatenated([batch.registration for batch in ordered], np.int64),
            _concatenated(
                [
                    np.zeros(1, np.int64),
                    *(batch.bindings_offsets[1:] + start for batch, start in zip(ordered, starts, strict=False)),
                ],
                np.int64,
            ),
            _concatenated([batch.bindings[: batch.bindings_offsets[-1]] for batch in ordered], np.uint8),
            tuple(
                Undecided(pair.publication + shift, pair.registration, pair.reason)
                for batch, shift in zip(ordered, shifts, strict=False)
                for pair in batch.undecided
            ),
            tuple(
                pair._replace(publication=pair.publication + shift)
                for batch, shift in zip(ordered, shifts, strict=False)
                for pair in batch.awaited
            ),
            _concatenated([batch.change for batch in ordered], np.uint8),
        )

    def part(self, first: int, last: int) -> OutboxBatch:
        """The publications ``[first, last)`` and what is told of them."""
        start, end = np.searchsorted(self.publication, (first, last)).tolist()
        offsets = self.bindings_offsets[start : end + 1]
        return OutboxBatch(
            self.positions[first:last],
            self.graphs[first:last],
            self.versions[first:last],
            self.accepted_at[first:last],
            self.publication[start:end] - np.int32(first),
            self.registration[start:end],
            offsets - offsets[0],
            self.bindings[offsets[0] : offsets[-1]],
            tuple(
                Undecided(pair.publication - first, pair.registration, pair.reason)
                for pair in self.undecided
                if first <= pair.publication < last
            ),
            tuple(
                pair._replace(publication=pair.publication - first)
                for pair in self.awaited
                if first <= pair.publication < last
            ),
            self.change[start:end],
        )

    def only(self, kept: NDArray[np.bool_]) -> OutboxBatch:
        """The same publications with these of the rows."""
        if kept.all():
            return self
        lengths = np.diff(self.bindings_offsets)
        offsets = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(lengths[kept], out=offsets[1:])
        used = self.bindings[self.bindings_offsets[0] : self.bindings_offsets[-1]]
        return replace(
            self,
            publication=self.publication[kept],
            registration=self.registration[kept],
            bindings_offsets=offsets,
            bindings=used[np.repeat(kept, lengths)],
            change=self.change[kept],
        )

    def of_pairs(self, pairs: Iterable[tuple[int, int]]) -> OutboxBatch:
        """The same publications with the rows and undecided pairs of these pairs of position and registration."""
        wanted = set(pairs)
        kept = np.zeros(len(self.publication), np.bool_)
        near = np.isin(self.registration, [registration for _, registration in wanted])
        for row in np.flatnonzero(near).tolist():
            kept[row] = (int(self.positions[self.publication[row]]), int(self.registration[row])) in wanted
        undecided = (
            pair for pair in self.undecided if (int(self.positions[pair.publication]), pair.registration) in wanted
        )
        return replace(self.only(kept), undecided=tuple(undecided))

    def texts(self, start: int) -> Iterator[str]:
        """The bindings of each row from `start` on."""
        raw = self.bindings.tobytes()
        offsets = self.bindings_offsets[start:].tolist()
        slices = map(slice, offsets, offsets[1:])
        if raw.isascii():
            return map(raw.decode("ascii").__getitem__, slices)
        return (raw[part].decode() for part in slices)

    def digest_of(self, publication: int) -> bytes:
        """`digest` of its rows."""
        start, end = np.searchsorted(self.publication, (publication, publication + 1)).tolist()
        return self.digest(start, end)

    def digest(self, start: int, end: int) -> bytes:
        """Return 16 bytes that tell the rows ``[start, end)`` of one publication from others."""
        offsets = self.bindings_offsets[start : end + 1]
        state = hashlib.blake2b(self.registration[start:end].astype("<i8").tobytes(), digest_size=16)
        state.update((offsets - offsets[0]).astype("<i8").tobytes())
        state.update(self.bindings[offsets[0] : offsets[-1]].tobytes())
        state.update(self.change[start:end].tobytes())
        return state.digest()


def awaited_pairs(publications: Sequence[Publication], open_rows: OpenRows) -> Iterator[Awaited]:
    """The pairs of open rows; `publications` are theirs, by position, maybe among others."""
    places = {each.position: place for place, each in enumerate(publications)}
    pairs = zip(open_rows.position.tolist(), open_rows.registration.tolist(), open_rows.reasons, strict=True)
    return (Awaited(places[position], registration, reason) for position, registration, reason in pairs)


def _concatenated(arrays: Sequence[NDArray[_Number]], dtype: type[_Number]) -> NDArray[_Number]:
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.zeros(0, dtype)
