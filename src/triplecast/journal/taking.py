"""What a journal takes from elsewhere: the records of a replica, the documents of a local repository or of a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import groupby

from triplecast.errors import InputError, StorageFault
from triplecast.journal.cutting import Accepted
from triplecast.journal.leases import drop_leases, write_lease
from triplecast.journal.operator_data import write_attachments
from triplecast.journal.parts import PartChange, write_changes, write_parts
from triplecast.journal.record import (
    ENDS,
    SCHEMA_SETTING,
    SCOPE_SETTING,
    Kind,
    Row,
    Writing,
    checksum,
    read_renewal,
    reject_row,
    verify_row,
)
from triplecast.journal.records import ReplicatedRecord
from triplecast.journal.subscription_blocks import SubscriptionBlock, hearing_setting, ids_of
from triplecast.journal.versions import LatestVersion, write_latest
from triplecast.journal.writer import JournalWriter, write_files
from triplecast.model.publication import Attachments, Draft, FileState, Reject
from triplecast.model.subscription import EVERY, NOTIFY, REPOSITORY, UPDATES


class TakingJournal(JournalWriter):
    """A writer that appends what another folder has."""

    _has_repository_scope: bool | None = None
    """As the setting says, once it was read."""
    _hearers: frozenset[str] | None = None
    """What registrations want to hear, or wanted; as the settings say, once they were read."""

    def commit_changes(
        self,
        changes: Sequence[Draft | str],
        sources: Mapping[str, FileState],
        gone: Sequence[str] = (),
        rejects: Sequence[Reject] = (),
    ) -> list[Accepted]:
        """Write documents and removals of graphs, in order, rejects, and where they come from (`commit_documents`), in
        one transaction. Return what became of each document."""
        accepted: list[Accepted] = []
        with self._append() as writing:
            for is_graph, some in groupby(changes, lambda change: isinstance(change, str)):
                if is_graph:
                    for graph in some:
                        self._documents(writing).remove(str(graph))
                else:
                    accepted += self._accept_documents(writing, [each for each in some if isinstance(each, Draft)])[0]
            for reject in rejects:
                writing.add(reject_row(writing.next, reject, writing.at))
            write_files(self._database, sources, gone)
        return accepted

    def take_records(self, records: Sequence[ReplicatedRecord], parts: Sequence[PartChange] = ()) -> None:
        """Append records as they are in the journal that this one replicates, in one transaction, after what changed
        there without a record of what cut documents hold.

        Raises `StorageFault` for one that is damaged or does not follow the last one here: then nothing was taken.
        """
        with self._append(replicated=True) as writing:
            self._take_parts(parts)
            for row, attachments, changes in records:
                verify_row(row, "the log of the provider")
                first = ids_of(row).start if row.kind == Kind.SUBSCRIPTION else row.position
                if first != writing.next or row.written_at < writing.at:
                    found = f"record {first} of the provider comes where {writing.next} is to follow"
                    raise StorageFault(self.where, found, "replicate into a new folder")
                self._repeat(writing, row, attachments)
                writing.at = row.written_at
                writing.add(row)
                self._take_parts(changes)

    def _take_parts(self, changes: Sequence[PartChange]) -> None:
        write_changes(self._database, changes)
        write_parts(self._database, {(each.document, each.graph): each.part for each in changes})

    def _repeat(self, writing: Writing, row: Row, attachments: Attachments) -> None:
        """Write what the tables beside the records repeat of one."""
        if row.kind in (Kind.PUBLICATION, Kind.REMOVAL):
            latest = LatestVersion(row.number, row.position, row.written_at, row.digest)
            write_latest(self._database, {row.name: latest})
            write_attachments(self._database, row.position, attachments)
        elif row.kind == Kind.SUBSCRIPTION:
            block = SubscriptionBlock(row)
            taken = [block.registration(id).subscription for id in block.ids]
            self._write_live([each.name for each in taken], block.ids.start)
            if block.end is not None:
                write_lease(self._database, block.ids, block.end)
            if any(each.scope == REPOSITORY for each in taken):
                self._write_setting(SCOPE_SETTING, "1")
            for notify in sorted(block.heard() - {EVERY}):
                self._write_setting(hearing_setting(notify), "1")
            self._has_repository_scope = self._hearers = None  # read again: this may not be committed
        elif row.kind in ENDS:
            drop_leases(self._database, [row.number])
            self._write_ended(row.number, row.name, row.position)
        elif row.kind == Kind.RENEWAL:
            drop_leases(self._database, [row.number])
            end = read_renewal(row)
            if end is not None:
                write_lease(self._database, range(row.number, row.number + 1), end)
        elif row.kind == Kind.SCHEMA:
            self._write_setting(SCHEMA_SETTING, str(row.position))

    def _heard(self) -> frozenset[str]:
        if self._hearers is None:
            settings = self.settings()
            self._hearers = frozenset(each for each in (*NOTIFY, UPDATES) if hearing_setting(each) in settings)
        return self._hearers

    def _write_heard(self, hears: Set[str]) -> frozenset[str]:
        """Note what registrations want to hear; return it, and what others want or wanted, once it is committed."""
        heard = self._heard()
        for notify in sorted(hears - heard - {EVERY}):
            self._write_setting(hearing_setting(notify), "1")
        return heard | (hears - {EVERY})

    def _write_live(self, names: Sequence[str], first: int) -> None:
        """Note that registrations from `first` on are live under `names`. Raises `InputError` where one is in use."""
        rows = sorted((name, id, checksum(name, (id,))) for id, name in enumerate(names, first))
        if self._database.run("INSERT OR IGNORE INTO live VALUES (?, ?, ?)", rows) < len(rows):
            live = self.live_ids(names)
            name = next(name for name, id, _ in rows if live[name] != id)
            raise InputError(f"subscription id {name!r} is in use", "unsubscribe it or choose another id")

    def _write_setting(self, name: str, value: str) -> None:
        row = (name, value, checksum(f"{name}\n{value}", ()))
        self._database.run("INSERT OR REPLACE INTO setting VALUES (?, ?, ?)", [row])
