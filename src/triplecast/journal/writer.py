"""The one writer of a journal: transactions that append records, and documents in them (docs/storage.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Self

from triplecast.crash_points import reach
from triplecast.end_mark import EndMark, close_untouched, has_content
from triplecast.errors import FolderLocked, InputError, ReplicaWritten, StorageFault
from triplecast.journal.cutting import Acceptance, Accepted, CutDocuments, Dropped
from triplecast.journal.interface import RegistryChanges, RegistrySlice
from triplecast.journal.last_commit import Fresh, LastCommit, NewRegistrations
from triplecast.journal.leases import drop_ended
from triplecast.journal.operator_data import write_attachments
from triplecast.journal.parts import has_parts
from triplecast.journal.reader import JournalFile
from triplecast.journal.record import (
    COUNTED,
    EVENTS,
    JOURNAL,
    REGISTRY_KINDS,
    REPLICATES,
    Clock,
    Kind,
    Row,
    Writing,
    checksum,
    publication_row,
    read_clock,
    reject_row,
    row_of,
    system_clock,
    time_text,
)
from triplecast.journal.records import DATABASE, END, acknowledged
from triplecast.journal.versions import LatestVersion, latest_versions, write_latest
from triplecast.journal.writer_lock import WriterLock
from triplecast.model.events import Event
from triplecast.model.publication import HELD, Draft, FileState, Position, Publication, Reject
from triplecast.model.subscription import Registration
from triplecast.sqlite import SqliteFile
from triplecast.storage_faults import RESTORE, make_folder, storage_faults
from triplecast.taxonomy import Taxonomies


class JournalWriter(JournalFile):
    """Appends records: every method that changes something is one transaction, synced when it returns.

    What it appended it need not read back: `LastCommit`, the taxonomies that apply, and `Fresh`. All three are dropped
    by an append that raises, in whatever state that leaves the file, and where another writer has the folder.

    A call that raises has written nothing. After `StorageFull` the same call works once there is space; see
    `SqliteFile.write` for other faults.
    """

    def __init__(self, database: SqliteFile, clock: Clock, epoch: int, former: str | None = None) -> None:
        super().__init__(database)
        self._clock = clock
        self.epoch = epoch
        """How many writers the folder has had, this one included."""
        self._held: list[WriterLock | EndMark] = []
        self._end: EndMark | None = None
        self._acknowledged = 0
        self._last: LastCommit | None = None
        self._fresh: Fresh | None = None
        self._new: NewRegistrations | None = None
        self._has_parts: bool | None = None
        """Whether a document may hold what it was cut into, once that was looked up."""
        self._taxonomies: tuple[int, Taxonomies] | None = None
        """Those that publications beyond a position are matched with, as long as no other is loaded."""
        self.former = former
        """From whom the folder was taken over."""
        self.outbox_mark: tuple[int, ...] = ()
        """How far the outbox beside it had come when this was noted last."""
        self.replicates: str | None = self.settings().get(REPLICATES) or None
        """The folder whose records this journal takes; it has no other ones."""

    @classmethod
    def open(cls, folder: Path | str, clock: Clock = system_clock, take_over: bool = False) -> Self:
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
            if mark.position and not has_content(folder / DATABASE):
                raise StorageFault(str(folder / DATABASE), f"it is missing, and held {mark.position} records", RESTORE)
            database = opened.enter_context(closing(SqliteFile.writer(folder / DATABASE, JOURNAL, former)))
            try:
                JournalFile(database).check_last(mark)
            except StorageFault:
                close_untouched(database, folder / DATABASE, JOURNAL)
                raise
            with database.write():
                if lock is None:
                    lock = opened.enter_context(closing(WriterLock(folder, started, replace=True)))
                lock.check()
                restored = mark.position == 0 and JournalFile(database).head() > 0
                journal = cls(database, clock, _next_epoch(database, read_clock(clock) if restored else 0), former)
            journal.outbox_mark = mark.outbox
            with journal.sole():
                journal._acknowledged = journal.head()
                journal._end = EndMark(folder / END, journal._acknowledged, journal.epoch, *mark.outbox)
            journal._held = [journal._end, lock]
            opened.pop_all()
        return journal

    @classmethod
    def in_memory(cls, clock: Clock = system_clock) -> Self:
        """A journal that ends with the process."""
        database = SqliteFile.writer(None, JOURNAL)
        with database.write():
            return cls(database, clock, _next_epoch(database))

    def close(self) -> None:
        super().close()
        for held in self._held:
            held.close()

    def note_outbox(self, mark: tuple[int, ...]) -> None:
        """Note beside the journal how far the outbox has come: an older copy of that one is known by it."""
        self.outbox_mark = mark
        if self._end is not None:
            self._end.set(self._acknowledged, self.epoch, *mark)

    def announce(self, address: str) -> None:
        """Note with the writer's lock at which control socket this writer answers."""
        for held in self._held:
            if isinstance(held, WriterLock):
                held.announce(address)

    def check_writer(self) -> None:
        """Raises `FolderLocked` where another writer has taken this one's place."""
        if self._database.is_in_memory():
            return  # nobody else can have it
        (epoch,) = self._database.ask_one("SELECT epoch FROM writer")
        if epoch != self.epoch:
            self._forget()
            holder = f"a later writer (epoch {epoch}, this one is {self.epoch})"
            raise FolderLocked(self._database.where, holder, "close this one: the other has the folder now")

    @contextmanager
    def sole(self) -> Iterator[None]:
        """Nobody else becomes the writer of the folder inside. Raises `FolderLocked` where another has."""
        with self._database.write():
            self.check_writer()
            yield

    # ---- what was appended is not read back -------------------------------------------------------------------------

    def head(self) -> Position:
        last = self._last
        return super().head() if last is None else last.head

    def events(
        self,
        after: int,
        upto: int,
        limit: int | None = None,
        most_bytes: int | None = None,
        kinds: Container[int] = EVENTS,
    ) -> list[Event]:
        fresh = self._fresh
        if fresh is None or after < fresh.after:
            return super().events(after, upto, limit, most_bytes, kinds)
        return fresh.some(after, upto, limit, most_bytes, kinds)

    def resyncs(self, after: int, upto: int) -> list[tuple[int, int]]:
        fresh = self._fresh
        return super().resyncs(after, upto) if fresh is None or after < fresh.after else []

    def let_go(self) -> None:
        """Hold no more what was appended last: it has been read."""
        self._fresh = None

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        with self._database.lock:
            known = self._taxonomies
            if known is not None and after < known[0] and all(each.position <= after for each in known[1].versions[:1]):
                return known[1]
            if known is None or after < known[0]:
                found = super().taxonomies(after, upto)
                if (
                    self._last is None
                    or upto < self._last.head
                    or any(each.position > after for each in found.versions)
                ):
                    return found
                known = self._taxonomies = after, found
            return known[1]

    def has_registry_changes(self, after: int) -> bool:
        """Whether the registry may have changed at positions beyond `after`."""
        last = self._last
        return last is None or last.registry > after

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        last = self._last
        new = self._new
        if last is not None and new is not None and new.is_all(after, upto, most, last):
            self._new = None
            yield RegistrySlice(RegistryChanges(new.registrations, []), upto)
        elif after == 0 or self.has_registry_changes(after):
            yield from super().registry_slices(after, upto, most)

    def _forget(self) -> None:
        self._last = self._fresh = self._taxonomies = self._new = None

    # ---- documents --------------------------------------------------------------------------------------------------

    def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Give each draft its version, unless it equals the latest one; see `commit_documents`."""
        return self.commit_documents(drafts).accepted

    def commit_documents(
        self,
        drafts: Sequence[Draft],
        rejects: Sequence[Reject] = (),
        sources: Mapping[str, FileState] | None = None,
        gone: Sequence[str] = (),
    ) -> Acceptance:
        """Drafts, rejects and the state of the files they came from, in one transaction, so that a file is taken once.

        Versions of a graph count 1, 2, …; a draft whose digest is that of the graph's latest version, in this call or
        before, gets no record. A graph that a document was cut into, and no document holds any more, is removed. All
        drafts of a call have one acceptance time. `gone` are files to forget.
        """
        with self._append() as writing:
            accepted, dropped = self._accept_documents(writing, drafts)
            rejected = [writing.add(reject_row(writing.next, reject, writing.at)) for reject in rejects]
            if sources or gone:
                write_files(self._database, sources or {}, gone)
        return Acceptance(accepted, rejected, dropped)

    def _accept_documents(self, writing: Writing, drafts: Sequence[Draft]) -> tuple[list[Accepted], dict[int, Dropped]]:
        """Add the records of drafts, of which some may be parts of cut documents."""
        if self._has_parts is None:
            self._has_parts = has_parts(self._database)
        if self._has_parts or any(draft.origin for draft in drafts):
            self._has_parts = True
            return self._documents(writing).accept(drafts)
        return self._accept(writing, drafts), {}

    def _documents(self, writing: Writing) -> CutDocuments:
        def read(position: int) -> Publication:
            row = next((row for row in writing.rows if row.position == position), None)
            found = self.bodies([position])[position] if row is None else self._event(row)
            assert isinstance(found, Publication)
            return found

        return CutDocuments(self._database, writing, lambda drafts: self._accept(writing, drafts), read)

    def _accept(self, writing: Writing, drafts: Sequence[Draft]) -> list[Accepted]:
        """Add the records of drafts that are new versions."""
        latest = latest_versions(self._database, (draft.graph for draft in drafts))
        changed: dict[str, LatestVersion] = {}
        accepted = []
        for draft in drafts:
            graph, outcome, known = draft.graph, "unchanged", latest.get(draft.graph)
            if known is None or known.digest != draft.digest:
                outcome = "accepted"
                version = 1 if known is None else known.version + 1
                former = known.position if known is not None and known.digest else 0
                position = writing.add(publication_row(writing.next, draft, version, writing.at, former))
                if draft.attachments:
                    write_attachments(self._database, position, draft.attachments)
                known = latest[graph] = changed[graph] = LatestVersion(version, position, writing.at, draft.digest)
            at = time_text(known.written_at)
            accepted.append(Accepted(known.position, graph, known.version, at, outcome, draft.labels))
        write_latest(self._database, changed)
        return accepted

    def remove(self, graph: str) -> Dropped:
        """Record the removal of the graph's current document, and of what a document of this name was cut into; nothing
        where there is neither. Raises `InputError` for what a local repository holds of its provider."""
        if graph.startswith(HELD):
            raise InputError(f"{graph} is of the provider", "unsubscribe what holds it")
        with self._append() as writing:
            return self._documents(writing).remove(graph)

    # ---- appending --------------------------------------------------------------------------------------------------

    @contextmanager
    def _append(self, replicated: bool = False) -> Iterator[Writing]:
        """One transaction of this epoch's writer; its rows, before them the ends of leases that are over, are inserted
        at its end. Those of a replica are `replicated`, with the times that they have. Raises `FolderLocked` for others
        in a replica."""
        with self._database.lock:
            reach("journal.before-append")
            last, taxonomies, new = self._last, self._taxonomies, self._new
            self._forget()  # until this is committed
            with self._database.write():
                self.check_writer()
                if self.replicates is not None and not replicated:
                    raise ReplicaWritten(str(Path(self.where).parent), self.replicates)
                last = last or self._read_last()
                writing = Writing(last.head + 1, last.written_at) if replicated else self._begin(last)
                yield writing
                first_end = last.first_end
                if writing.rows:
                    self._database.run("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", writing.rows)
                    self._database.run("UPDATE writer SET written_at = ?", ((writing.at,),))
                    if not writing.kinds.isdisjoint(COUNTED):
                        self._write_counts(writing.rows)
                    if writing.changes_registry:
                        first_end = self._read_first_end()
                    if Kind.TAXONOMY in writing.kinds:
                        taxonomies = None
                reach("journal.appended")
            if writing.rows and self._end is not None:
                self._acknowledged = writing.next - 1
                self._end.set(self._acknowledged, self.epoch, *self.outbox_mark)
            reach("journal.committed")
            self._taxonomies, self._new = taxonomies, last.unread(new, writing)
            self._last, self._fresh = last.following(writing, first_end) if writing.rows else last, Fresh.of(writing)

    def _read_last(self) -> LastCommit:
        (written_at,) = self._database.ask_one("SELECT written_at FROM writer")
        (registry,) = self._database.ask_one(f"SELECT max(position) FROM record WHERE kind IN {REGISTRY_KINDS}")
        return LastCommit(super().head(), written_at, self._read_first_end(), registry or 0)

    def _read_first_end(self) -> int | None:
        (first_end,) = self._database.ask_one("SELECT min(end) FROM lease")
        return None if first_end is None else int(first_end)

    def _begin(self, last: LastCommit) -> Writing:
        writing = Writing(last.head + 1, max(read_clock(self._clock), last.written_at))
        if last.first_end is None or last.first_end > writing.at:
            return writing
        over = drop_ended(self._database, writing.at)
        found = {int(of.id): of for of in self.registrations_at(over)}
        for id in over:
            self._write_end(writing, Kind.LEASE_END, found[id])
        return writing

    def _write_counts(self, rows: Sequence[Row]) -> None:
        for kind, more in sorted(Counter(row.kind for row in rows if row.kind in COUNTED).items()):
            records = self._counted(kind) + more
            row = (kind, records, checksum("", (kind, records)))
            self._database.run("INSERT OR REPLACE INTO record_count VALUES (?, ?, ?)", [row])

    def _write_end(self, writing: Writing, kind: Kind, registration: Registration) -> Position:
        """End a live registration, whose lease is dropped already; return the position of its end."""
        id, name = int(registration.id), registration.subscription.name
        position = writing.add(row_of(kind, writing.next, name, writing.at, number=id))
        self._write_ended(id, name, position)
        return position

    def _write_ended(self, id: int, name: str, position: int) -> None:
        self._database.run("DELETE FROM live WHERE name = ?", [(name,)])
        self._database.run("INSERT INTO ended VALUES (?, ?, ?)", [(id, position, checksum("", (id, position)))])


def write_files(database: SqliteFile, states: Mapping[str, FileState], gone: Sequence[str]) -> None:
    """Write the states of files by path, and forget those that are `gone`."""
    database.run("DELETE FROM file WHERE path = ?", ((path,) for path in gone))
    database.run(
        "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)",
        (
            (path, *state, checksum(f"{path}\n{state.outcome}", (state.size, state.mtime_ns), state.digest))
            for path, state in states.items()
        ),
    )


def _next_epoch(database: SqliteFile, least: int = 0) -> int:
    """Of a new writer, inside a transaction: the ones before it write nothing more. A journal that was restored from a
    copy gets the time as the `least`, since its copy may be restored twice, and no epoch may come twice."""
    database.run("UPDATE writer SET epoch = max(epoch + 1, ?)", [(least,)])
    (epoch,) = database.ask_one("SELECT epoch FROM writer")
    return int(epoch)
