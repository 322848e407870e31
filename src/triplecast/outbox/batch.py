"""What one commit of the outbox takes: columns, as matching gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.render import join_sheets
from triplecast.model.match import CHANGES, MatchedBatch, order_pairs
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication


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


def distinct(ascending: NDArray[Any]) -> list[int]:
    """Return the numbers of an ascending array, each once."""
    if not len(ascending) or ascending[0] == ascending[-1]:
        return list(ascending[:1].tolist())
    return list(ascending[np.flatnonzero(np.diff(ascending, prepend=ascending[0] - 1))].tolist())


def check_changes(change: NDArray[np.uint8]) -> None:
    """Raise ValueError for a number that is not in `model.match.CHANGES`, which kernels would read beyond."""
    if change.max(initial=0) >= len(CHANGES):
        raise ValueError(f"a row of an outbox has a change of number {change.max()}, which is not known")


@dataclass(frozen=True, slots=True)
class OutboxBatch:
    """Matches, undecided pairs and pending pairs of publications, which positions name.

    Rows are sorted by (position, registration), each pair once. Rows with the same bindings may share a *sheet*: row i
    has the bindings ``bindings[offsets[sheet[i]]:offsets[sheet[i] + 1]]`` (UTF-8 JSON, as `MatchedBatch` has it).
    Raises ValueError where this does not hold.
    """

    publications: tuple[PublicationName, ...]
    """By position; those without rows and pairs may be left out."""
    position: NDArray[np.int64]
    registration: NDArray[np.int64]
    change: NDArray[np.uint8]
    """By its number in `model.match.CHANGES`."""
    sheet: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """[sheets + 1]"""
    bindings: NDArray[np.uint8]
    undecided: tuple[PairReason, ...] = ()
    awaited: tuple[PairReason, ...] = ()
    """Pending pairs, whose operators have not answered yet."""

    def __post_init__(self) -> None:
        rows = len(self.position)
        if not (rows == len(self.registration) == len(self.sheet) == len(self.change)):
            raise ValueError("an outbox batch has one registration, sheet and change for each row")
        if rows and not 0 <= self.sheet.min() <= self.sheet.max() < len(self.offsets) - 1:
            raise ValueError("a row of an outbox batch has a sheet that the batch does not have")
        if any(one.position >= other.position for one, other in pairwise(self.publications)):
            raise ValueError("positions of an outbox batch must increase")
        check_changes(self.change)
        position, registration = self.position, self.registration
        rising, alike = registration[1:] > registration[:-1], position[1:] == position[:-1]
        if not alike.all():
            rising = (position[1:] > position[:-1]) | (alike & rising)
        if not rising.all():
            raise ValueError("rows of an outbox batch must be sorted by position and registration, each pair once")
        pairs = {pair.position for pair in (*self.undecided, *self.awaited)}
        if not {*distinct(self.position), *pairs} <= {each.position for each in self.publications}:
            raise ValueError("a row of an outbox batch names a publication that the batch does not have")

    @classmethod
    def of(cls, publications: Sequence[Publication], matched: MatchedBatch) -> OutboxBatch:
        """The batch of what matching `publications` (by position) gave."""
        if not (len(matched) or matched.undecided or matched.open.pairs):
            return NOTHING
        position = np.array([each.position for each in publications], np.int64)[matched.publication]
        undecided, awaited = matched.undecided_at(publications), matched.open.awaited()
        named = {*distinct(position), *(pair.position for pair in (*undecided, *awaited))}
        return cls(
            tuple(
                PublicationName(each.position, each.graph, each.version, each.accepted_at)
                for each in publications
                if each.position in named
            ),
            position,
            matched.registration,
            matched.change,
            matched.sheet,
            matched.offsets,
            matched.bindings,
            undecided,
            awaited,
        )

    @classmethod
    def of_rows(
        cls,
        rows: Sequence[OutboxRow],
        names: Mapping[int, PublicationName],
        undecided: tuple[PairReason, ...] = (),
        awaited: tuple[PairReason, ...] = (),
    ) -> OutboxBatch:
        """The batch of sorted rows and pairs; `names`: of their publications by position."""
        texts = [row.bindings.encode() for row in rows]
        return cls(
            tuple(
                names[each] for each in sorted({row[0] for row in rows} | {pair[0] for pair in (*undecided, *awaited)})
            ),
            np.array([row.position for row in rows], np.int64),
            np.array([row.registration for row in rows], np.int64),
            np.array([row.change for row in rows], np.uint8),
            np.arange(len(rows), dtype=np.int32),
            np.cumsum([0, *map(len, texts)], dtype=np.int64),
            np.frombuffer(b"".join(texts), np.uint8),
            undecided,
            awaited,
        )

    @classmethod
    def joined(cls, batches: Sequence[OutboxBatch]) -> OutboxBatch:
        """One batch of several that cover separate ranges of positions, given in any order."""
        ordered = sorted((batch for batch in batches if batch.publications), key=lambda batch: batch.publications[0])
        if len(ordered) == 1:
            return ordered[0]
        return cls(
            tuple(name for batch in ordered for name in batch.publications),
            np.concatenate([np.zeros(0, np.int64), *(batch.position for batch in ordered)]),
            np.concatenate([np.zeros(0, np.int64), *(batch.registration for batch in ordered)]),
            np.concatenate([np.zeros(0, np.uint8), *(batch.change for batch in ordered)]),
            *join_sheets([(batch.sheet, batch.offsets, batch.bindings) for batch in ordered]),
            tuple(pair for batch in ordered for pair in batch.undecided),
            tuple(pair for batch in ordered for pair in batch.awaited),
        )

    @classmethod
    def merged(cls, batches: Sequence[OutboxBatch]) -> OutboxBatch:
        """One batch of several that have different pairs, of the same publications or of others."""
        some = [batch for batch in batches if batch.publications]
        if len(some) <= 1:
            return some[0] if some else NOTHING
        names = {name.position: name for batch in some for name in batch.publications}
        position = np.concatenate([batch.position for batch in some])
        registration = np.concatenate([batch.registration for batch in some])
        sheet, offsets, text = join_sheets([(batch.sheet, batch.offsets, batch.bindings) for batch in some])
        order = order_pairs(position, registration)
        undecided = tuple(sorted(pair for batch in some for pair in batch.undecided))
        awaited = tuple(sorted(pair for batch in some for pair in batch.awaited))
        used = {*distinct(position[order]), *(pair.position for pair in (*undecided, *awaited))}
        if not used:
            return NOTHING
        return cls(
            tuple(names[each] for each in sorted(used)),
            position[order],
            registration[order],
            np.concatenate([batch.change for batch in some])[order],
            sheet[order],
            offsets,
            text,
            undecided,
            awaited,
        )

    def between(self, after: int, upto: int) -> OutboxBatch:
        """What there is of publications at positions in (`after`, `upto`]."""
        names = self.publications
        if not names or (after < names[0].position and names[-1].position <= upto):
            return self
        first, last = np.searchsorted(self.position, (after, upto), side="right").tolist()
        return self._rows(
            slice(first, last),
            tuple(name for name in names if after < name.position <= upto),
            tuple(pair for pair in self.undecided if after < pair.position <= upto),
            tuple(pair for pair in self.awaited if after < pair.position <= upto),
        )

    def only(self, kept: NDArray[np.bool_]) -> OutboxBatch:
        """Only those rows, with all publications; no pairs."""
        return self._rows(kept, self.publications, (), ())

    def row_pairs(self) -> Iterator[tuple[int, int]]:
        """Position and registration of each row."""
        return zip(self.position.tolist(), self.registration.tolist(), strict=True)

    def pairs(self, wanted: Callable[[tuple[int, int]], bool]) -> OutboxBatch:
        """Only the wanted pairs (position, registration)."""
        kept = self.only(np.array([wanted(pair) for pair in self.row_pairs()], np.bool_))
        undecided = tuple(pair for pair in self.undecided if wanted(pair[:2]))
        return replace(kept, undecided=undecided, awaited=tuple(pair for pair in self.awaited if wanted(pair[:2])))

    def _rows(
        self,
        rows: slice | NDArray[np.bool_],
        publications: tuple[PublicationName, ...],
        undecided: tuple[PairReason, ...],
        awaited: tuple[PairReason, ...],
    ) -> OutboxBatch:
        """Some rows, with the sheets that they need."""
        sheets = join_sheets([(self.sheet[rows], self.offsets, self.bindings)])
        columns = self.position[rows], self.registration[rows], self.change[rows]
        return OutboxBatch(publications, *columns, *sheets, undecided, awaited)

    def cut(self, size: int) -> Iterator[OutboxBatch]:
        """The batch in pieces of whole publications with at most `size` bytes of rows, or of one publication."""
        positions = [name.position for name in self.publications]
        if self.offsets[-1] + 16 * len(self.position) <= size or len(positions) <= 1:
            yield self
            return
        lengths = np.diff(self.offsets)[self.sheet] + 16
        ends = np.cumsum([0, *lengths])[[0, *np.searchsorted(self.position, positions, side="right")]]
        first = 0
        while first < len(positions):
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + size, side="right")) - 1)
            yield self.between(positions[first] - 1, positions[last - 1])
            first = last

    def rows(self) -> list[OutboxRow]:
        raw, ends = self.bindings.tobytes(), self.offsets.tolist()
        texts = [raw[start:end].decode() for start, end in pairwise(ends)]
        columns = (self.position.tolist(), self.registration.tolist(), self.change.tolist())
        return list(map(OutboxRow, *columns, map(texts.__getitem__, self.sheet.tolist())))


NOTHING = OutboxBatch.of_rows([], {})
