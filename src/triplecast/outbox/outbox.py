"""The outbox: what is to be sent, written in one transaction with how far matching has come (docs/storage.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.faults import reach
from triplecast.model.answers import told_reason
from triplecast.model.match import publication_key
from triplecast.model.subscription import Registration
from triplecast.outbox.batch import OutboxBatch
from triplecast.outbox.reader import DATABASE, OutboxReader
from triplecast.outbox.tables import OUTBOX, added_rows, fields_checksum, verify_fields
from triplecast.sqlite import Database, make_folder, row_number

Names = Callable[[Sequence[int]], Iterable[Registration]]
"""Gives name and owner of the ids that the outbox meets for the first time (`JournalReader.registrations_of`)."""

_PRUNED_AT_ONCE = 50_000
_NOTHING_TOLD = OutboxBatch.joined(()).digest(0, 0)
"""Of a publication without rows."""


def _nobody_else() -> None:
    """Of an outbox that nobody can take over."""


class Committed(NamedTuple):
    """What one commit wrote."""

    first: int
    """Sequence of the first new notification; `last` + 1 when there is none."""
    last: int
    dropped: int
    """Rows of publications that were committed before."""
    differing: tuple[int, ...]
    """Positions among those whose rows now differ from the ones committed first, which stay (semantics 9.6)."""


class Outbox(OutboxReader):
    """The writer. There is one, because there is one for the journal beside it.

    What is committed stays under its sequence and id until it is pruned; committing it again adds nothing, even then.
    """

    def __init__(self, database: Database, check_writer: Callable[[], None] = _nobody_else) -> None:
        """`check_writer` raises where another has become the folder's writer; it is asked inside each transaction."""
        super().__init__(database)
        self._check_writer = check_writer
        with self._write():
            pass  # one that began before the folder was taken over has ended now
        self._known: set[int] = {id for (id,) in database.ask("SELECT id FROM registration")}
        self._waiting = Counter(id for (id,) in database.ask("SELECT registration FROM waiting"))
        """By registration, how many of its pairs wait."""

    @classmethod
    def open(
        cls, folder: Path | str, check_writer: Callable[[], None] = _nobody_else, former: str | None = None
    ) -> Outbox:
        """The outbox in `folder`, made where there is none. Raises `StorageFault`, and `FolderLocked` while `former`,
        from whom the folder was taken over (`Journal.former`), is in the middle of a write."""
        make_folder(Path(folder))
        database = Database.writer(Path(folder) / DATABASE, OUTBOX)
        try:
            if former is not None:
                database.settle(former)
            return cls(database, check_writer)
        except BaseException:
            database.close()
            raise

    @classmethod
    def in_memory(cls) -> Outbox:
        """An outbox that ends with the process."""
        return cls(Database.writer(None, OUTBOX))

    def __enter__(self) -> Outbox:
        return self

    def commit(self, rows: OutboxBatch, upto: int, names: Names, after: int | None = None) -> Committed:
        """Writes what is told of publications beyond `told`, and how far that is now, in one synced transaction.

        `rows` hold all that is told of publications beyond `after` (default: `progress`), so that one which had rows
        and has none now differs. Where they name pairs that operators have to be asked about (`awaited`), those wait
        for `settle`; so do later rows of the same registrations, so that nobody is told of a publication before an
        earlier one. Without such pairs `upto` is the new `progress`. Raises ValueError for a row beyond `upto`.
        """
        _check_end(rows, upto)
        with self._database.lock:
            with self._write():
                (done, sequence), told = self._progress(), self.told
                first = int(np.searchsorted(rows.positions, told, side="right"))
                new = rows.part(first, len(rows.positions))
                waiting = self._waiting_of(new)
                new = new.only(~_among(new, waiting))
                known = self._write_names(new, names)
                self._write_rows(new, new, sequence + 1)
                self._wait_for(waiting)
                reach("outbox.rows-written")
                last = sequence + len(new.publication)
                self._reach(max(told, upto), last)
                reach("outbox.position-written")
            self._known |= known
            self._waiting.update(registration for _, registration in waiting)
            reach("outbox.committed")
            if waiting:
                reach("outbox.some-wait")
            dropped = int(np.searchsorted(rows.publication, first))
            matched = int(np.searchsorted(rows.positions, done, side="right"))
            return Committed(sequence + 1, last, dropped, self._differing(rows, matched, after, min(done, upto)))

    def settle(self, rows: OutboxBatch, upto: int, names: Names, after: int = 0) -> Committed:
        """Writes what became of the pairs that wait, of publications at positions in (`after`, `upto`], in one synced
        transaction.

        `rows` hold all that is told of each publication that has such pairs, those told before included: they are
        held to what was told. Pairs that `rows` still await (`awaited`) wait on, as those up to `after` do, and with
        each what is told of its registration later. Raises ValueError where `upto` is beyond `told`, and for a row
        beyond `upto`.
        """
        _check_end(rows, upto)
        with self._database.lock:
            if upto > self.told:
                raise ValueError(f"nothing waits beyond position {self.told}, so up to {upto} nothing can be settled")
            with self._write():
                sequence, told = self._progress()[1], self.told
                waiting = self._waiting_until(upto)
                held = _held(waiting, after, [(int(rows.positions[at]), of) for at, of, _ in rows.awaited])
                differing = self._differing(rows.only(~_among(rows, waiting)), len(rows.positions), None, upto)
                all_told = rows.only(~_among(rows, held))
                settled = sorted({*waiting} - held)
                new = all_told.only(_among(all_told, settled))
                known = self._write_names(new, names)
                self._write_rows(new, all_told, sequence + 1)
                self._database.run("DELETE FROM waiting WHERE position = ? AND registration = ?", settled)
                reach("outbox.rows-written")
                last = sequence + len(new.publication)
                if last > sequence:
                    row = (last, int(new.positions[new.publication[0]]))
                    self._database.run("INSERT INTO late VALUES (?, ?, ?)", [(*row, fields_checksum("late", *row))])
                self._reach(told, last)
                reach("outbox.position-written")
            self._known |= known
            self._waiting -= Counter(registration for _, registration in settled)
            reach("outbox.committed")
            return Committed(sequence + 1, last, len(rows.publication) - len(new.publication), differing)

    def prune(self, upto_sequence: int) -> int:
        """Deletes notifications up to `upto_sequence`, and undecided pairs of the publications that leaves behind.

        Gives how many notifications went. Raises `StorageFault`, also on a full disk, where SQLite cannot delete
        either; what went in the steps before is gone.
        """
        upto_sequence = row_number(upto_sequence, "the sequence to prune to")
        pruned = 0
        while True:
            with self._write():
                rows = self._database.ask(
                    "SELECT sequence, position FROM notification WHERE sequence <= ? ORDER BY sequence LIMIT ?",
                    (upto_sequence, _PRUNED_AT_ONCE),
                )
                if not rows:
                    return pruned
                last, position = rows[-1]
                self._database.run("DELETE FROM notification WHERE sequence <= ?", [(last,)])
                self._database.run("DELETE FROM late WHERE last <= ?", [(last,)])
                left = self._first_position()
                self._forget(min(position if left is None else left - 1, self.progress))
                reach("outbox.pruned")
            pruned += len(rows)

    def prune_undecided(self, upto: int) -> int:
        """Deletes the undecided pairs of publications at positions up to `upto`; gives how many. Raises `StorageFault`.

        Notifications stay.
        """
        upto = row_number(upto, "the position to prune to")
        with self._write():
            ((pairs,),) = self._database.ask("SELECT count(*) FROM undecided WHERE position <= ?", (upto,))
            self._forget(min(upto, self.progress))
        return int(pairs)

    def _forget(self, upto: int) -> None:
        """Deletes undecided pairs up to this position, and publications that neither pairs nor notifications need."""
        self._database.run("DELETE FROM undecided WHERE position <= ?", [(upto,)])
        horizon = max(self._horizon(), upto)
        crc = fields_checksum("horizon", horizon)
        self._database.run("UPDATE horizon SET position = ?, crc = ?", [(horizon, crc)])
        needed = self._first_position()
        first = horizon + 1 if needed is None else min(needed, horizon + 1)
        self._database.run("DELETE FROM publication WHERE position < ?", [(first,)])

    def _first_position(self) -> int | None:
        """The first publication that a notification is of. They stand in order of position, but for those settled
        late, each group of which `late` remembers by its first."""
        for sequence, position in self._database.ask(
            "SELECT sequence, position FROM notification ORDER BY sequence LIMIT 1"
        ):
            ((late,),) = self._database.ask("SELECT min(position) FROM late WHERE last >= ?", (sequence,))
            return int(position if late is None else min(position, late))
        return None

    # ---- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _write(self) -> Iterator[None]:
        """A transaction of the folder's writer."""
        with self._database.write():
            self._check_writer()
            yield

    def _waiting_of(self, new: OutboxBatch) -> list[tuple[int, int]]:
        """Position and registration of the pairs that wait: those that operators are asked about, and all that would be
        told of their registrations after them."""
        held = dict.fromkeys(self._waiting, -1)
        for publication, registration, _ in reversed(new.awaited):
            if held.get(registration, 0) >= 0:
                held[registration] = publication
        pairs = {(publication, registration) for publication, registration, _ in new.awaited}
        if held:
            for row in np.flatnonzero(np.isin(new.registration, list(held))).tolist():
                publication, registration = int(new.publication[row]), int(new.registration[row])
                if publication > held[registration]:
                    pairs.add((publication, registration))
        return sorted((int(new.positions[publication]), registration) for publication, registration in pairs)

    def _waiting_until(self, upto: int) -> list[tuple[int, int]]:
        statement = "SELECT position, registration, crc FROM waiting WHERE position <= ? ORDER BY position"
        rows = self._database.ask(statement, (upto,))
        for position, registration, crc in rows:
            verify_fields(self._database.where, "waiting", (position, registration), crc)
        return [(position, registration) for position, registration, _ in rows]

    def _wait_for(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._database.run(
            "INSERT INTO waiting VALUES (?, ?, ?)", ((*pair, fields_checksum("waiting", *pair)) for pair in pairs)
        )

    def _reach(self, told: int, sequence: int) -> None:
        """Writes how far everything has come."""
        ((waiting,),) = self._database.ask("SELECT min(position) FROM waiting")
        progress = (told if waiting is None else waiting - 1, sequence)
        self._database.run("UPDATE told SET position = ?, crc = ?", [(told, fields_checksum("told", told))])
        crc = fields_checksum("progress", *progress)
        self._database.run("UPDATE progress SET position = ?, sequence = ?, crc = ?", [(*progress, crc)])

    def _write_names(self, new: OutboxBatch, names: Names) -> set[int]:
        """Ids that were written now; they are known only once the transaction is committed."""
        met = {*np.unique(new.registration).tolist(), *(pair.registration for pair in new.undecided)}
        found = [
            (int(each.id), each.subscription.name, each.subscription.owner) for each in names(sorted(met - self._known))
        ]
        self._database.run(
            "INSERT OR IGNORE INTO registration VALUES (?, ?, ?, ?)",
            ((*name, fields_checksum("registration", *name)) for name in found),
        )
        return {name[0] for name in found}

    def _write_rows(self, new: OutboxBatch, all: OutboxBatch, sequence: int) -> None:
        """The rows and undecided pairs of `new`; `all` has the same publications, with all that is told of them."""
        told = {*np.unique(new.publication).tolist(), *(pair.publication for pair in new.undecided)}
        publications = (
            (int(new.positions[index]), graph, version, at, publication_key(graph, version), all.digest_of(index))
            for index in sorted(told)
            for graph, version, at in [(new.graphs[index], new.versions[index], new.accepted_at[index])]
        )
        self._database.run(
            "INSERT OR REPLACE INTO publication VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((*row, fields_checksum("publication", *row)) for row in publications),
        )
        positions = new.positions[new.publication]
        self._database.run(
            "INSERT INTO notification(sequence, position, registration, bindings, crc) VALUES (?, ?, ?, ?, ?)",
            added_rows(sequence, positions, new.registration, new.texts(0)),
        )
        pairs = (
            (int(new.positions[pair.publication]), int(pair.registration), told_reason(pair.reason))
            for pair in new.undecided
        )
        self._database.run(
            "INSERT OR IGNORE INTO undecided(position, registration, reason, crc) VALUES (?, ?, ?, ?)",
            ((*pair, fields_checksum("undecided", *pair)) for pair in pairs),
        )

    def _differing(self, rows: OutboxBatch, first: int, after: int | None, upto: int) -> tuple[int, ...]:
        """Of the publications before `first` and those in (`after`, `upto`], all committed earlier, the ones whose rows
        are not those kept. One that is not kept had no rows, unless it may have been pruned."""
        replayed = {int(rows.positions[index]): rows.digest_of(index) for index in range(first)}
        begin = min([*replayed, upto + 1 if after is None else after + 1])
        kept: dict[int, bytes] = dict(
            self._database.ask(
                "SELECT position, digest FROM publication WHERE position >= ? AND position <= ?", (begin, upto)
            )
        )
        left_out = [] if after is None else [position for position in kept if position > after]
        horizon = self._horizon()
        return tuple(
            position
            for position in sorted({*replayed, *left_out})
            if (position in kept or position > horizon)
            and replayed.get(position, _NOTHING_TOLD) != kept.get(position, _NOTHING_TOLD)
        )


def _check_end(rows: OutboxBatch, upto: int) -> None:
    if len(rows.positions) and int(rows.positions[-1]) > upto:
        raise ValueError(f"a publication at {rows.positions[-1]} cannot be committed as told up to {upto}")


def _held(waiting: Sequence[tuple[int, int]], after: int, open: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Of the pairs (position, registration) that wait, those that wait on: up to `after`, those that are `open`, and
    whatever comes later of their registrations."""
    first: dict[int, int] = {}
    for position, registration in (*open, *(pair for pair in waiting if pair[0] <= after)):
        first[registration] = min(position, first.get(registration, position))
    return {pair for pair in waiting if pair[1] in first and pair[0] >= first[pair[1]]}


def _among(rows: OutboxBatch, pairs: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """[rows] Whether each is of one of these pairs of position and registration."""
    found = np.zeros(len(rows.publication), np.bool_)
    wanted = set(pairs)
    if wanted:
        near = np.flatnonzero(np.isin(rows.registration, [registration for _, registration in wanted]))
        for row in near.tolist():
            found[row] = (int(rows.positions[rows.publication[row]]), int(rows.registration[row])) in wanted
    return found
