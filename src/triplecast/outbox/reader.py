"""Reading an outbox, also while another process writes it (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from triplecast.end_mark import read_end_mark
from triplecast.errors import InputError, StorageFault
from triplecast.model.match import CHANGES, pair_id, publication_key
from triplecast.outbox.tables import (
    FIELDS,
    KEYS_AT_ONCE,
    OUTBOX,
    RESTORE,
    OutboxFile,
    Pending,
    State,
    StoredChunk,
    read_chunks,
    read_pending,
    read_rows,
)
from triplecast.sqlite import SqliteFile, row_number

DATABASE = "outbox.sqlite"
END = "outbox.end"

_IN_RANGE = "WHERE position > ? AND position <= ?"
_PAGE_BYTES = 8 << 20
"""Of chunks that a reader takes at once, unless one is larger; between pages it holds no lock and no snapshot."""
_PAGE_CHUNKS = 500


class Cursor(NamedTuple):
    """A place in an outbox: where a reader has come to, and in which life of the outbox.

    The epoch rises whenever notifications may have been lost and recorded again, under other sequences.
    """

    epoch: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.sequence}"

    @classmethod
    def of(cls, since: Cursor | str | SupportsIndex) -> Cursor | int:
        """Return the cursor that `since` is or spells (``EPOCH:SEQUENCE``), or the sequence that it is.

        Raises TypeError for another type, `InputError` for a number that no row can have.
        """
        if isinstance(since, str):
            epoch, colon, sequence = since.partition(":")
            numbers = [epoch, sequence] if colon else [epoch]
            if not all(number.isdecimal() and number.isascii() and len(number) < 20 for number in numbers):
                raise InputError(f"{since!r} is no cursor", "give a sequence, or the `cursor` of a notification")
            since = cls(int(epoch), int(sequence)) if colon else int(epoch)
        if isinstance(since, Cursor):
            return cls(row_number(since.epoch, "an epoch"), row_number(since.sequence, "since"))
        return row_number(since, "since")


@dataclass(frozen=True, slots=True)
class Notification:
    """One row of the view ``outbox``."""

    cursor: Cursor
    id: str
    position: int
    """Of the publication in the journal."""
    change: str
    publication: str
    """The graph IRI."""
    version: int
    registration: int
    subscription: str
    """The subscriber's id for the subscription."""
    owner: str | None
    bindings: str
    """JSON: a list of objects from variable name to the N-Triples form of its term."""
    accepted_at: str

    @property
    def sequence(self) -> int:
        """Strictly increasing, never given again."""
        return self.cursor.sequence


class UndecidedPair(NamedTuple):
    """A pair that was not decided, under the id that its notification would have had."""

    position: int
    id: str
    publication: str
    version: int
    registration: int
    subscription: str
    owner: str | None
    reason: str


class OutboxReader(OutboxFile):
    """Reads an outbox, as its writer or from another process; as an empty one while there is none yet.

    Methods may be called from any thread and raise `StorageFault` for a damaged file, and for one that ends before
    what its end mark says was committed.
    """

    @staticmethod
    def read_only(folder: Path | str) -> OutboxReader:
        """Return a follower of the outbox in `folder`, which need not exist yet. It takes no lock."""
        return OutboxReader(SqliteFile.follower(Path(folder) / DATABASE, OUTBOX))

    def pending(self, after: int, limit: int) -> Pending:
        """Return the first positions beyond `after`, at most `limit`, of publications with pending pairs, these pairs,
        and what is known of them."""
        with self._database.reading():
            return read_pending(self._database, after, limit)

    def count_pending(self) -> int:
        """Return how many publications have pending pairs."""
        return sum(count for (count,) in self._database.ask("SELECT count(DISTINCT position) FROM open_pair"))

    def notifications(
        self, since: Cursor | str | SupportsIndex = 0, limit: int | None = None
    ) -> Iterator[Notification]:
        """Return the notifications after `since` (a sequence, or a cursor), in order, as far as they are there when
        their page is read.

        Raises `StorageFault` at the first that is damaged or missing, `InputError` for numbers that cannot be and for a
        cursor of an earlier epoch.
        """
        return self._notifications(Cursor.of(since), None if limit is None else row_number(limit, "limit"))

    def _notifications(self, since: Cursor | int, limit: int | None) -> Iterator[Notification]:
        left = (1 << 63) if limit is None else limit
        chunks = self._chunks(since)
        while left > 0 and (found := next(chunks, None)) is not None:
            epoch, first, chunk = found
            start = first - chunk.first
            end = min(start + left, len(chunk.content.registration))
            left -= end - start
            yield from self._rows(epoch, chunk, start, end)

    def _chunks(self, since: Cursor | int) -> Iterator[tuple[int, int, StoredChunk]]:
        """Yield the chunks beyond a place, in order, each with the epoch and the first sequence beyond that place."""
        where, mark = self._database.where, _read_mark(self._database.where)
        sequence = since.sequence if isinstance(since, Cursor) else since
        while True:
            with self._database.reading():
                state = self.state
                chunks = self._next_chunks(max(sequence, state.pruned))
            check_mark(where, state, mark)
            if isinstance(since, Cursor) and since.epoch != state.epoch:
                raise InputError(
                    f"{since} is a cursor of epoch {since.epoch}, and the outbox is in epoch {state.epoch}: "
                    "notifications were lost since and recorded again under other sequences",
                    "read again from 0 and leave out what you have by its `id`, which stays the same",
                )
            sequence = max(sequence, state.pruned)
            if not chunks and state.sequence <= sequence:
                return
            if not chunks or chunks[0].first > sequence + 1:
                raise missing(where, f"notification {sequence + 1}", "the sequence")
            for chunk, follower in zip_longest(chunks, chunks[1:]):
                yield state.epoch, sequence + 1, chunk
                sequence = chunk.last
                if follower is not None and follower.first != sequence + 1:
                    raise missing(where, f"notification {sequence + 1}", "the sequence")

    def _next_chunks(self, sequence: int) -> list[StoredChunk]:
        """The first chunks beyond a sequence, of a few megabytes together."""
        condition = "last > ? AND first <= last"
        statement = f"SELECT number, length(body) FROM chunk WHERE {condition} ORDER BY last LIMIT ?"
        sizes = self._database.ask(statement, (sequence, _PAGE_CHUNKS))
        ends = list(accumulate(size for _, size in sizes))
        numbers = [number for (number, _), end in zip(sizes, ends, strict=True) if end <= max(_PAGE_BYTES, ends[0])]
        if not numbers:
            return []
        condition += " AND number <= ? ORDER BY last"
        return list(read_chunks(self._database, f"WHERE {condition}", (sequence, max(numbers))))

    def _rows(self, epoch: int, chunk: StoredChunk, start: int, end: int) -> Iterator[Notification]:
        """The notifications of rows `start` to `end` of a chunk."""
        content = chunk.content
        names = self._names(content.registration[start:end])
        bindings, offsets = content.bindings.tobytes(), content.offsets.tolist()
        ends = np.cumsum(content.counts)
        publication, key, row_end = None, "", 0
        columns = content.registration[start:end].tolist(), content.change[start:end].tolist(), content.sheet[start:end]
        for row, (registration, number, sheet) in enumerate(zip(*columns, strict=True), start):
            if publication is None or row >= row_end:
                place = int(np.searchsorted(ends, row, side="right"))
                publication, row_end = content.publications[place], int(ends[place])
                key = publication_key(publication.graph, publication.version)
            name, owner = names[registration]
            change = CHANGES[number]
            yield Notification(
                Cursor(epoch, chunk.first + row),
                pair_id(key, registration, change),
                publication.position,
                change,
                publication.graph,
                publication.version,
                registration,
                name,
                owner,
                bindings[offsets[sheet] : offsets[sheet + 1]].decode(),
                publication.accepted_at,
            )

    def _names(self, registrations: NDArray[np.int64]) -> dict[int, tuple[str, str | None]]:
        """Name and owner of registrations; raise `StorageFault` for one that is damaged or missing."""
        numbers = np.unique(registrations).tolist()
        found: dict[int, tuple[str, str | None]] = {}
        for start in range(0, len(numbers), KEYS_AT_ONCE):
            keys = numbers[start : start + KEYS_AT_ONCE]
            condition = f"WHERE id IN ({', '.join('?' * len(keys))})"
            found.update(
                (id, (name, owner)) for id, name, owner in read_rows(self._database, "registration", condition, keys)
            )
        for number in numbers:
            if number not in found:
                raise missing(self._database.where, f"registration {number}", "a notification")
        return found

    def undecided(self, after: int = 0) -> list[UndecidedPair]:
        """Return the undecided pairs of publications at positions beyond `after`, by position and registration, up to
        `State.progress`: so a later call never returns an earlier pair."""
        where = self._database.where
        with self._database.reading():
            values = (row_number(after, "after"), self.progress)
            rows = [*read_rows(self._database, "undecided", f"{_IN_RANGE} ORDER BY position, registration", values)]
            publications = {row[0]: row for row in read_rows(self._database, "publication", _IN_RANGE, values)}
            names = self._names(np.array([row[1] for row in rows], np.int64))
        pairs = []
        for position, registration, reason in rows:
            if position not in publications:
                raise missing(where, f"publication {position}", "an undecided pair")
            _, graph, version, _ = publications[position]
            id = pair_id(publication_key(graph, version), registration)
            pairs.append(UndecidedPair(position, id, graph, version, registration, *names[registration], reason))
        return pairs

    def check(self) -> None:
        """Read every page and row; raise `StorageFault` for the first that is malformed, damaged or missing."""
        mark = _read_mark(self._database.where)
        with self._database.reading():
            self._database.check_pages()
            state = self.state
            check_rows(self._database, state.pruned, state.sequence)
        check_mark(self._database.where, state, mark)


def _read_mark(where: str) -> tuple[int, ...]:
    path = Path(where)
    return read_end_mark(path.with_name(END)) if path.name == DATABASE else ()


def check_mark(where: str, state: State, mark: tuple[int, ...]) -> None:
    """Raise `StorageFault` where an outbox has lost what its end mark, read before, says was committed."""
    if any(now < then for now, then in zip(state.mark, mark, strict=False)):
        epoch, told, sequence, _ = mark
        found = (
            f"it ends at notification {state.sequence} of publications up to position {state.told} (epoch "
            f"{state.epoch}), but {sequence} up to {told} (epoch {epoch}) were committed: its end is lost"
        )
        raise StorageFault(
            where, found, f"restore outbox.sqlite from a copy, or delete {END}: then what is lost is matched again"
        )


def check_rows(database: SqliteFile, pruned: int, sequence: int) -> None:
    """Read every row; notifications `pruned` + 1 to `sequence` must be there.

    Raises `StorageFault` for a damaged row, for a gap in the sequences, and for a publication or registration that a
    row needs and that is missing.
    """
    where = database.where
    for table in FIELDS:
        for _ in read_rows(database, table, "", ()):
            pass
    last, known = 0, {id for (id,) in database.ask("SELECT id FROM registration")}
    for chunk in read_chunks(database, "ORDER BY number"):
        if chunk.first != max(last, chunk.first - 1 if not last else 0) + 1 or chunk.first > max(last, pruned) + 1:
            raise missing(where, f"notification {max(last, pruned) + 1}", "the sequence")
        last = chunk.last
        for registration in {*chunk.content.registration.tolist()} - known:
            raise missing(where, f"registration {registration}", "a notification")
    if max(last, pruned) != sequence:
        raise missing(where, f"notification {max(last, pruned) + 1}", "the sequence")
    for table, needed, key in (("publication", "position", "position"), ("registration", "registration", "id")):
        for user in ("undecided", "withheld"):
            lost = f"SELECT {needed} FROM {user} WHERE {needed} NOT IN (SELECT {key} FROM {table}) LIMIT 1"
            for (number,) in database.ask(lost):
                raise missing(where, f"{table} {number}", f"a row of {user}")


def missing(where: str, what: str, needed_by: str) -> StorageFault:
    return StorageFault(where, f"{what} is missing, which {needed_by} needs", RESTORE)
