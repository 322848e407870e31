"""What matching gave for the documents of one call, kept small: solutions as the bytes of the outbox, beyond
`IN_MEMORY` in a temporary file, and an object for each match only while it is read."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, pairwise
from tempfile import TemporaryFile, gettempdir
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, overload
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from triplecast.engine.receipt import Match, Receipt, UndecidedMatch
from triplecast.ingest import ParsedDocument
from triplecast.journal import NOTHING_DROPPED, Acceptance, Accepted, Dropped
from triplecast.model.match import CHANGES, notification_id
from triplecast.model.open_rows import PairReason
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Subscription
from triplecast.outbox.batch import OutboxBatch, PublicationName
from triplecast.storage_faults import storage_faults

IN_MEMORY = 32 << 20
"""Bytes of solutions that the receipts of one call keep in memory."""

_Made = TypeVar("_Made", covariant=True)
Names = Mapping[int, PublicationName]
"""Of publications and removals by position."""


_NO_DOCUMENT = ParsedDocument(())


class _Columns(Protocol[_Made]):
    """Rows of which objects are made when they are read."""

    def make(self, row: int) -> _Made: ...


class FoundRows(Sequence[_Made], Generic[_Made]):
    """Matches or undecided pairs, each made whenever it is read; equal to a tuple of them."""

    def __init__(self, parts: Sequence[tuple[_Columns[_Made], range]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self._parts)

    @overload
    def __getitem__(self, index: int) -> _Made: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[_Made, ...]: ...

    def __getitem__(self, index: int | slice) -> _Made | tuple[_Made, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        left = range(len(self))[index]
        for columns, rows in self._parts:
            if left < len(rows):
                return columns.make(rows[left])
            left -= len(rows)
        raise IndexError(index)

    def __iter__(self) -> Iterator[_Made]:
        return (columns.make(row) for columns, rows in self._parts for row in rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FoundRows | tuple):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"({shown}{f', and {len(self) - 3} more' if len(self) > 3 else ''})"

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (tuple(self),)


class _Store:
    """Bytes of solutions, from any thread: the first as they come, those beyond `IN_MEMORY` in a temporary file. Raises
    `StorageFull` where that has no space."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = self._end = 0
        """Bytes in memory and in the file."""

    @cached_property
    def _file(self) -> BinaryIO:
        file = TemporaryFile()  # noqa: SIM115 - it ends with the receipts
        finalize(self, file.close)
        return file

    def put(self, data: NDArray[np.uint8]) -> Callable[[int, int], bytes]:
        """Return what reads them: from where, and how many."""
        with self._lock:
            if self._held + len(data) <= IN_MEMORY:
                self._held += len(data)
                kept = data.tobytes()
                return lambda start, length: kept[start : start + length]
            with storage_faults(gettempdir()):
                first = self._end
                self._file.seek(first)
                self._file.write(data.data)
                self._end += len(data)
                return lambda start, length: self._get(first + start, length)

    def _get(self, start: int, length: int) -> bytes:
        with self._lock, storage_faults(gettempdir()):
            self._file.seek(start)
            return self._file.read(length)


class Subscriptions:
    """The subscriptions of some registrations, read when one is first asked for. May be used from any thread."""

    def __init__(self, registrations: NDArray[np.int64], read: Callable[[Sequence[int]], Mapping[int, Subscription]]):
        self._registrations = registrations
        self._read = read
        self._found: Mapping[int, Subscription] | None = None

    def __getitem__(self, registration: int) -> Subscription:
        return self.read()[registration]

    def read(self) -> Mapping[int, Subscription]:
        """All of them. Raises `StorageFault`."""
        found = self._found
        if found is None:
            found = self._found = self._read(np.unique(self._registrations).tolist())
        return found


class _Matches:
    """The matches of one batch, in its order."""

    def __init__(
        self, names: Names, matched: OutboxBatch, store: _Store, subscriptions: Subscriptions, operators: OperatorSet
    ) -> None:
        self._names = names
        self._columns = (matched.position, matched.registration, matched.change, matched.sheet)
        self._offsets = matched.offsets
        self._read = store.put(matched.bindings[: matched.offsets[-1]])
        self._subscriptions = subscriptions
        self._operators = operators

    def make(self, row: int) -> Match:
        position, number, change, sheet = (int(column[row]) for column in self._columns)
        (_, graph, version, _), query, word = self._names[position], self._subscriptions[number], CHANGES[change].word
        start, end = self._offsets[sheet : sheet + 2].tolist()
        id = notification_id(graph, version, number, change)
        text = self._read(start, end - start).decode()
        return Match(query.name, number, graph, version, word, id, text, query, self._operators)


class _Undecided:
    """Undecided or pending pairs of one batch, in order of position."""

    def __init__(self, names: Names, pairs: Sequence[PairReason], subscriptions: Subscriptions) -> None:
        self._names = names
        self._positions = np.array([pair.position for pair in pairs], np.int64)
        self._registrations = np.array([pair.registration for pair in pairs], np.int64)
        numbers: dict[str, int] = {}
        self._reason = np.array([numbers.setdefault(pair.reason, len(numbers)) for pair in pairs], np.int32)
        self._reasons = tuple(numbers)
        self._subscriptions = subscriptions

    def make(self, row: int) -> UndecidedMatch:
        registration, reason = int(self._registrations[row]), self._reasons[self._reason[row]]
        _, graph, version, _ = self._names[int(self._positions[row])]
        return UndecidedMatch(self._subscriptions[registration].name, registration, graph, version, reason)


class Findings:
    """What matching gave for the documents of one group, by journal position; groups of one call share a store."""

    def __init__(self, store: _Store | None = None) -> None:
        self.store = store or _Store()
        self.is_matched = True
        self._matches: _ByPosition[Match] = _ByPosition()
        self._undecided: _ByPosition[UndecidedMatch] = _ByPosition()
        self._pending: _ByPosition[UndecidedMatch] = _ByPosition()

    def add(self, told: OutboxBatch, subscriptions: Subscriptions, operators: OperatorSet) -> None:
        names = {name.position: name for name in told.publications}
        if len(told.position):
            self._matches.add(told.position, _Matches(names, told, self.store, subscriptions, operators))
        for found, pairs in ((self._undecided, told.undecided), (self._pending, told.awaited)):
            if pairs:
                found.add(np.array([pair.position for pair in pairs]), _Undecided(names, pairs, subscriptions))

    def matches(self, positions: Iterable[int]) -> Sequence[Match]:
        return self._matches.of(positions)

    def undecided(self, positions: Iterable[int]) -> Sequence[UndecidedMatch]:
        return self._undecided.of(positions)

    def pending(self, positions: Iterable[int]) -> Sequence[UndecidedMatch]:
        return self._pending.of(positions)

    def share_out(
        self, parsed: Sequence[ParsedDocument], acceptance: Acceptance, owed: Findings | None
    ) -> Iterator[Receipt]:
        """The receipt of each document; what was unchanged belongs to who brought it first, unless its matches are
        `owed`, which are given once."""
        taken = self._take({each.position for each in acceptance.accepted}, owed) if owed else set()
        accepted = iter(acceptance.accepted)
        first = 0
        for result in parsed:
            dropped = acceptance.dropped.get(first, NOTHING_DROPPED) if result.drafts else NOTHING_DROPPED
            first += len(result.drafts)
            publications = tuple(islice(accepted, len(result.drafts)))
            new = [each.position for each in publications if each.outcome == "accepted" or each.position in taken]
            taken.difference_update(new)
            yield self.receipt(publications, dropped, new, result)

    def receipt(
        self,
        publications: tuple[Accepted, ...],
        dropped: Dropped,
        new: Sequence[int] = (),
        parsed: ParsedDocument = _NO_DOCUMENT,
    ) -> Receipt:
        """The receipt of one document; `new` are the positions of those publications whose matches it brings."""
        ended = [each.position for each in dropped.removed] + [each.position for each in dropped.restored]
        positions = [*new, *sorted(ended)]
        return Receipt(
            publications + dropped.restored,
            self.matches(positions),
            parsed.rejects,
            self.undecided(positions),
            self.pending(positions),
            dropped.removed,
            parsed.warnings,
            self.is_matched,
        )

    def _take(self, positions: set[int], owed: Findings) -> set[int]:
        """Take over what is owed of publications at `positions`; return those of which something was."""
        return (
            self._matches.take(owed._matches, positions)
            | self._undecided.take(owed._undecided, positions)
            | self._pending.take(owed._pending, positions)
        )


class _ByPosition(Generic[_Made]):
    """Which rows are of which publication."""

    def __init__(self) -> None:
        self._parts: defaultdict[int, list[tuple[_Columns[_Made], range]]] = defaultdict(list)

    def add(self, positions: NDArray[Any], columns: _Columns[_Made]) -> None:
        """`positions`: of each row, ascending."""
        if positions[0] == positions[-1]:
            self._parts[int(positions[0])].append((columns, range(len(positions))))
            return
        starts = [0, *(np.flatnonzero(positions[1:] != positions[:-1]) + 1).tolist()]
        for start, end in pairwise([*starts, len(positions)]):
            self._parts[int(positions[start])].append((columns, range(start, end)))

    def take(self, others: _ByPosition[_Made], positions: set[int]) -> set[int]:
        found = positions & others._parts.keys()
        self._parts.update((position, others._parts.pop(position)) for position in found)
        return found

    def of(self, positions: Iterable[int]) -> Sequence[_Made]:
        if not self._parts:
            return ()
        parts = [part for position in positions for part in self._parts.get(position, ())]
        return FoundRows(parts) if parts else ()
