"""The one order of everything that changes an answer, written by one writer (docs/storage.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from triplecast.crash_points import reach
from triplecast.end_mark import EndMark, close_untouched, has_content
from triplecast.errors import FolderLocked, InputError, StorageFault
from triplecast.journal.check import RESTORE, check_end
from triplecast.journal.documents import (
    Acceptance,
    Accepted,
    append_documents,
    append_removal,
    latest_version,
    write_files,
)
from triplecast.journal.operator_data import (
    write_learnt,
    write_operator,
    write_results,
)
from triplecast.journal.reader import JournalFile
from triplecast.journal.record import (
    COUNTED,
    JOURNAL,
    Clock,
    Kind,
    Row,
    Writing,
    checksum,
    read_clock,
    row_of,
    subscription_row,
    system_clock,
    time_text,
    verify,
)
from triplecast.journal.records import DATABASE, END, acknowledged
from triplecast.journal.writer_lock import WriterLock
from triplecast.model.answers import Answer, GroundCall, OperatorResult
from triplecast.model.events import Removal, TaxonomyVersion
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Draft, FileState, Position, Reject
from triplecast.model.subscription import API, NO_END, Lease, Registration, RegistrationId, Subscription, check_fields
from triplecast.sqlite import Database, make_folder, storage_faults
from triplecast.taxonomy import Taxonomy


class Journal(JournalFile):
    """The writer: every method that changes something is one transaction, synced when it returns.

    A call that raises has written nothing. After `StorageFull` the same call works once there is space; see
    `Database.write` for other faults.
    """

    def __init__(self, database: Database, clock: Clock, epoch: int, former: str | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self.epoch = epoch
        """How many writers the folder has had, this one included."""
        self._held: list[WriterLock | EndMark] = []
        self._end: EndMark | None = None
        self.former = former
        """From whom the folder was taken over."""

    @classmethod
    def open(cls, folder: Path | str, clock: Clock = system_clock, take_over: bool = False) -> Journal:
        """The journal in `folder`, both made where there is none.

        Raises `FolderLocked` while another writer has it, `StorageFault` where it cannot be read or made. With
        `take_over` it becomes the writer in the place of one that lives (maybe stopped), which from then on writes
        nothing; `FolderLocked` then says that the other one is in the middle of a write.
        """
        folder = Path(folder)
        make_folder(folder)
        started = time_text(read_clock(clock))
        with ExitStack() as opened:
            lock, former = None, None
            try:
                with storage_faults(folder):
                    lock = opened.enter_context(closing(WriterLock(folder, started)))
            except FolderLocked as locked:
                if not take_over:
                    raise
                former = locked.holder
            mark = acknowledged(folder)
            if mark and not has_content(folder / DATABASE):
                raise StorageFault(str(folder / DATABASE), f"it is missing, and held {mark} records", RESTORE)
            database = opened.enter_context(closing(Database.writer(folder / DATABASE, JOURNAL)))
            if former is not None:
                database.settle(former)
            try:
                check_end(folder / DATABASE, JournalFile(database).last_record(), mark)
            except StorageFault:
                close_untouched(database, folder / DATABASE, JOURNAL)
                raise
            with database.write():
                if lock is None:
                    lock = opened.enter_context(closing(WriterLock(folder, started, replace=True)))
                lock.check()
                journal = cls(database, clock, _next_epoch(database), former)
            with journal.sole():
                journal._end = EndMark(folder / END, journal.head())
            journal._held = [journal._end, lock]
            opened.pop_all()
        return journal

    @classmethod
    def in_memory(cls, clock: Clock = system_clock) -> Journal:
        """A journal that ends with the process."""
        database = Database.writer(None, JOURNAL)
        with database.write():
            return cls(database, clock, _next_epoch(database))

    def close(self) -> None:
        super().close()
        for held in self._held:
            held.close()

    def __enter__(self) -> Journal:
        return self

    def announce(self, address: str) -> None:
        """Note with the writer's lock at which control socket this writer answers."""
        for held in self._held:
            if isinstance(held, WriterLock):
                held.announce(address)

    def check_writer(self) -> None:
        """Raises `FolderLocked` where another writer has taken this one's place."""
        (epoch,) = self._database.ask_one("SELECT epoch FROM writer")
        if epoch != self.epoch:
            holder = f"a later writer (epoch {epoch}, this one is {self.epoch})"
            raise FolderLocked(self._database.where, holder, "close this one: the other has the folder now")

    @contextmanager
    def sole(self) -> Iterator[None]:
        """Nobody else becomes the writer of the folder inside. Raises `FolderLocked` where another has."""
        with self._database.write():
            self.check_writer()
            yield

    # ---- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(
        self,
        subscriptions: Sequence[Subscription],
        lease: Lease = NO_END,
        tickets: Sequence[bytes] | None = None,
        source: str = API,
        ended: Sequence[int] = (),
    ) -> list[Registration]:
        """Register all or none, each with `lease` and with the hash of its ticket, where there are `tickets`; before
        them, cancel the `ended` registrations, in the same transaction.

        Raises `InputError` for a name that is live already, or given twice, for fields that are not text
        (`check_fields`) and for a lease that cannot be (`Lease.end`).
        """
        with self._append() as writing:
            end = lease.end(writing.at)
            added: dict[str, int] = {}
            hashes = [b""] * len(subscriptions) if tickets is None else tickets
            for subscription in subscriptions:
                check_fields(subscription)
            self._cancel(writing, ended)
            live = self.live_ids([subscription.name for subscription in subscriptions])
            for subscription, ticket in zip(subscriptions, hashes, strict=True):
                name = subscription.name
                if name in added or name in live:
                    raise InputError(
                        f"a subscription named {name!r} is registered already", "cancel it or take another name"
                    )
                added[name] = writing.add(subscription_row(writing.next, subscription, writing.at, end, ticket, source))
            names = [(name, id, checksum(name, (id,))) for name, id in added.items()]
            self._database.run("INSERT INTO live VALUES (?, ?, ?)", names)
            if end is not None:
                self._write_leases(added.values(), end)
        return [Registration(RegistrationId(added[each.name]), each, source=source) for each in subscriptions]

    def renew(self, id: int, lease: Lease) -> int | None:
        """Gives the lease of registration `id` another end, from now on; gives that end, None for none.

        Raises `InputError` where it is not live any more, and for a lease that cannot be (`Lease.end`).
        """
        with self._append() as writing:
            registration = self.registration(id)
            if registration is None or registration.removed is not None:
                raise InputError(f"registration {id} is not live", "subscribe again")
            end = lease.end(writing.at)
            name = registration.subscription.name
            writing.add(row_of(Kind.RENEWAL, writing.next, name, writing.at, number=id, body=json.dumps(end).encode()))
            self._write_leases([id], end)
        return end

    def end_leases(self) -> None:
        """Writes the end of every lease that is over now, as any method that writes does before it writes."""
        with self._database.lock:
            (last,) = self._database.ask_one("SELECT written_at FROM writer")
            if self._database.ask("SELECT 1 FROM lease WHERE end <= ? LIMIT 1", (max(read_clock(self._clock), last),)):
                with self._append():
                    pass

    def cancel(self, ids: Sequence[int]) -> list[Position]:
        """The position of each cancellation; of the earlier one where a registration was cancelled already.

        Raises `InputError` for a number that is no registration's.
        """
        with self._append() as writing:
            return self._cancel(writing, ids)

    def set_setting(self, name: str, value: str) -> None:
        """Record a setting of the folder."""
        with self.sole():
            row = (name, value, checksum(f"{name}\n{value}", ()))
            self._database.run("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", [row])

    # ---- taxonomies -------------------------------------------------------------------------------------------------

    def load_taxonomy(self, taxonomy: Taxonomy) -> int:
        """The position from which publications are asked with `taxonomy`; that of the last record where it says the
        same, and 0 for nothing where there is none."""
        with self._append() as writing:
            versions = self.taxonomies(writing.next - 1, writing.next - 1).versions
            known = versions[-1] if versions else TaxonomyVersion(0, b"", False)
            if (known.lines, known.broader) == (taxonomy.lines, taxonomy.broader):
                return known.position
            body, broader = taxonomy.lines, int(taxonomy.broader)
            return writing.add(row_of(Kind.TAXONOMY, writing.next, "", writing.at, number=broader, body=body))

    # ---- documents --------------------------------------------------------------------------------------------------

    def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Gives each draft its version, unless it equals the latest one; see `commit_documents`."""
        return self.commit_documents(drafts).accepted

    def reject(self, rejects: Sequence[Reject]) -> list[Position]:
        """Keeps the rejects; gives their positions."""
        return self.commit_documents((), rejects).rejected

    def commit_documents(
        self,
        drafts: Sequence[Draft],
        rejects: Sequence[Reject] = (),
        sources: Mapping[str, FileState] | None = None,
        gone: Sequence[str] = (),
    ) -> Acceptance:
        """Drafts, rejects and the state of the files they came from, in one transaction, so that a file is taken once.

        Versions of a graph count 1, 2, …; a draft whose digest is that of the graph's latest version, in this call or
        before, gets no record. All drafts of a call have one acceptance time. `gone` are files to forget.
        """
        with self._append() as writing:
            acceptance = append_documents(self._database, writing, drafts, rejects)
            write_files(self._database, sources or {}, gone)
        return acceptance

    def remove(self, graph: str) -> Removal | None:
        """Record the removal of the graph's current document; None, and no record, where it has none."""
        with self._append() as writing:
            return append_removal(self._database, writing, graph)

    # ---- operators --------------------------------------------------------------------------------------------------

    def answers_to(self, draft: Draft, operators: OperatorSet) -> Mapping[GroundCall, Answer]:
        """What these versions of operators gave for the latest version of the draft's graph, if that is of the same
        content, as `answers` has it; nothing else."""
        with self._database.reading():
            known = latest_version(self._database, draft.graph)
            if known is None or known.digest != draft.digest:
                return {}
            return self.answers(known.position - 1, known.position, operators).get(known.position, {})

    def declare_operators(self, declared: Sequence[Operator]) -> None:
        """Writes how operators are declared from now on, where that differs from what is written last."""
        known = {each.iri: each for each in self.operators()} if declared else {}
        changed = [each for each in declared if known.get(each.iri) != each]
        if not changed:
            return
        with self._append() as writing:
            for each in changed:
                row = row_of(Kind.OPERATOR, writing.next, each.iri, writing.at, body=write_operator(each))
                writing.add(row)

    def keep_results(self, results: Sequence[OperatorResult]) -> bool:
        """Keeps what operators gave, before anything that depends on it is told; the first kept of a call stays. False
        where another answer than one of these was kept: what depends on that one is to be made again."""
        if not results:
            return True
        with self.sole():
            same = write_results(self._database, results)
        reach("journal.results-kept")
        return same

    def keep_learnt(self, rows: Sequence[Learnt], gone: Sequence[str] = ()) -> None:
        """Of each template in the place of what was kept of it; of those that are `gone`, nothing."""
        with self.sole():
            write_learnt(self._database, rows, gone)

    # ---- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _append(self) -> Iterator[Writing]:
        """One transaction of this epoch's writer; its rows, before them the ends of leases that are over, are inserted
        at its end."""
        with self._database.lock:
            reach("journal.before-append")
            with self._database.write():
                writing = self._begin()
                yield writing
                if writing.rows:
                    self._database.run("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", writing.rows)
                    self._database.run("UPDATE writer SET written_at = ?", [(writing.at,)])
                    self._write_counts(writing.rows)
                reach("journal.appended")
            if writing.rows and self._end is not None:
                self._end.set(writing.next - 1)
            reach("journal.committed")

    def _begin(self) -> Writing:
        self.check_writer()
        (last,) = self._database.ask_one("SELECT written_at FROM writer")
        writing = Writing(self.head() + 1, max(read_clock(self._clock), last))
        over = self._database.ask(
            "SELECT registration, end, crc FROM lease WHERE end <= ? ORDER BY end, registration", (writing.at,)
        )
        for id, end, crc in over:
            verify(crc, self.where, f"the lease of {id}", "", (id, end))
        found = {of.id: of for of in self.registrations([id for id, _, _ in over])}
        for id, _, _ in over:
            self._write_end(writing, Kind.LEASE_END, found[id])
        return writing

    def _write_counts(self, rows: Sequence[Row]) -> None:
        for kind, more in sorted(Counter(row.kind for row in rows if row.kind in COUNTED).items()):
            records = self._counted(kind) + more
            row = (kind, records, checksum("", (kind, records)))
            self._database.run("INSERT OR REPLACE INTO record_count VALUES (?, ?, ?)", [row])

    def _cancel(self, writing: Writing, ids: Sequence[int]) -> list[Position]:
        found = {int(each.id): each for each in self.registrations(ids)}
        ended: dict[int, Position] = {id: each.removed for id, each in found.items() if each.removed is not None}
        for id in ids:
            if id not in found:
                raise InputError(f"there is no registration {id}", "use the number that subscribing gave")
            if id not in ended:
                ended[id] = self._write_end(writing, Kind.CANCELLATION, found[id])
        return [ended[id] for id in ids]

    def _write_end(self, writing: Writing, kind: Kind, registration: Registration) -> Position:
        """The position from which a live registration is asked no more."""
        id, name = int(registration.id), registration.subscription.name
        position = writing.add(row_of(kind, writing.next, name, writing.at, number=id))
        self._database.run("DELETE FROM live WHERE name = ?", [(name,)])
        self._database.run("DELETE FROM lease WHERE registration = ?", [(id,)])
        self._database.run("INSERT INTO ended VALUES (?, ?, ?)", [(id, position, checksum("", (id, position)))])
        return position

    def _write_leases(self, ids: Iterable[int], end: int | None) -> None:
        if end is None:
            self._database.run("DELETE FROM lease WHERE registration = ?", ((id,) for id in ids))
        else:
            rows = ((id, end, checksum("", (id, end))) for id in ids)
            self._database.run("INSERT OR REPLACE INTO lease VALUES (?, ?, ?)", rows)


def _next_epoch(database: Database) -> int:
    """Of a new writer, inside a transaction: the ones before it write nothing more."""
    database.run("UPDATE writer SET epoch = epoch + 1")
    (epoch,) = database.ask_one("SELECT epoch FROM writer")
    return int(epoch)
