"""The outbox's writer: what is recorded, in one transaction with how far matching has come (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.crash_points import reach
from triplecast.end_mark import EndMark, close_untouched, has_content, read_end_mark
from triplecast.errors import StorageFault
from triplecast.model.answers import bounded_reason
from triplecast.model.match import publication_key
from triplecast.outbox.batch import NO_ROWS, OutboxBatch, OutboxRow
from triplecast.outbox.notification import Names
from triplecast.outbox.reader import DATABASE, END, OutboxReader, check_mark, nobody_else
from triplecast.outbox.tables import (
    OUTBOX,
    OpenPart,
    OutboxFile,
    Pending,
    State,
    end_pairs,
    fields_checksum,
    first_open,
    read_open_pairs,
    release,
    withhold,
    write_notifications,
    write_open_pairs,
    write_rows,
)
from triplecast.sqlite import SqliteFile, row_number
from triplecast.storage_faults import make_folder

_PRUNED_AT_ONCE = 50_000


class Committed(NamedTuple):
    """What one commit wrote."""

    first: int
    """Sequence of the first new notification; `last` + 1 when there is none."""
    last: int
    dropped: int
    """Rows that were given and not recorded: committed before, or of pairs that are not open."""
    differing: tuple[int, ...]
    """Positions committed before whose rows now differ from the first ones, which stay (semantics 9.6)."""


class Outbox(OutboxReader):
    """The writer. There is one, because there is one for the journal beside it.

    A batch is recorded whole or not at all. What is committed keeps its sequence and id until it is pruned; committing
    it again adds nothing, even then.
    """

    def __init__(self, database: SqliteFile, check_writer: Callable[[], None] = nobody_else, epoch: int = 0) -> None:
        """`check_writer` (`OutboxReader`) is called inside each transaction, too.
        The outbox is in the given `epoch` from now on, where that is later than its own."""
        super().__init__(database, check_writer)
        self._end: EndMark | None = None
        self._state = self._next = State()
        """What is committed, and what the transaction under way has written."""
        with self._write():  # one that began before the folder was taken over has ended now
            state = self.state
            self._write_state(state._replace(epoch=max(epoch, state.epoch)))
        self._known: set[int] = {id for (id,) in database.ask("SELECT id FROM registration")}
        self._open: set[int] = {id for (id,) in database.ask("SELECT DISTINCT registration FROM open_pair")}
        """Registrations that have pending pairs."""

    @classmethod
    def open(
        cls,
        folder: Path | str,
        check_writer: Callable[[], None] = nobody_else,
        former: str | None = None,
        epoch: int = 1,
        noted: tuple[int, ...] = (),
    ) -> Outbox:
        """Open the outbox in `folder`, made where there is none.

        `former` is the process that the folder was taken over from (`Journal.former`). `epoch` is that of the folder's
        writer (`Journal.epoch`): it becomes the outbox's where the end of one before may have been lost, or where this
        is an older copy, which lacks what was `noted` (`Journal.outbox_mark`).

        Raises `StorageFault` for an outbox that lost its end, and `FolderLocked` while `former` is in the middle of a
        write.
        """
        folder = Path(folder)
        make_folder(folder)
        path, mark = folder / DATABASE, read_end_mark(folder / END)
        if mark and not has_content(path):
            found = f"it is missing, and held notifications up to {mark[2]}"
            raise StorageFault(str(path), found, f"restore it from a copy, or delete {END}: then all is matched again")
        with ExitStack() as opened:
            database = opened.enter_context(closing(SqliteFile.writer(path, OUTBOX)))
            if former is not None:
                database.settle(former)
            state = OutboxFile(database).state
            try:
                check_mark(database.where, state, mark)
            except StorageFault:
                close_untouched(database, path, OUTBOX)
                raise
            is_last = bool(mark) and not state.lacks(noted)
            outbox = cls(database, check_writer, state.epoch if is_last else max(epoch, state.epoch + 1))
            with outbox._write():
                outbox._end = EndMark(folder / END, *outbox.state.mark)
            opened.pop_all()
        return outbox

    @classmethod
    def in_memory(cls) -> Outbox:
        """Make an outbox that ends with the process."""
        return cls(SqliteFile.writer(None, OUTBOX), epoch=1)

    def close(self) -> None:
        super().close()
        if self._end is not None:
            self._end.close()

    def commit(
        self, batch: OutboxBatch, upto: int, names: Names, after: int | None = None, open: Sequence[OpenPart] = ()
    ) -> Committed:
        """Record what is decided without operators of publications up to `upto`, in one synced transaction.

        `batch` holds all of it for publications beyond `after` (default: from its first one on), so that one which had
        rows and has none now differs. Its `awaited` pairs are open: `settle` records what becomes of them, `open` is
        what is known of them. Later rows of the same registrations are withheld until then, so that a subscriber gets
        the publications in order. Raises ValueError for a row beyond `upto`.
        """
        _check_end(batch, upto)
        with self._database.lock:
            with self._write():
                state = self.state
                new = batch.between(state.told, upto)
                rows = new.rows()
                pairs = sorted((pair.position, pair.registration) for pair in new.awaited)
                write_open_pairs(self._database, pairs, open)
                waiting = self._open | {registration for _, registration in pairs}
                first = first_open(self._database, waiting & {row.registration for row in rows} if waiting else ())
                known = self._write_named(new, rows, names, new.digests())
                last = self._write_rows(state, withhold(self._database, rows, first), max(state.told, upto))
            self._known |= known
            self._open = waiting
            self._mark(self.state)
            reach("outbox.committed")
            if pairs:
                reach("outbox.some-wait")
            differing = self._differing(batch, after, min(state.told, upto))
            return Committed(state.sequence + 1, last, len(batch.position) - len(rows), differing)

    def settle(self, batch: OutboxBatch, upto: int, names: Names, after: int = 0) -> Committed:
        """Record what became of the pending pairs of publications at positions in (`after`, `upto`], in one synced
        transaction: rows, undecided pairs, or nothing.

        Pairs that `batch` still awaits stay open, and what is known of them is kept. Rows of pairs that are not open
        add nothing. Withheld rows that no pending pair precedes any more are recorded too, in order. Raises ValueError
        where `upto` is beyond `told`, and for a row beyond `upto`.
        """
        _check_end(batch, upto)
        with self._database.lock:
            if upto > self.told:
                raise ValueError(f"nothing is open beyond position {self.told}, so up to {upto} nothing can be settled")
            with self._write():
                state = self.state
                settled = read_open_pairs(self._database, after, upto) - {pair[:2] for pair in batch.awaited}
                end_pairs(self._database, sorted(settled))
                registrations = sorted({registration for _, registration in settled})
                first = first_open(self._database, registrations)
                rows = [row for row in batch.rows() if row[:2] in settled]
                undecided = tuple(pair for pair in batch.undecided if pair[:2] in settled)
                known = self._write_named(replace(batch, undecided=undecided), rows, names, {})
                released = release(self._database, registrations, first)
                now = sorted([*withhold(self._database, rows, first), *released])
                if now:
                    write_rows(self._database, "late", [(state.sequence + len(now), min(now).position)])
                last = self._write_rows(state, now, state.told)
            self._known |= known
            self._open -= {*registrations} - first.keys()
            self._mark(self.state)
            reach("outbox.committed")
            return Committed(state.sequence + 1, last, len(batch.position) - len(rows), ())

    def prune(self, upto: int) -> int:
        """Delete notifications up to sequence `upto`, and the undecided pairs of the publications left behind.

        Returns how many notifications went. Raises `StorageFault`, also on a full disk, where SQLite cannot delete
        either; what went in the steps before is gone.
        """
        upto, pruned = row_number(upto, "the sequence to prune to"), 0
        while True:
            with self._write():
                state = self.state
                after = _prune(self._database, state, upto)
                self._write_state(after)
                reach("outbox.pruned")
            self._mark(after)
            if after.pruned == state.pruned:
                return pruned
            pruned += after.pruned - state.pruned

    def prune_undecided(self, upto: int) -> int:
        """Delete the undecided pairs of publications at positions up to `upto`; return how many. Notifications stay.
        Raises `StorageFault`."""
        upto = row_number(upto, "the position to prune to")
        with self._write():
            ((pairs,),) = self._database.ask("SELECT count(*) FROM undecided WHERE position <= ?", (upto,))
            self._write_state(_prune_undecided(self._database, self.state, upto))
        return int(pairs)

    # ---- inside -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """How far the outbox has come. Only its writer changes that, so only transactions read it."""
        return self._state

    def pending(self, after: int, limit: int) -> Pending:
        """As `OutboxReader.pending`, at once where no pair is open."""
        nothing_open = self._state.progress == self._state.told
        return Pending([], [], []) if nothing_open else super().pending(after, limit)

    @contextmanager
    def _write(self) -> Iterator[None]:
        """A transaction of the folder's writer, which may write the state."""
        with self._database.lock:
            with self._database.write():
                self._check_writer()
                self._state = self._next = self._read_state()
                yield
            self._state = self._next

    def _write_state(self, state: State) -> None:
        self._next = state
        crc = fields_checksum("state", *state)
        fields = ", ".join(f"{name} = ?" for name in State._fields)
        self._database.run(f"UPDATE state SET {fields}, crc = ?", [(*state, crc)])

    def _write_rows(self, state: State, rows: Sequence[OutboxRow], told: int) -> int:
        """Write `rows` as the notifications after those of `state`, and how far everything has come; return the last
        sequence."""
        write_notifications(self._database, state.sequence + 1, rows)
        reach("outbox.rows-written")
        last = state.sequence + len(rows)
        ((open,),) = self._database.ask("SELECT min(position) FROM open_pair")
        self._write_state(state._replace(told=told, progress=told if open is None else open - 1, sequence=last))
        reach("outbox.position-written")
        return last

    def _mark(self, state: State) -> None:
        if self._end is not None:
            self._end.set(*state.mark)

    def _write_named(
        self, batch: OutboxBatch, rows: Sequence[OutboxRow], names: Names, digests: Mapping[int, bytes]
    ) -> set[int]:
        """Write undecided pairs, and what they and rows are of: publications, with the digest of what was decided of
        them without operators, which stays, and registrations seen for the first time. Return the ids of these, which
        are known once this is committed."""
        undecided = batch.undecided
        seen = {row.registration for row in rows} | {pair.registration for pair in undecided}
        found = [
            (int(each.id), each.subscription.name, each.subscription.owner)
            for each in names(sorted(seen - self._known))
        ]
        positions = {row.position for row in rows} | {pair.position for pair in undecided}
        publications = (
            (*name, publication_key(name.graph, name.version), digests.get(name.position, NO_ROWS))
            for name in batch.publications
            if name.position in positions
        )
        pairs = ((pair.position, int(pair.registration), bounded_reason(pair.reason)) for pair in undecided)
        for table, values in (("registration", found), ("publication", publications), ("undecided", pairs)):
            write_rows(self._database, table, values, "INSERT OR IGNORE")
        return {id for id, _, _ in found}

    def _differing(self, batch: OutboxBatch, after: int | None, upto: int) -> tuple[int, ...]:
        """The publications in (`after`, `upto`], all committed earlier, whose rows are not those kept. One that is not
        kept had no rows, unless it may have been pruned."""
        if after is None:
            after = batch.publications[0].position - 1 if batch.publications else upto
        if after >= upto:
            return ()
        statement = "SELECT position, digest FROM publication WHERE position > ? AND position <= ?"
        kept: dict[int, bytes] = dict(self._database.ask(statement, (after, upto)))
        given, forgotten = batch.between(after, upto).digests(), self.state.forgotten
        known = sorted(position for position in kept.keys() | given.keys() if position in kept or position > forgotten)
        return tuple(position for position in known if given.get(position, NO_ROWS) != kept.get(position, NO_ROWS))


def _check_end(batch: OutboxBatch, upto: int) -> None:
    if batch.publications and batch.publications[-1].position > upto:
        raise ValueError(f"a publication at {batch.publications[-1].position} cannot be committed as told up to {upto}")


def _prune(database: SqliteFile, state: State, upto: int) -> State:
    """Delete the first notifications up to sequence `upto`, and the undecided pairs of the publications whose last
    notification goes; return the state after it."""
    rows = database.ask(
        "SELECT sequence, position FROM notification WHERE sequence <= ? ORDER BY sequence LIMIT ?",
        (upto, _PRUNED_AT_ONCE),
    )
    if not rows:
        return state
    last, position = rows[-1]
    database.run("DELETE FROM notification WHERE sequence <= ?", [(last,)])
    database.run("DELETE FROM late WHERE last <= ?", [(last,)])
    left = _first_position(database)
    return _prune_undecided(database, state._replace(pruned=last), position if left is None else left - 1)


def _prune_undecided(database: SqliteFile, state: State, upto: int) -> State:
    """Delete the undecided pairs of publications at positions up to `upto`, and publications that neither pairs nor
    notifications need; return the state after it."""
    upto = min(upto, state.progress)
    database.run("DELETE FROM undecided WHERE position <= ?", [(upto,)])
    forgotten = max(state.forgotten, upto)
    needed = _first_position(database)
    database.run(
        "DELETE FROM publication WHERE position < ?",
        [(min(forgotten if needed is None else needed - 1, forgotten) + 1,)],
    )
    return state._replace(forgotten=forgotten)


def _first_position(database: SqliteFile) -> int | None:
    """Return the first publication that a notification is of. They are in order of position, but for those of pairs
    settled late: ``late`` has the first position of each group of these."""
    for sequence, position in database.ask("SELECT sequence, position FROM notification ORDER BY sequence LIMIT 1"):
        ((late,),) = database.ask("SELECT min(position) FROM late WHERE last >= ?", (sequence,))
        return int(position if late is None else min(position, late))
    return None
