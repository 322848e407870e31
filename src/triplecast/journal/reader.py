"""Reading the journal: by its writer, and by followers that take no lock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from triplecast.end_mark import read_end_mark
from triplecast.errors import StorageFault
from triplecast.journal.attached import (
    check_attached,
    is_outdated,
    read_answers,
    read_attachments_of,
    read_learnt,
    read_operator,
)
from triplecast.journal.check import RESTORE, check_end, check_journal
from triplecast.journal.record import (
    COUNT_INDEXED,
    ENDS,
    JOURNAL,
    REGISTRY_KINDS,
    UNINDEXED_KINDS,
    Kind,
    Row,
    attached_to,
    read_publication,
    read_registration,
    read_reject,
    read_ticket,
    time_text,
    verify,
    verify_row,
)
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.file_state import FileState
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Attachments, Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId
from triplecast.sqlite import Database, row_number
from triplecast.taxonomy import Taxonomies, TaxonomyVersion

DATABASE = "journal.sqlite"
END = "journal.end"
_REGISTRY = (Kind.SUBSCRIPTION, *ENDS)
BYTES_AT_ONCE = 16 << 20
"""Of documents or their quads, attachments included, that are held in memory together, wherever they are taken in
groups."""
KEYS_AT_ONCE = 500
"""Keys that one statement looks up."""
_VERSIONS_KEPT = 4
_ALL = (1 << 63) - 1


class Rejected(NamedTuple):
    position: int
    rejected_at: str
    reject: Reject


class RegistryChanges(NamedTuple):
    """What happened to the registry in a range of positions; who came and went within it stands in both."""

    added: list[Registration]
    """By position; `Registration.removed` is set when the removal is within the range too."""
    removed: list[tuple[RegistrationId, int]]
    """Registration and the position of its removal, by position."""


class RegistrySlice(NamedTuple):
    """The changes up to a position, after those of the slice before."""

    changes: RegistryChanges
    upto: int


class _Taken(NamedTuple):
    found: list[tuple[Row, Attachments]]
    """Publications, each with what came with it."""
    read: int
    """Rows, those of other kinds too."""
    last: int | None
    """The position at which a bound was met."""


class JournalReader:
    """The records up to now, each verified by its checksum as it is read.

    Whatever a statement sees is whole commits. Methods may be called from any thread; they raise `StorageFault` for a
    damaged record. While there is no journal yet, it reads as an empty one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.where = database.where
        """The file's path; ``memory`` where there is none."""
        self._versions: dict[int, TaxonomyVersion] = {}
        """Taxonomies read lately, by position: an immutable record is read once."""

    @staticmethod
    def read_only(folder: Path | str) -> JournalReader:
        """A follower of the journal in `folder`, which need not exist yet: it takes no lock."""
        return JournalReader(Database.follower(Path(folder) / DATABASE, JOURNAL))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> int:
        """The last position written; 0 when nothing is."""
        rows = self._database.ask("SELECT max(position) FROM record")
        return int(rows[0][0] or 0) if rows else 0

    def last_record(self) -> int:
        """`head`, by a record that is verified: a damaged number would be where the next one is written."""
        return max(
            (row.position for row in self._rows("SELECT * FROM record ORDER BY position DESC LIMIT 1")), default=0
        )

    def publications(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> list[Publication]:
        """Publications at positions in (after, upto], by position, at most `limit`, and none after the one with which
        their quads come to `most_bytes`. Raises `StorageFault` where damage hides a record among them."""
        with self._database.reading():
            reached = min(upto, self.head())
            rows = f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {UNINDEXED_KINDS}"
            found, read, last = self._take(f"{rows} ORDER BY position", (after, reached), limit, most_bytes)
            reached = reached if last is None else last
            (indexed,) = self._database.ask_one(COUNT_INDEXED, (after, reached)) if reached > after else (0,)
        if read + indexed != max(0, reached - after):
            found_wrong = f"of the records {after + 1} to {reached} only {read + indexed} can be found"
            raise StorageFault(self.where, found_wrong, RESTORE)
        return _published(found)

    def count_publications(self, after: int) -> int:
        """How many stand at positions beyond `after`."""
        statement = f"SELECT count(*) FROM record WHERE position > ? AND kind = {Kind.PUBLICATION:d}"
        return sum(int(count) for (count,) in self._database.ask(statement, (after,)))

    def last_publications(self, count: int, most_bytes: int | None = None) -> list[Publication]:
        """The `count` newest publications, or as many as come to `most_bytes`, by position."""
        statement = f"SELECT * FROM record WHERE kind = {Kind.PUBLICATION:d} ORDER BY position DESC"
        count = row_number(count, "the number of publications")
        with self._database.reading():
            return _published(self._take(statement, (), count, most_bytes).found)[::-1]

    def registry_changes(self, after: int, upto: int) -> RegistryChanges:
        """What changed at positions in (after, upto]. From the start to the head it raises `StorageFault` where damage
        hides a record."""
        slices = list(self.registry_slices(after, upto, _ALL))
        return slices[0].changes if slices else RegistryChanges([], [])

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        """The same in parts of at most `most` records, in order, so that no more of the registry is in memory at once.

        An end that comes in a later part is set in `Registration.removed` already.
        """
        reached, found = after, 0
        while reached < upto:
            with self._database.reading():
                rows = self._registry_rows(reached, upto, most)
                found += len(rows)
                whole = len(rows) < most
                if whole and after == 0 and upto >= self.head():
                    self._check_found(found, *_REGISTRY)
                starts = [row.position for row in rows if row.kind == Kind.SUBSCRIPTION]
                later = {} if whole else self._cancelled_at(starts)
            reached = upto if whole else rows[-1].position
            if rows:
                ends = {id: position for id, position in later.items() if position <= upto}
                yield RegistrySlice(_changes(rows, ends), reached)

    def _registry_rows(self, after: int, upto: int, most: int) -> list[Row]:
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {REGISTRY_KINDS}"
            " ORDER BY position LIMIT ?",
            (after, upto, most),
            _REGISTRY,
        )
        self._refuse_twice([row.position for row in rows])
        return rows

    def next_registry_change(self, after: int) -> int | None:
        """The first position beyond `after` that changes the registry."""
        rows = self._database.ask(
            f"SELECT min(position) FROM record WHERE position > ? AND kind IN {REGISTRY_KINDS}", (after,)
        )
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def next_publication(self, after: int) -> int | None:
        """The position of the first publication beyond `after`."""
        statement = (
            f"SELECT position FROM record WHERE position > ? AND kind = {Kind.PUBLICATION:d} ORDER BY position LIMIT 1"
        )
        rows = self._database.ask(statement, (after,))
        return int(rows[0][0]) if rows else None

    def registrations(self, at: int | None = None) -> list[Registration]:
        """Those that a publication at the next position after `at` (default: the head) is asked of, by id."""
        changes = self.registry_changes(0, 2**62 if at is None else at)
        return [registration for registration in changes.added if registration.removed is None]

    def registration(self, id: int) -> Registration | None:
        """The registration `id`, live or cancelled, as of now; None where there never was one."""
        return next(iter(self.registrations_of([id])), None)

    def registrations_of(self, ids: Sequence[int]) -> list[Registration]:
        """The registrations among `ids`, as of now, by id."""
        found = []
        wanted = sorted(set(ids))
        with self._database.lock:
            for start in range(0, len(wanted), KEYS_AT_ONCE):
                some = wanted[start : start + KEYS_AT_ONCE]
                cancelled = self._cancelled_at(some)
                marks = ",".join("?" * len(some))
                rows = self._rows(
                    f"SELECT * FROM record WHERE position IN ({marks}) AND kind = {Kind.SUBSCRIPTION:d}"
                    " ORDER BY position",
                    some,
                )
                found += [read_registration(row, cancelled.get(row.position)) for row in rows]
        return found

    def live_registration(self, name: str) -> Registration | None:
        """The registration that is live under the subscriber's `name`."""
        with self._database.lock:
            id = self.live_ids([name]).get(name)
            return None if id is None else self.registration(id)

    def live_ids(self, names: Sequence[str]) -> dict[str, int]:
        """The numbers of the registrations that are live under those of the subscribers' `names` that have one."""
        found = {}
        for name, id, crc in self._ask_in("SELECT name, registration, crc FROM live WHERE name", names):
            verify(crc, self._database.where, f"the entry of subscription {name}", name, (id,))
            found[name] = int(id)
        return found

    def ticket_hash(self, id: int) -> bytes:
        """Of the ticket of registration `id`; empty where it was given none."""
        rows = self._rows(f"SELECT * FROM record WHERE position = ? AND kind = {Kind.SUBSCRIPTION:d}", (id,))
        return next(map(read_ticket, rows), b"")

    def lease_ends(self, ids: Sequence[int] | None = None) -> dict[int, int]:
        """When the leases of live registrations end (of all, or of those among `ids`), in microseconds since 1970; one
        without an end is not there."""
        statement = "SELECT registration, end, crc FROM lease"
        if ids is None:
            rows = self._database.ask(f"{statement} ORDER BY registration")
        else:
            rows = self._ask_in(f"{statement} WHERE registration", ids)
        return dict(self._verified_lease(*row) for row in rows)

    def _verified_lease(self, id: int, end: int, crc: int) -> tuple[int, int]:
        verify(crc, self._database.where, f"the lease of {id}", "", (id, end))
        return id, end

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        """What publications at positions in (after, upto] are asked with: the last version up to `after`, and those
        behind it."""
        with self._database.reading():
            rows = self._database.ask(f"SELECT position FROM record WHERE kind = {Kind.TAXONOMY:d} ORDER BY position")
            positions = [int(position) for (position,) in rows]
            self._check_count(positions, Kind.TAXONOMY)
            first = max(bisect_right(positions, after) - 1, 0)
            return Taxonomies(tuple(self._taxonomy(each) for each in positions[first : bisect_right(positions, upto)]))

    def _taxonomy(self, position: int) -> TaxonomyVersion:
        found = self._versions.get(position)
        if found is None:
            row = next(iter(self._rows("SELECT * FROM record WHERE position = ?", (position,))), None)
            if row is None or row.kind != Kind.TAXONOMY:
                raise StorageFault(self.where, f"record {position} is no taxonomy, as its index says", RESTORE)
            found = self._versions[position] = TaxonomyVersion(row.position, row.body, bool(row.number))
            while len(self._versions) > _VERSIONS_KEPT:
                del self._versions[min(self._versions)]
        return found

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]:
        """What these versions of operators gave for publications at positions in (after, upto], by position, as far as
        it is kept."""
        with self._database.reading():
            return read_answers(self._database, after, upto, operators)

    def outdated(self, positions: Iterable[int], operators: OperatorSet) -> list[int]:
        """Of these, where something is kept that another version of an operator gave than that of `operators`."""
        with self._database.reading():
            return [position for position in positions if is_outdated(self._database, position, operators)]

    def operators(self) -> list[Operator]:
        """Those that subscriptions ask or have asked, as they were declared last, by IRI."""
        rows = self._rows(
            f"SELECT * FROM record WHERE kind = {Kind.OPERATOR:d} ORDER BY position", kinds=(Kind.OPERATOR,)
        )
        latest = {row.name: read_operator(row.body) for row in rows}
        return [latest[iri] for iri in sorted(latest)]

    def learnt(self) -> list[Learnt]:
        """What had been learnt of operators when it was kept last."""
        return read_learnt(self._database)

    def rejects(self, after: int = 0) -> list[Rejected]:
        """What was rejected at positions beyond `after`, by position."""
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND kind = {Kind.REJECT:d} ORDER BY position",
            (row_number(after, "after"),),
            (Kind.REJECT,),
        )
        return [Rejected(row.position, time_text(row.written_at), read_reject(row)) for row in rows]

    def sources(self) -> dict[str, FileState]:
        """Files that the inbox watcher has taken, by path."""
        rows = self._database.ask("SELECT * FROM file ORDER BY path")
        return {row[0]: self._source(*row) for row in rows}

    def source(self, path: str) -> FileState | None:
        """The state of one of `sources`; None where it was not taken."""
        rows = self._database.ask("SELECT * FROM file WHERE path = ?", (path,))
        return next((self._source(*row) for row in rows), None)

    def _source(self, path: str, size: int, mtime_ns: int, digest: bytes, outcome: str, crc: int) -> FileState:
        verify(crc, self._database.where, f"source {path}", f"{path}\n{outcome}", (size, mtime_ns), digest)
        return FileState(size, mtime_ns, digest, outcome)

    def check(self) -> None:
        """Reads everything. Raises `StorageFault` for the first page, record or repeated fact that is wrong or missing
        (`check_journal`). What the inbox watcher noted of a file is verified, its absence cannot be seen."""
        path = Path(self.where)
        mark = acknowledged(path.parent) if path.name == DATABASE else 0
        with self._database.reading():
            self._database.check_pages()
            self.sources()
            check_attached(self._database, check_journal(self._database))
            check_end(path, self.head(), mark)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _rows(self, statement: str, values: Sequence[object] = (), kinds: Container[int] | None = None) -> list[Row]:
        """The rows of a statement; `kinds` are those that a partial index may lead to, which SQLite does not check."""
        where = self._database.where
        rows = [verify_row(fields, where) for fields in self._database.ask(statement, values)]
        for row in rows:
            if kinds is not None and row.kind not in kinds:
                raise StorageFault(where, f"record {row.position} is not what an index of the file says", RESTORE)
        return rows

    def _take(self, statement: str, values: Sequence[object], limit: int | None, most_bytes: int | None) -> _Taken:
        """The publications among the rows of a statement, up to either bound."""
        found: list[tuple[Row, Attachments]] = []
        read = size = 0
        if limit == 0:
            return _Taken(found, read, 0)
        with closing(self._database.each(statement, values)) as rows:
            for fields in rows:
                row = verify_row(fields, self.where)
                read += 1
                if row.kind == Kind.PUBLICATION:
                    attached = attached_to(row)
                    attachments = read_attachments_of(self._database, row.position, attached) if attached else ()
                    found.append((row, attachments))
                    size += len(row.body) + sum(len(content) for _, content in attachments)
                    if len(found) == limit or (most_bytes is not None and size >= most_bytes):
                        return _Taken(found, read, row.position)
        return _Taken(found, read, None)

    def _counted(self, kind: int) -> int:
        """How many records of one of the `COUNTED` kinds there are."""
        for records, crc in self._database.ask("SELECT records, crc FROM record_count WHERE kind = ?", (int(kind),)):
            verify(crc, self.where, f"the count of records of kind {kind:d}", "", (int(kind), records))
            return int(records)
        return 0

    def _check_count(self, positions: Sequence[int], *kinds: Kind) -> None:
        """Raises `StorageFault` unless these, ascending, are the positions of all records of `kinds`, each once."""
        self._refuse_twice(positions)
        self._check_found(len(positions), *kinds)

    def _refuse_twice(self, positions: Sequence[int]) -> None:
        for position, following in pairwise(positions):
            if position == following:
                raise StorageFault(self.where, f"an index of the file leads to record {position} twice", RESTORE)

    def _check_found(self, found: int, *kinds: Kind) -> None:
        """Raises `StorageFault` unless there are so many records of `kinds`."""
        counted = sum(map(self._counted, kinds))
        if found != counted:
            names = ", ".join(kind.name.lower().replace("_", " ") for kind in kinds)
            told = f"it holds {counted} records of kind {names}, of which {found} can be found"
            raise StorageFault(self.where, told, RESTORE)

    def _cancelled_at(self, ids: Sequence[int]) -> dict[int, int]:
        positions = {}
        for id, position, crc in self._ask_in("SELECT * FROM ended WHERE registration", ids):
            verify(crc, self._database.where, f"the cancellation of {id}", "", (id, position))
            positions[id] = position
        return positions

    def _ask_in(self, statement: str, keys: Sequence[object]) -> list[Any]:
        """The rows of a statement, which ends with a column, whose column is one of `keys`; `KEYS_AT_ONCE` a query."""
        rows: list[Any] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            rows += self._database.ask(f"{statement} IN ({','.join('?' * len(some))})", some)
        return rows


def acknowledged(folder: Path) -> int:
    """Return the position up to which the end mark of the journal in `folder` says that records were committed."""
    numbers = read_end_mark(folder / END)
    return numbers[0] if numbers else 0


def _changes(rows: Sequence[Row], ends: Mapping[int, int]) -> RegistryChanges:
    """Those that rows of the registry tell, in order; `ends`: the removals of some that other rows tell."""
    removed = {row.number: row.position for row in rows if row.kind in ENDS}
    added = [
        read_registration(row, removed.get(row.position) or ends.get(row.position))
        for row in rows
        if row.kind == Kind.SUBSCRIPTION
    ]
    return RegistryChanges(added, [(RegistrationId(id), position) for id, position in removed.items()])


def _published(rows: Sequence[tuple[Row, Attachments]]) -> list[Publication]:
    texts = {at: time_text(at) for at in {row.written_at for row, _ in rows}}
    return [read_publication(row, texts[row.written_at], attachments) for row, attachments in rows]
