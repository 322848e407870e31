"""Reading an outbox, also while another process writes it (docs/storage.md)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate, chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from triplecast.end_mark import read_end_mark
from triplecast.errors import InputError, StorageFault
from triplecast.model.match import CHANGE_NUMBER, pair_id, publication_key
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.subscription import Subscription
from triplecast.outbox.chunk import FILTERED
from triplecast.outbox.chunks import StoredChunk, read_chunks
from triplecast.outbox.distinct import distinct
from triplecast.outbox.notification import Cursor, Definitions, Notification, UndecidedPair
from triplecast.outbox.read_names import ReadNames
from triplecast.outbox.selected import Selected, made
from triplecast.outbox.stored_names import check_names, find_names, read_names
from triplecast.outbox.tables import FIELDS, OUTBOX, RESTORE, OutboxFile, Pending, State, read_pending, read_rows
from triplecast.sqlite import SqliteFile, row_number

if TYPE_CHECKING:
    import pyarrow

    from triplecast.outbox.json_lines import NotificationLine

DATABASE = "outbox.sqlite"
END = "outbox.end"

_IN_RANGE = "WHERE position > ? AND position <= ?"
_UNDECIDED = f"WHERE position IN (SELECT position FROM undecided {_IN_RANGE})"
_READ_AGAIN = "read again from 0 and leave out what you have by its `id`, which stays the same"
_PAGE_BYTES = 8 << 20
"""Of chunks that a reader takes at once, unless one is larger; between pages it holds no lock and no snapshot."""
_PAGE_CHUNKS = 500
_BACKWARDS = 64
"""Chunks that are read at once from the end."""
_NO_END = (1 << 63) - 1
_PASSED = 4
"""The place in the end mark of the position up to which the last commits had nothing to record; it may lack it."""


def nobody_else() -> None:
    """The check of an outbox that nobody can take over."""


class OutboxReader(OutboxFile):
    """Reads an outbox, as its writer or from another process; as an empty one while there is none yet.

    Methods may be called from any thread and raise `StorageFault` for a damaged file, and for one that ends before
    what its end mark says was committed.
    """

    def __init__(self, database: SqliteFile, check_writer: Callable[[], None] = nobody_else) -> None:
        """`check_writer` raises where another has become the folder's writer: what a writer knows is old then."""
        super().__init__(database)
        self._check_writer = check_writer

    @staticmethod
    def read_only(folder: Path | str) -> OutboxReader:
        """Return a follower of the outbox in `folder`, which need not exist yet. It takes no lock."""
        return OutboxReader(SqliteFile.follower(Path(folder) / DATABASE, OUTBOX))

    def settled_upto(self) -> int:
        """Up to here everything is recorded that will be. The end mark says it of positions with nothing to record,
        for which its writer changes nothing in the file."""
        mark = _read_mark(self._database.where)
        state = self.state
        return max((state.progress, *(mark[_PASSED:] if mark[:1] == (state.epoch,) else ())))

    def pending(self, after: int, limit: int) -> Pending:
        """Return the first positions beyond `after`, at most `limit`, of publications with pending pairs, these pairs,
        and what is known of them."""
        with self._database.reading():
            return read_pending(self._database, after, limit)

    def count_pending(self) -> int:
        """Return how many publications have pending pairs."""
        return sum(count for (count,) in self._database.ask("SELECT count(DISTINCT position) FROM open_pair"))

    def notifications(
        self,
        since: Cursor | str | SupportsIndex = 0,
        limit: int | None = None,
        subscription: str | None = None,
        owner: str | None = None,
        definitions: Definitions | None = None,
    ) -> Iterator[Notification]:
        """Return the notifications after `since` (a sequence, or a cursor), in order, as far as they are there when
        their page is read; only those of a `subscription`'s id and of an `owner`, if given. They have their queries
        where `definitions` are given.

        Raises `StorageFault` at the first that is damaged or missing, `InputError` for numbers that cannot be and for a
        cursor of an earlier epoch, or a place beyond the last."""
        operators = definitions.operators if definitions else NO_OPERATORS
        selected = self._selected(since, limit, subscription, owner)
        return chain.from_iterable(made(rows, _defined(definitions, rows.numbers), operators) for rows in selected)

    def notification_batches(
        self,
        since: Cursor | str | SupportsIndex = 0,
        limit: int | None = None,
        subscription: str | None = None,
        owner: str | None = None,
    ) -> Iterator[pyarrow.RecordBatch]:
        """Return what `notifications` does, as `pyarrow.RecordBatch`es with the columns of `outbox.arrow.COLUMNS`,
        without an object for a row. Raises what `notifications` raises."""
        from triplecast.outbox.arrow import RecordBatches

        return map(RecordBatches().make, self._selected(since, limit, subscription, owner))

    def json_lines(
        self,
        since: Cursor | str | SupportsIndex = 0,
        subscription: str | None = None,
        owner: str | None = None,
        definitions: Definitions | None = None,
    ) -> Iterator[tuple[Cursor, str]]:
        """Return what `notifications` does as lines of JSON, many at a time, with the cursor of the last one. Raises
        what `notifications` raises."""
        from triplecast.outbox.json_lines import JsonLines

        lines = JsonLines(definitions)
        return chain.from_iterable(map(lines.write, self._selected(since, None, subscription, owner)))

    def json_rows(
        self,
        since: Cursor | str | SupportsIndex = 0,
        limit: int | None = None,
        subscription: str | None = None,
        owner: str | None = None,
        definitions: Definitions | None = None,
    ) -> Iterator[NotificationLine]:
        """Return what `notifications` does, each as a line of JSON. Raises what `notifications` raises."""
        from triplecast.outbox.json_lines import JsonLines

        lines = JsonLines(definitions)
        return chain.from_iterable(map(lines.write_each, self._selected(since, limit, subscription, owner)))

    def latest(
        self,
        count: int,
        before: int | None = None,
        registration: int | None = None,
        definitions: Definitions | None = None,
    ) -> list[Notification]:
        """Return the last `count` notifications, of all or of a `registration`, `before` a sequence if given, the
        newest first."""
        names, registrations = ReadNames(), None if registration is None else np.array([registration], np.int64)
        operators = definitions.operators if definitions else NO_OPERATORS
        end = _NO_END if before is None else row_number(before, "before")
        found: list[Notification] = []
        while len(found) < count:
            with self._database.reading():
                state = self.state
                condition = "WHERE first < ? AND last > ? AND first <= last ORDER BY last DESC LIMIT ?"
                values = end, state.pruned, _BACKWARDS
                chunks = list(read_chunks(self._database, condition, values, registrations))
                for chunk in (each for each in chunks if each.content is not None):
                    content = chunk.content
                    assert content is not None
                    last = min(end, chunk.last + 1) - chunk.first
                    rows = np.arange(max(0, state.pruned + 1 - chunk.first), last)
                    if registrations is not None:
                        rows = rows[np.isin(content.registration[rows], registrations)]
                    selected = Selected.of(state.epoch, chunk.first, content, rows[len(found) - count :], names)
                    self._learn(names, selected.numbers)
                    found += [*made(selected, _defined(definitions, selected.numbers), operators)][::-1]
                    if len(found) >= count:
                        break
            if not chunks:
                break
            end = chunks[-1].first
        return found

    def sequence_at(self, accepted_at: str) -> int:
        """Return the sequence beyond which every notification is that is of something accepted after a time, given as
        `Notification.accepted_at`; of those recorded late, some before may be there too."""
        ends = [last for (last,) in self._database.ask("SELECT DISTINCT last FROM chunk ORDER BY last")]
        first, beyond = 0, len(ends)
        while first < beyond:  # chunks before `first` are wholly of what was accepted by then
            middle = (first + beyond - 1) // 2
            chunk = self._in_order(ends[first], ends[middle], "DESC") or self._in_order(ends[middle], ends[beyond - 1])
            if chunk is None:  # all are late, or have gone
                break
            content = chunk.content
            assert content is not None
            place = bisect_left(ends, chunk.last)
            if content.publications[-1].accepted_at <= accepted_at:
                first = place + 1
            elif place > middle:
                break
            else:
                beyond = place
        last = ends[first - 1] if first else 0
        for each in self.notifications(last):
            if each.accepted_at > accepted_at:
                return each.sequence - 1
            last = each.sequence
        return last

    def _in_order(self, least: int, most: int, order: str = "ASC") -> StoredChunk | None:
        """The first or the last of the chunks that end between two sequences and are not late."""
        with self._database.reading():
            condition = f"WHERE last BETWEEN ? AND ? AND late = 0 AND first <= last ORDER BY last {order} LIMIT 1"
            return next(iter([*read_chunks(self._database, condition, (least, most))]), None)

    def _selected(
        self, since: Cursor | str | SupportsIndex, limit: int | None, subscription: str | None, owner: str | None
    ) -> Iterator[Selected]:
        most = (1 << 63) if limit is None else row_number(limit, "limit")
        wanted = {name: value for name, value in (("name", subscription), ("owner", owner)) if value is not None}
        return self._select(Cursor.of(since), most, wanted)

    def _select(self, since: Cursor | int, left: int, wanted: dict[str, str]) -> Iterator[Selected]:
        chunks, names = self._chunks(since, wanted), ReadNames()
        while left > 0 and (found := next(chunks, None)) is not None:
            epoch, first, chunk, of = found
            if chunk.content is None:
                continue
            rows = np.arange(first - chunk.first, len(chunk.content.registration))
            if of is not None:
                registration = chunk.content.registration[rows]
                also = of[:0] if len(registration) >= FILTERED else distinct(registration)[0]
                self._learn(names, np.union1d(of, also))
                rows = rows[np.isin(registration, of)]
            rows = rows[:left]
            left -= len(rows)
            if len(rows):
                selected = Selected.of(epoch, chunk.first, chunk.content, rows, names)
                self._learn(names, selected.numbers)
                yield selected

    def _chunks(
        self, since: Cursor | int, wanted: dict[str, str]
    ) -> Iterator[tuple[int, int, StoredChunk, NDArray[np.int64] | None]]:
        """Yield the chunks beyond a place, in order, each with the epoch, the first sequence beyond that place, and the
        registrations of what is wanted, if not all are."""
        where, mark = self._database.where, _read_mark(self._database.where)
        sequence = since.sequence if isinstance(since, Cursor) else since
        while True:
            with self._database.reading():
                state, registrations = self.state, self._wanted(wanted)
                chunks = self._next_chunks(max(sequence, state.pruned), registrations)
            self._check_writer()
            check_mark(where, state, mark)
            _check_cursor(since, state)
            sequence = max(sequence, state.pruned)
            if not chunks and state.sequence <= sequence:
                return
            if not chunks or chunks[0].first > sequence + 1:
                raise missing(where, f"notification {sequence + 1}", "the sequence")
            for chunk, follower in zip_longest(chunks, chunks[1:]):
                yield state.epoch, sequence + 1, chunk, registrations
                sequence = chunk.last
                if follower is not None and follower.first != sequence + 1:
                    raise missing(where, f"notification {sequence + 1}", "the sequence")

    def _wanted(self, wanted: dict[str, str]) -> NDArray[np.int64] | None:
        """The registrations of a subscription's id and an owner; None for all."""
        if not wanted:
            return None
        return np.array(find_names(self._database, wanted.get("name"), wanted.get("owner")), np.int64)

    def _next_chunks(self, sequence: int, wanted: NDArray[np.int64] | None) -> list[StoredChunk]:
        """The first chunks beyond a sequence, of a few megabytes together."""
        condition = "last > ? AND first <= last"
        statement = f"SELECT last, length(body) FROM chunk WHERE {condition} ORDER BY last LIMIT ?"
        sizes = self._database.ask(statement, (sequence, _PAGE_CHUNKS))
        ends = list(accumulate(size for _, size in sizes))
        lasts = [last for (last, _), end in zip(sizes, ends, strict=True) if end <= max(_PAGE_BYTES, ends[0])]
        if not lasts:
            return []
        condition = f"WHERE {condition} AND last <= ? ORDER BY last"
        return list(read_chunks(self._database, condition, (sequence, lasts[-1]), wanted))

    def _learn(self, names: ReadNames, registrations: NDArray[np.int64]) -> None:
        """Add the names of registrations, ascending; raise `StorageFault` for one that is damaged or missing."""
        new = names.missing(registrations).tolist()
        if not new:
            return
        found = read_names(self._database, new)
        lost = {*new} - {number for number, _, _ in found}
        if lost:
            raise missing(self._database.where, f"registration {min(lost)}", "a notification")
        names.add(found)

    def undecided(self, after: int = 0, most: int | None = None) -> list[UndecidedPair]:
        """Return the undecided pairs of publications at positions beyond `after`, by position and registration, up to
        `State.progress`: so a later call never returns an earlier pair. With `most`, the page ends with a position."""
        with self._database.reading():
            values = (row_number(after, "after"), self.progress)
            if most is not None:
                at = f"SELECT position FROM undecided {_IN_RANGE} ORDER BY position LIMIT 1 OFFSET ?"
                ends = [position for (position,) in self._database.ask(at, (*values, most - 1))]
                values = (values[0], *ends) if ends else values
            rows = [*read_rows(self._database, "undecided", f"{_IN_RANGE} ORDER BY position, registration", values)]
            publications = {row[0]: row for row in read_rows(self._database, "publication", _UNDECIDED, values)}
            numbers, names = np.array(sorted({row[1] for row in rows}), np.int64), ReadNames()
            self._learn(names, numbers)
            named = dict(zip(numbers.tolist(), names.of(numbers), strict=True))
        self._check_writer()
        pairs = []
        for position, registration, by_removal, reason in rows:
            if position not in publications:
                raise missing(self._database.where, f"publication {position}", "an undecided pair")
            _, graph, version, _ = publications[position]
            id = pair_id(publication_key(graph, version), registration, CHANGE_NUMBER["added", bool(by_removal)])
            name, owner = named[registration]
            pairs.append(UndecidedPair(position, id, graph, version, registration, name, owner, reason))
        return pairs

    def check(self) -> None:
        """Read every page and row; raise `StorageFault` for the first that is malformed, damaged or missing."""
        mark = _read_mark(self._database.where)
        with self._database.reading():
            self._database.check_pages()
            state = self.state
            check_rows(self._database, state.pruned, state.sequence)
        check_mark(self._database.where, state, mark)


def _defined(definitions: Definitions | None, registrations: NDArray[np.int64]) -> dict[int, Subscription]:
    if definitions is None:
        return {}
    return {int(each.id): each.subscription for each in definitions.registrations(registrations.tolist())}


def _check_cursor(since: Cursor | int, state: State) -> None:
    """Raise `InputError` for a cursor of another epoch, or a place in an outbox that has come further."""
    if isinstance(since, Cursor) and since.epoch != state.epoch:
        raise InputError(
            f"{since} is a cursor of epoch {since.epoch}, and the outbox is in epoch {state.epoch}: "
            "notifications were lost since and recorded again under other sequences",
            _READ_AGAIN,
        )
    if (since.sequence if isinstance(since, Cursor) else since) > state.sequence:
        found = f"{since} is beyond the last notification, {state.sequence}: the outbox is an older copy, or another"
        raise InputError(found, _READ_AGAIN)


def _read_mark(where: str) -> tuple[int, ...]:
    path = Path(where)
    return read_end_mark(path.with_name(END)) if path.name == DATABASE else ()


def check_mark(where: str, state: State, mark: tuple[int, ...]) -> None:
    """Raise `StorageFault` where an outbox has lost what its end mark, read before, says was committed."""
    if state.lacks(mark):
        epoch, told, sequence, *_ = mark
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
    there = {name for (name,) in database.ask("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in FIELDS.keys() & there:
        for _ in read_rows(database, table, "", ()):
            pass
    last, known = 0, check_names(database)
    for chunk in read_chunks(database, "ORDER BY number"):
        if chunk.first != max(last, chunk.first - 1 if not last else 0) + 1 or chunk.first > max(last, pruned) + 1:
            raise missing(where, f"notification {max(last, pruned) + 1}", "the sequence")
        last = chunk.last
        assert chunk.content is not None
        for registration in {*chunk.content.registration.tolist()} - known:
            raise missing(where, f"registration {registration}", "a notification")
    if max(last, pruned) != sequence:
        raise missing(where, f"notification {max(last, pruned) + 1}", "the sequence")
    for user in ("undecided", "withheld"):
        lost = f"SELECT position FROM {user} WHERE position NOT IN (SELECT position FROM publication) LIMIT 1"
        for (position,) in database.ask(lost):
            raise missing(where, f"publication {position}", f"a row of {user}")
        for (registration,) in database.ask(f"SELECT DISTINCT registration FROM {user}"):
            if registration not in known:
                raise missing(where, f"registration {registration}", f"a row of {user}")


def missing(where: str, what: str, needed_by: str) -> StorageFault:
    return StorageFault(where, f"{what} is missing, which {needed_by} needs", RESTORE)
