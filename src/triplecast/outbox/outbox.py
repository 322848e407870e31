"""The outbox's writer: what is recorded, in one transaction with how far matching has come (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.crash_points import reach
from triplecast.end_mark import EndMark, close_untouched, has_content, read_end_mark
from triplecast.errors import StorageFault
from triplecast.model.answers import bounded_reason
from triplecast.model.match import publication_key
from triplecast.model.subscription import Registration
from triplecast.outbox.batch import OutboxBatch
from triplecast.outbox.pending import (
    OpenPart,
    WithheldRow,
    end_pairs,
    first_open,
    read_open_pairs,
    release,
    write_open_pairs,
    write_parts,
    write_withheld,
)
from triplecast.outbox.pruning import prune, prune_undecided
from triplecast.outbox.reader import DATABASE, END, OutboxReader, State, check_mark
from triplecast.outbox.tables import OUTBOX, fields_checksum, write_notifications, write_rows
from triplecast.sqlite import Database, make_folder, row_number

Names = Callable[[Sequence[int]], Iterable[Registration]]
"""Gives name and owner of the ids that the outbox sees for the first time (`JournalFile.registrations`)."""

_NO_ROWS = OutboxBatch.joined(()).digest(0, 0)
"""The digest of a publication without rows."""


def _nobody_else() -> None:
    """The check of an outbox that nobody can take over."""


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

    def __init__(self, database: Database, check_writer: Callable[[], None] = _nobody_else, epoch: int = 0) -> None:
        """`check_writer` raises where another has become the folder's writer; it is called inside each transaction.
        The outbox is in the given `epoch` from now on, where that is later than its own."""
        super().__init__(database)
        self._check_writer = check_writer
        self._end: EndMark | None = None
        with self._write():  # one that began before the folder was taken over has ended now
            state = self.state
            if epoch > state.epoch:
                self._write_state(state._replace(epoch=epoch))
        self._known: set[int] = {id for (id,) in database.ask("SELECT id FROM registration")}
        self._open: set[int] = {id for (id,) in database.ask("SELECT DISTINCT registration FROM open_pair")}
        """Registrations that have open pairs."""

    @classmethod
    def open(
        cls,
        folder: Path | str,
        check_writer: Callable[[], None] = _nobody_else,
        former: str | None = None,
        epoch: int = 1,
    ) -> Outbox:
        """Open the outbox in `folder`, made where there is none.

        `former` is the process that the folder was taken over from (`Journal.former`). `epoch` is that of the folder's
        writer (`Journal.epoch`): it becomes the outbox's where the end of one before may have been lost.

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
            database = opened.enter_context(closing(Database.writer(path, OUTBOX)))
            if former is not None:
                database.settle(former)
            state = OutboxReader(database).state
            try:
                check_mark(database.where, state, mark)
            except StorageFault:
                close_untouched(database, path, OUTBOX)
                raise
            outbox = cls(database, check_writer, state.epoch if mark else max(epoch, state.epoch + 1))
            with outbox._write():
                outbox._end = EndMark(folder / END, *outbox.state.mark)
            opened.pop_all()
        return outbox

    @classmethod
    def in_memory(cls) -> Outbox:
        """Make an outbox that ends with the process."""
        return cls(Database.writer(None, OUTBOX), epoch=1)

    def close(self) -> None:
        super().close()
        if self._end is not None:
            self._end.close()

    def __enter__(self) -> Outbox:
        return self

    def commit(
        self, rows: OutboxBatch, upto: int, names: Names, after: int | None = None, open: Sequence[OpenPart] = ()
    ) -> Committed:
        """Record what is decided without operators of publications up to `upto`, in one synced transaction.

        `rows` hold all of it for publications beyond `after` (default: `told`), so that one which had rows and has none
        now differs. Their `awaited` pairs are open: `settle` records what becomes of them, `open` is what is known of
        them. Later rows of the same registrations are withheld until then, so that a subscriber gets the publications
        in order. Raises ValueError for a row beyond `upto`.
        """
        _check_end(rows, upto)
        with self._database.lock:
            with self._write():
                state = self.state
                first = int(np.searchsorted(rows.positions, state.told, side="right"))
                new = rows.part(first, len(rows.positions))
                pairs = sorted((int(new.positions[at]), registration) for at, registration, _ in new.awaited)
                withheld = self._behind_open(new)
                known = self._write_names(new, names)
                self._write_publications(new)
                now = new.only(~withheld)
                last = self._write_notifications(state.sequence, list(_rows_of(now)))
                self._write_undecided(new)
                write_withheld(self._database, _rows_of(new.only(withheld)))
                write_open_pairs(self._database, pairs)
                write_parts(self._database, open)
                reach("outbox.rows-written")
                self._reach(state, max(state.told, upto), last)
                reach("outbox.position-written")
            self._known |= known
            self._open |= {registration for _, registration in pairs}
            self._committed()
            if pairs:
                reach("outbox.some-wait")
            dropped = int(np.searchsorted(rows.publication, first))
            return Committed(
                state.sequence + 1, last, dropped, self._differing(rows, first, after, min(state.told, upto))
            )

    def settle(self, rows: OutboxBatch, upto: int, names: Names, after: int = 0) -> Committed:
        """Record what became of the open pairs of publications at positions in (`after`, `upto`], in one synced
        transaction: rows, undecided pairs, or nothing.

        Pairs that `rows` still await stay open, and what is known of them is kept. Rows of pairs that are not open add
        nothing. Withheld rows that no open pair precedes any more are recorded too, in order. Raises ValueError where
        `upto` is beyond `told`, and for a row beyond `upto`.
        """
        _check_end(rows, upto)
        with self._database.lock:
            if upto > self.told:
                raise ValueError(f"nothing waits beyond position {self.told}, so up to {upto} nothing can be settled")
            with self._write():
                state = self.state
                still = {(int(rows.positions[at]), registration) for at, registration, _ in rows.awaited}
                settled = [pair for pair in read_open_pairs(self._database, after, upto) if pair not in still]
                end_pairs(self._database, settled)
                registrations = sorted({registration for _, registration in settled})
                open = first_open(self._database, registrations)
                new = rows.of_pairs(settled)
                known = self._write_names(new, names)
                self._write_publications(new, _NO_ROWS)
                self._write_undecided(new)
                decided = list(_rows_of(new))
                write_withheld(
                    self._database,
                    (row for row in decided if row.position >= open.get(row.registration, row.position + 1)),
                )
                told = release(self._database, registrations, open)
                told += [row for row in decided if row.position < open.get(row.registration, row.position + 1)]
                last = self._write_notifications(state.sequence, sorted(told))
                if told:
                    write_rows(self._database, "late", [(last, min(told).position)])
                reach("outbox.rows-written")
                self._reach(state, state.told, last)
                reach("outbox.position-written")
            self._known |= known
            self._open -= {*registrations} - open.keys()
            self._committed()
            return Committed(state.sequence + 1, last, len(rows.publication) - len(decided), ())

    def reopen(self, parts: Sequence[OpenPart]) -> None:
        """Store what is known of open pairs again, in the place of parts that could not be read."""
        with self._write():
            write_parts(self._database, parts)

    def prune(self, upto: int) -> int:
        """Delete notifications up to sequence `upto`, and the undecided pairs of the publications left behind.

        Returns how many notifications went. Raises `StorageFault`, also on a full disk, where SQLite cannot delete
        either; what went in the steps before is gone.
        """
        upto, pruned = row_number(upto, "the sequence to prune to"), 0
        while True:
            with self._write():
                state = self.state
                after = prune(self._database, state, upto)
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
            self._write_state(prune_undecided(self._database, self.state, upto))
        return int(pairs)

    # ---- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _write(self) -> Iterator[None]:
        """A transaction of the folder's writer."""
        with self._database.write():
            self._check_writer()
            yield

    def _write_state(self, state: State) -> None:
        crc = fields_checksum("state", *state)
        fields = ", ".join(f"{name} = ?" for name in State._fields)
        self._database.run(f"UPDATE state SET {fields}, crc = ?", [(*state, crc)])

    def _reach(self, state: State, told: int, sequence: int) -> None:
        """Write how far everything has come."""
        ((open,),) = self._database.ask("SELECT min(position) FROM open_pair")
        self._write_state(state._replace(told=told, progress=told if open is None else open - 1, sequence=sequence))

    def _committed(self) -> None:
        self._mark(self.state)
        reach("outbox.committed")

    def _mark(self, state: State) -> None:
        if self._end is not None:
            self._end.set(*state.mark)

    def _behind_open(self, new: OutboxBatch) -> NDArray[np.bool_]:
        """[rows] Whether an open pair of its registration precedes each."""
        first = dict.fromkeys(self._open, -1)
        for publication, registration, _ in new.awaited:
            first[registration] = min(publication, first.get(registration, publication))
        behind = np.zeros(len(new.publication), np.bool_)
        if first:
            for row in np.flatnonzero(np.isin(new.registration, list(first))).tolist():
                behind[row] = int(new.publication[row]) > first[int(new.registration[row])]
        return behind

    def _write_names(self, new: OutboxBatch, names: Names) -> set[int]:
        """Write name and owner of ids seen for the first time; return them: they are known once this is committed."""
        seen = {*np.unique(new.registration).tolist(), *(pair.registration for pair in new.undecided)}
        found = [
            (int(each.id), each.subscription.name, each.subscription.owner)
            for each in names(sorted(seen - self._known))
        ]
        write_rows(self._database, "registration", found, "INSERT OR IGNORE")
        return {name[0] for name in found}

    def _write_publications(self, new: OutboxBatch, digest: bytes | None = None) -> None:
        """Write the publications that rows or undecided pairs are of, with the digest of their rows or the one given:
        it is of what was decided without operators, and stays."""
        told = {*np.unique(new.publication).tolist(), *(pair.publication for pair in new.undecided)}
        publications = (
            (int(new.positions[at]), graph, version, time, publication_key(graph, version), digest or new.digest_of(at))
            for at in sorted(told)
            for graph, version, time in [(new.graphs[at], new.versions[at], new.accepted_at[at])]
        )
        write_rows(self._database, "publication", publications, "INSERT OR IGNORE")

    def _write_undecided(self, new: OutboxBatch) -> None:
        pairs = (
            (int(new.positions[pair.publication]), int(pair.registration), bounded_reason(pair.reason))
            for pair in new.undecided
        )
        write_rows(self._database, "undecided", pairs, "INSERT OR IGNORE")

    def _write_notifications(self, sequence: int, rows: Sequence[WithheldRow]) -> int:
        """Write `rows` as the notifications after `sequence`; return the last sequence."""
        write_notifications(self._database, sequence + 1, rows)
        return sequence + len(rows)

    def _differing(self, rows: OutboxBatch, first: int, after: int | None, upto: int) -> tuple[int, ...]:
        """Of the publications before `first` and those in (`after`, `upto`], all committed earlier, the ones whose rows
        are not those kept. One that is not kept had no rows, unless it may have been pruned."""
        replayed = {int(rows.positions[index]): rows.digest_of(index) for index in range(first)}
        begin = min([*replayed, upto + 1 if after is None else after + 1])
        statement = "SELECT position, digest FROM publication WHERE position >= ? AND position <= ?"
        kept: dict[int, bytes] = dict(self._database.ask(statement, (begin, upto)))
        left_out = [] if after is None else [position for position in kept if position > after]
        forgotten = self.state.forgotten
        return tuple(
            position
            for position in sorted({*replayed, *left_out})
            if (position in kept or position > forgotten)
            and replayed.get(position, _NO_ROWS) != kept.get(position, _NO_ROWS)
        )


def _check_end(rows: OutboxBatch, upto: int) -> None:
    if len(rows.positions) and int(rows.positions[-1]) > upto:
        raise ValueError(f"a publication at {rows.positions[-1]} cannot be committed as told up to {upto}")


def _rows_of(batch: OutboxBatch) -> Iterator[WithheldRow]:
    positions = batch.positions[batch.publication].tolist()
    columns = (positions, batch.registration.tolist(), batch.change.tolist(), batch.texts(0))
    return (WithheldRow(*row) for row in zip(*columns, strict=True))
