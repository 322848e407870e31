"""Reading the journal: by its writer, and by followers that take no lock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import StorageFault
from triplecast.journal.answers import check_answers, read_answers, read_learnt, read_operator
from triplecast.journal.attachments import check_attachments, read_attachments_of
from triplecast.journal.check import RESTORE, check_end, check_journal
from triplecast.journal.record import (
    COUNT_INDEXED,
    EVENTS,
    JOURNAL,
    UNINDEXED_KINDS,
    Kind,
    Row,
    attached_to,
    read_event,
    read_reject,
    time_text,
    verify,
    verify_row,
)
from triplecast.journal.records import DATABASE, KEYS_AT_ONCE, acknowledged
from triplecast.journal.registry_reader import RegistryReader
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import Event, TaxonomyVersion
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Attachments, FileState, Publication, Reject
from triplecast.sqlite import SqliteFile, row_number
from triplecast.taxonomy import Taxonomies

BYTES_AT_ONCE = 16 << 20
"""Of documents or their quads, attachments included, that are held in memory together, wherever they are taken in
groups."""
_VERSIONS_KEPT = 4


class Rejected(NamedTuple):
    position: int
    rejected_at: str
    reject: Reject


class _Taken(NamedTuple):
    found: list[tuple[Row, Attachments]]
    """Each with what came with it."""
    read: int
    """Rows, those of other kinds too."""
    last: int | None
    """The position at which a bound was met."""


class JournalFile(RegistryReader):
    """A journal in SQLite: what `interface.JournalReader` promises, and what a folder's own processes read beside."""

    def __init__(self, database: SqliteFile) -> None:
        super().__init__(database)
        self._versions: dict[int, TaxonomyVersion] = {}
        """Taxonomies read lately, by position: an immutable record is read once."""

    @staticmethod
    def read_only(folder: Path | str) -> JournalFile:
        """Return a follower of the journal in `folder`, which need not exist yet. It takes no lock."""
        return JournalFile(SqliteFile.follower(Path(folder) / DATABASE, JOURNAL))

    def events(self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None) -> list[Event]:
        """Return what happened at positions in (`after`, `upto`], in order: publications, removals, taxonomies; at most
        `limit`, and none after the one with which their bodies come to `most_bytes`.

        Raises `StorageFault` where damage hides a record among them.
        """
        return self._events(after, upto, limit, most_bytes, EVENTS)

    def publications(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> list[Publication]:
        """Return the publications among `events`; both bounds are of them alone."""
        found = self._events(after, upto, limit, most_bytes, (Kind.PUBLICATION,))
        return [event for event in found if isinstance(event, Publication)]

    def _events(
        self, after: int, upto: int, limit: int | None, most_bytes: int | None, kinds: Container[int]
    ) -> list[Event]:
        with self._database.reading():
            reached = min(upto, self.head())
            rows = f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {UNINDEXED_KINDS}"
            found, read, last = self._take(f"{rows} ORDER BY position", (after, reached), limit, most_bytes, kinds)
            reached = reached if last is None else last
            (indexed,) = self._database.ask_one(COUNT_INDEXED, (after, reached)) if reached > after else (0,)
        if read + indexed != max(0, reached - after):
            found_wrong = f"of the records {after + 1} to {reached} only {read + indexed} can be found"
            raise StorageFault(self.where, found_wrong, RESTORE)
        return _as_events(found)

    def bodies(self, positions: Sequence[int]) -> dict[int, Publication]:
        """Return the publications at `positions`, with their attachments, by position.

        Raises `StorageFault` where one of them is no publication.
        """
        with self._database.reading():
            taken: list[tuple[Row, Attachments]] = []
            for start in range(0, len(positions), KEYS_AT_ONCE):
                some = positions[start : start + KEYS_AT_ONCE]
                marks = ",".join("?" * len(some))
                statement = f"SELECT * FROM record WHERE position IN ({marks}) ORDER BY position"
                taken += self._take(statement, some, None, None, (Kind.PUBLICATION,)).found
        found: dict[int, Publication] = {
            event.position: event for event in _as_events(taken) if isinstance(event, Publication)
        }
        for position in positions:
            if position not in found:
                raise StorageFault(self.where, f"there is no publication at position {position}", RESTORE)
        return found

    def count_publications(self, after: int) -> int:
        """How many stand at positions beyond `after`."""
        statement = f"SELECT count(*) FROM record WHERE position > ? AND kind = {Kind.PUBLICATION:d}"
        return sum(int(count) for (count,) in self._database.ask(statement, (after,)))

    def last_publications(self, count: int, most_bytes: int | None = None) -> list[Publication]:
        """The `count` newest publications, or as many as come to `most_bytes`, by position."""
        statement = f"SELECT * FROM record WHERE kind = {Kind.PUBLICATION:d} ORDER BY position DESC"
        count = row_number(count, "the number of publications")
        with self._database.reading():
            taken = self._take(statement, (), count, most_bytes, (Kind.PUBLICATION,)).found
            return [event for event in _as_events(taken[::-1]) if isinstance(event, Publication)]

    def next_publication(self, after: int) -> int | None:
        """The position of the first publication beyond `after`."""
        statement = (
            f"SELECT position FROM record WHERE position > ? AND kind = {Kind.PUBLICATION:d} ORDER BY position LIMIT 1"
        )
        rows = self._database.ask(statement, (after,))
        return int(rows[0][0]) if rows else None

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

    def settings(self) -> dict[str, str]:
        """The recorded settings of the folder, by name."""
        settings = {}
        for name, value, crc in self._database.ask("SELECT * FROM setting"):
            verify(crc, self._database.where, f"setting {name}", f"{name}\n{value}", ())
            settings[str(name)] = str(value)
        return settings

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
            self.settings()
            check_attachments(self._database, check_journal(self._database))
            check_answers(self._database)
            check_end(path, self.head(), mark)

    def _take(
        self,
        statement: str,
        values: Sequence[object],
        limit: int | None,
        most_bytes: int | None,
        kinds: Container[int],
    ) -> _Taken:
        """Read the records of `kinds` among the rows of a statement, up to either bound."""
        found: list[tuple[Row, Attachments]] = []
        read = size = 0
        if limit == 0:
            return _Taken(found, read, 0)
        with closing(self._database.each(statement, values)) as rows:
            for fields in rows:
                row = verify_row(fields, self.where)
                read += 1
                if row.kind in kinds:
                    attached = attached_to(row) if row.kind == Kind.PUBLICATION else 0
                    attachments = read_attachments_of(self._database, row.position, attached) if attached else ()
                    found.append((row, attachments))
                    size += len(row.body) + sum(len(content) for _, content in attachments)
                    if len(found) == limit or (most_bytes is not None and size >= most_bytes):
                        return _Taken(found, read, row.position)
        return _Taken(found, read, None)


def _as_events(rows: Sequence[tuple[Row, Attachments]]) -> list[Event]:
    texts = {at: time_text(at) for at in {row.written_at for row, _ in rows}}
    return [read_event(row, texts[row.written_at], attachments) for row, attachments in rows]
