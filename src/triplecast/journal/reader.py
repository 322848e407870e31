"""All else that is read of a journal: who came and went, leases, rejects, files, settings; and whether it is whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import StorageFault
from triplecast.journal.check import check_end, check_journal, check_written
from triplecast.journal.interface import RegistryChanges, RegistrySlice
from triplecast.journal.leases import read_leases
from triplecast.journal.operator_data import check_answers, check_attachments, read_learnt, read_result, read_results
from triplecast.journal.parts import PartChange, last_change, read_changes
from triplecast.journal.record import (
    ENDS,
    JOURNAL,
    LONGEST_SPAN,
    REGISTRY_KINDS,
    SCHEMA_SETTING,
    SCOPE_SETTING,
    SPAN,
    Kind,
    Row,
    read_reject,
    time_text,
    verify,
)
from triplecast.journal.records import DATABASE, Acknowledged, Records, acknowledged
from triplecast.journal.subscription_blocks import SubscriptionBlock, hearing_setting, ids_of
from triplecast.journal.versions import LatestVersion, latest_version
from triplecast.model.answers import OF_ARGUMENTS, GroundCall, OperatorResult
from triplecast.model.match import Learnt
from triplecast.model.publication import FileState, Position, Reject
from triplecast.model.subscription import REPOSITORY, Registration, RegistrationId
from triplecast.schema import NO_SCHEMA, RdfSchema, restore_schema
from triplecast.sqlite import SqliteFile, row_number
from triplecast.storage_faults import RESTORE

_REGISTRY = (Kind.SUBSCRIPTION, *ENDS)
_ALL = (1 << 63) - 1
_LAST = 1 << 62
"""No position is as high, so one may calculate with it."""


class Rejected(NamedTuple):
    position: Position
    rejected_at: str
    reject: Reject


class JournalFile(Records):
    """A journal in SQLite: what matching reads of it (`MatchingReader`), and what a folder's own processes read beside.

    What has a position never changes, and nothing is ever written before `head`: two readers of one range see the same.
    Ranges exclude `after` and include `upto`; positions beyond `head` are empty.
    """

    @staticmethod
    def read_only(folder: Path | str) -> JournalFile:
        """Return a follower of the journal in `folder`, which need not exist yet. It takes no lock."""
        return JournalFile(SqliteFile.follower(Path(folder) / DATABASE, JOURNAL))

    @property
    def folder(self) -> Path | None:
        """Where the file is; None in memory."""
        path = Path(self.where)
        return path.parent if path.is_absolute() else None

    # ---- the registry -----------------------------------------------------------------------------------------------

    def registry_changes(self, after: int, upto: int) -> RegistryChanges:
        """What changed at positions in (after, upto]. From the start to the head it raises `StorageFault` where damage
        hides a record."""
        slices = list(self.registry_slices(after, upto, _ALL))
        return slices[0].changes if slices else RegistryChanges([], [])

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        """The same in parts of at most `most`, or of what one record says, in order, so that no more of the registry is
        in memory at once.

        An end that comes in a later part is set in `Registration.removed` already.
        """
        reached, found = after, 0
        while reached < upto:
            with self._database.reading():
                rows, whole = self._registry_rows(reached, upto, most)
                found += len(rows)
                if whole and after == 0 and upto >= self.head():
                    self._check_found(found, *_REGISTRY)
                starts = [id for row in rows if row.kind == Kind.SUBSCRIPTION for id in ids_of(row)]
                later = {} if whole else self.ended_at(starts)
            first, reached = reached + 1, upto if whole else rows[-1].position
            if rows:
                ends = {id: position for id, position in later.items() if position <= upto}
                yield RegistrySlice(_changes(rows, ends, range(first, upto + 1)), reached)

    def _registry_rows(self, after: int, upto: int, most: int) -> tuple[list[Row], bool]:
        """The rows that have a position in (`after`, `upto`], as many as have `most` positions, or one; and whether
        these are all."""
        rows: list[Row] = []
        statement = (
            f"SELECT * FROM record WHERE position > ?1 AND position < ?2 + {LONGEST_SPAN} AND kind IN {REGISTRY_KINDS}"
            f" AND position - {SPAN} < ?2 ORDER BY position"
        )
        with closing(self._database.each(statement, (after, min(upto, _LAST)))) as found:
            for row in self._verified(found, _REGISTRY):
                most -= len(ids_of(row)) if row.kind == Kind.SUBSCRIPTION else 1
                if most < 0 and rows:
                    return rows, False
                if rows:
                    self._refuse_twice([rows[-1].position, row.position])
                rows.append(row)
        return rows, True

    def resyncs(self, after: int, upto: int) -> list[tuple[int, int]]:
        """The positions in (`after`, `upto`] at which a registration's answer was asked for again, and which one's."""
        statement = f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind = {Kind.RESYNC:d} ORDER BY 1"
        return [(row.position, row.number) for row in self._rows(statement, (after, upto))]

    def next_registry_change(self, after: int) -> int | None:
        """The first position beyond `after` that changes the registry."""
        rows = self._database.ask(
            f"SELECT position, {SPAN} FROM record WHERE position > ? AND kind IN {REGISTRY_KINDS} ORDER BY 1 LIMIT 1",
            (after,),
        )
        return max(after, int(rows[0][0]) - int(rows[0][1])) + 1 if rows else None

    def live_registrations(self, at: int | None = None) -> list[Registration]:
        """Those that a publication at the next position after `at` (default: the head) is evaluated against, by id."""
        changes = self.registry_changes(0, 2**62 if at is None else at)
        return [registration for registration in changes.added if registration.removed is None]

    def live_registration(self, name: str) -> Registration | None:
        """The registration that is live under the subscriber's `name`."""
        with self._database.lock:
            id = self.live_ids([name]).get(name)
            return None if id is None else self.registrations_at([id])[0]

    def live_ids(self, names: Sequence[str]) -> dict[str, int]:
        """The numbers of the registrations that are live under those of the subscribers' `names` that have one."""
        found = {}
        for name, id, crc in self._ask_in("SELECT name, registration, crc FROM live WHERE name", names):
            verify(crc, self.where, f"the entry of subscription {name}", name, (id,))
            found[name] = int(id)
        return found

    def count_live(self, now: int) -> int:
        """How many registrations are live and have a lease that is not over at `now`, in microseconds since 1970."""
        over = "SELECT coalesce(sum(last - first + 1), 0) FROM lease WHERE end <= ?"
        statement = f"SELECT (SELECT count(*) FROM live) - ({over})"
        return sum(int(count) for (count,) in self._database.ask(statement, (now,)))

    def ticket_hash(self, id: int) -> bytes:
        """Of the ticket of registration `id`; empty where it was given none."""
        with self._database.lock:
            return next((block.ticket(id) for id, block in self._blocks_with([id])), b"")

    def lease_ends(self, ids: Sequence[int] | None = None) -> dict[int, int]:
        """When the leases of live registrations end (of all, or of those among `ids`), in microseconds since 1970; one
        without an end is not there."""
        leases = read_leases(self._database, ids)
        if ids is None:
            return {id: end for shared, end in leases for id in shared}
        wanted = sorted({*ids})
        some = ((wanted[bisect_left(wanted, of.start) : bisect_left(wanted, of.stop)], end) for of, end in leases)
        return {id: end for shared, end in some for id in shared}

    def over(self, ids: Iterable[int], now: int) -> set[int]:
        """The registrations that are cancelled, or whose lease is over at `now`, in microseconds since 1970, whether or
        not the writer has noted it; those that never were, too."""
        wanted = sorted({*ids})
        known, ends = self.registrations(wanted), self.lease_ends(wanted)
        live = {int(each.id) for each in known if each.removed is None and ends.get(int(each.id), now + 1) > now}
        return {*wanted} - live

    # ---- documents, files, settings ---------------------------------------------------------------------------------

    def latest(self, graph: str) -> LatestVersion | None:
        """The latest version of a graph; None for one that was never published."""
        return latest_version(self._database, graph)

    def count_publications(self, after: int) -> int:
        """How many there are at positions beyond `after`."""
        statement = f"SELECT count(*) FROM record WHERE position > ? AND kind = {Kind.PUBLICATION:d}"
        return sum(int(count) for (count,) in self._database.ask(statement, (after,)))

    def next_document(self, after: int) -> int | None:
        """The position of the first publication or removal beyond `after`."""
        kinds = f"({Kind.PUBLICATION:d}, {Kind.REMOVAL:d})"
        statement = f"SELECT position FROM record WHERE position > ? AND kind IN {kinds} ORDER BY position LIMIT 1"
        rows = self._database.ask(statement, (after,))
        return int(rows[0][0]) if rows else None

    def quiet_upto(self, after: int) -> int:
        """Up to where, beyond `after`, nothing happens that changes an answer: no document or taxonomy comes or goes,
        and no subscription of repository scope begins."""
        if SCOPE_SETTING not in self.settings():
            return self.head()
        kinds = ", ".join(str(int(kind)) for kind in (Kind.PUBLICATION, Kind.REMOVAL, Kind.TAXONOMY, Kind.SUBSCRIPTION))
        statement = f"SELECT * FROM record WHERE position > ? AND kind IN ({kinds}) ORDER BY position"
        with self._database.reading(), closing(self._database.each(statement, (after,))) as rows:
            for row in self._verified(rows):
                if row.kind != Kind.SUBSCRIPTION:
                    return row.position - 1
                block = SubscriptionBlock(row)
                if any(block.registration(id).subscription.scope == REPOSITORY for id in block.ids):
                    return block.ids.start - 1
            return self.head()

    def rejects(self, after: int = 0, most: int = -1) -> list[Rejected]:
        """What was rejected at positions beyond `after`, by position; the first ones, or all."""
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND kind = {Kind.REJECT:d} ORDER BY position LIMIT ?",
            (row_number(after, "after"), most),
            (Kind.REJECT,),
        )
        return [Rejected(row.position, time_text(row.written_at), read_reject(row)) for row in rows]

    def learnt(self) -> list[Learnt]:
        """What had been learnt of operators when it was kept last."""
        return read_learnt(self._database)

    def operator_results(self, after: int, upto: int) -> list[OperatorResult]:
        """What operators gave for publications at positions in (`after`, `upto`]."""
        return read_results(self._database, "position > ? AND position <= ?", "", (after, upto))

    def result_of_arguments(self, call: GroundCall, version: str) -> OperatorResult | None:
        """What a version of an operator gave of arguments alone, for all documents together."""
        return read_result(self._database, OF_ARGUMENTS, call, version)

    def part_changes(self, after: int, upto: int) -> list[PartChange]:
        """Return what changed of what cut documents hold, beyond the change `after`, at positions up to `upto`."""
        with self._database.reading():
            return [*read_changes(self._database, after, upto)]

    def last_part_change(self) -> int:
        return last_change(self._database)

    def sources(self, paths: Sequence[str] | None = None) -> dict[str, FileState]:
        """Files that the inbox watcher has taken, and how far topics were read, by path; of some `paths` alone."""
        statement = "SELECT path, size, mtime_ns, digest, outcome, crc FROM file"
        if paths is None:
            rows = self._database.ask(f"{statement} ORDER BY path")
        else:
            rows = self._ask_in(f"{statement} WHERE path", paths)
        states = {}
        for path, size, mtime_ns, digest, outcome, crc in rows:
            verify(crc, self.where, f"source {path}", f"{path}\n{outcome}", (size, mtime_ns), digest)
            states[str(path)] = FileState(size, mtime_ns, digest, outcome)
        return states

    def settings(self) -> dict[str, str]:
        """The recorded settings of the folder, by name."""
        settings = {}
        for name, value, crc in self._database.ask("SELECT * FROM setting"):
            verify(crc, self.where, f"setting {name}", f"{name}\n{value}", ())
            settings[str(name)] = str(value)
        return settings

    def has_hearers(self, notify: str) -> bool:
        """Whether a subscription that wants to hear this (`model.subscription.NOTIFY`) was ever registered."""
        return hearing_setting(notify) in self.settings()

    def schema(self, upto: int | None = None) -> RdfSchema:
        """The schema that holds at position `upto`, or now: the last one loaded by then."""
        with self._database.reading():
            position = int(self.settings().get(SCHEMA_SETTING, 0))
            if (position == 0) != (self._counted(Kind.SCHEMA) == 0):
                raise StorageFault(self.where, "its last schema cannot be found", RESTORE)
            while position and upto is not None and position > upto:
                position = self._schema_row(position).number
            return restore_schema(self._schema_row(position).body) if position else NO_SCHEMA

    def _schema_row(self, position: int) -> Row:
        for row in self._rows_at([position], Kind.SCHEMA):
            return row
        raise StorageFault(self.where, f"record {position} is no schema, as what follows it says", RESTORE)

    # ---- whether it is whole ----------------------------------------------------------------------------------------

    def check_last(self, mark: Acknowledged) -> None:
        """Verify what the next record follows. Raises `StorageFault` where it is damaged, or not what was acknowledged
        last."""
        with self._database.reading():  # a successor may write meanwhile, where this process was stopped
            last = self._rows("SELECT * FROM record ORDER BY position DESC LIMIT 1")
            check_end(Path(self.where), max((row.position for row in last), default=0), mark.position)
            check_written(self._database, max((row.written_at for row in last), default=0), mark.epoch)

    def check(self) -> None:
        """Reads everything. Raises `StorageFault` for the first page, record or repeated fact that is wrong or missing
        (`check_journal`). What the inbox watcher noted of a file is verified, its absence cannot be seen."""
        path = Path(self.where)
        mark = acknowledged(path.parent).position if path.name == DATABASE else 0
        with self._database.reading():
            self._database.check_pages()
            self.sources()
            self.settings()
            check_attachments(self._database, check_journal(self._database))
            check_answers(self._database)
            check_end(path, self.head(), mark)


def _changes(rows: Sequence[Row], ends: Mapping[int, int], positions: range) -> RegistryChanges:
    """Those that rows of the registry tell of `positions`, in order; `ends`: removals of some that other rows tell."""
    removed = {row.number: row.position for row in rows if row.kind in ENDS}
    added: list[Registration] = []
    for row in rows:
        if row.kind == Kind.SUBSCRIPTION:
            block = SubscriptionBlock(row)
            ids = range(max(block.ids.start, positions.start), min(block.ids.stop, positions.stop))
            added += [block.registration(id, removed.get(id) or ends.get(id)) for id in ids]
    return RegistryChanges(added, [(RegistrationId(id), position) for id, position in removed.items()])
