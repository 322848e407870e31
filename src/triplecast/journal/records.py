"""What matching reads of a journal: events, taxonomies, registrations, stored answers.

Each row is verified, and none is skipped.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

from triplecast.end_mark import read_end_mark
from triplecast.errors import StorageFault
from triplecast.journal.operator_data import read_answers, read_attachments_of, read_operator
from triplecast.journal.parts import PartChange
from triplecast.journal.record import (
    COUNT_INDEXED,
    DOCUMENT_EVENTS,
    EVENTS,
    UNINDEXED_KINDS,
    Kind,
    Row,
    attached_to,
    read_event,
    time_text,
    verify,
    verify_row,
)
from triplecast.journal.subscription_blocks import SubscriptionBlock, ids_of
from triplecast.journal.versions import current_graphs, latest_versions
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import DocumentEvent, Event, Removal, TaxonomyVersion
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Attachments, Position, Publication
from triplecast.model.subscription import NamedRegistrations, Registration
from triplecast.sqlite import SqliteFile, row_number
from triplecast.storage_faults import RESTORE
from triplecast.taxonomy import Taxonomies

DATABASE = "journal.sqlite"
END = "journal.end"
KEYS_AT_ONCE = 500
"""Keys that one statement looks up."""
BYTES_AT_ONCE = 16 << 20
"""Of documents or their quads, attachments included, that are held in memory together, wherever they are taken in
groups."""
VERSIONS_AT_ONCE = 16
"""Documents that are read together where their sizes are not known."""
_VERSIONS_KEPT = 4


class ReplicatedRecord(NamedTuple):
    """A record as another journal takes it."""

    row: Row
    attachments: Attachments
    parts: Sequence[PartChange] = ()
    """What cut documents hold from its position on."""


class Records:
    """The records up to now, each verified by its checksum as it is read.

    Whatever a statement sees is whole commits. Methods may be called from any thread; they raise `StorageFault` for a
    damaged record. While there is no journal yet, it reads as an empty one.
    """

    def __init__(self, database: SqliteFile) -> None:
        self._database = database
        self.where = database.where
        """The file's path; ``memory`` where there is none."""
        self._versions: dict[int, TaxonomyVersion] = {}
        """Taxonomies read lately, by position: an immutable record is read once."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> Position:
        """Return the last position written; 0 when nothing is."""
        rows = self._database.ask("SELECT max(position) FROM record")
        return Position(rows[0][0] or 0) if rows else Position(0)

    # ---- events -----------------------------------------------------------------------------------------------------

    def events(
        self,
        after: int,
        upto: int,
        limit: int | None = None,
        most_bytes: int | None = None,
        kinds: Container[int] = EVENTS,
    ) -> list[Event]:
        """Return what happened at positions in (`after`, `upto`], in order: publications, removals, taxonomies and
        schemas, or some `kinds` alone; at most `limit`, and none after the one with which their bodies come to
        `most_bytes`.

        Raises `StorageFault` where damage hides a record among them.
        """
        with self._database.reading():
            reached: int = min(upto, self.head())
            rows = f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {UNINDEXED_KINDS}"
            found, read, last = self._take(f"{rows} ORDER BY position", (after, reached), limit, most_bytes, kinds)
            reached = reached if last is None else last
            (indexed,) = self._database.ask_one(COUNT_INDEXED, (after, reached)) if reached > after else (0,)
        if read + indexed != max(0, reached - after):
            found_wrong = f"of the records {after + 1} to {reached} only {read + indexed} can be found"
            raise StorageFault(self.where, found_wrong, RESTORE)
        return found

    def documents(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> Sequence[DocumentEvent]:
        """Return the publications and removals among `events`; both bounds are of them alone."""
        found = self.events(after, upto, limit, most_bytes, DOCUMENT_EVENTS)
        return [event for event in found if isinstance(event, Publication | Removal)]

    def publications(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> list[Publication]:
        """Return the publications among `events`; both bounds are of them alone."""
        found = self.events(after, upto, limit, most_bytes, (Kind.PUBLICATION,))
        return [event for event in found if isinstance(event, Publication)]

    def _take(
        self, statement: str, values: Sequence[object], limit: int | None, most_bytes: int | None, kinds: Container[int]
    ) -> tuple[list[Event], int, int | None]:
        """Return the events of `kinds` among the rows of a statement, up to either bound; how many rows were read; and
        the position at which a bound was reached."""
        found: list[Event] = []
        read = size = 0
        if limit == 0:
            return found, read, 0
        with closing(self._database.each(statement, values)) as rows:
            for fields in rows:
                row = verify_row(fields, self.where)
                read += 1
                if row.kind in kinds:
                    event = self._event(row)
                    found.append(event)
                    attached = event.attachments if isinstance(event, Publication) else ()
                    size += len(row.body) + sum(len(content) for _, content in attached)
                    if len(found) == limit or (most_bytes is not None and size >= most_bytes):
                        return found, read, row.position
        return found, read, None

    def _event(self, row: Row) -> Event:
        attached = attached_to(row) if row.kind == Kind.PUBLICATION else 0
        return read_event(row, read_attachments_of(self._database, row.position, attached) if attached else ())

    def bodies(self, positions: Sequence[int]) -> dict[int, Publication]:
        """Return the publications at `positions`, with their attachments, by position.

        Raises `StorageFault` where one of them is no publication.
        """
        with self._database.reading():
            events = map(self._event, self._rows_at(positions, Kind.PUBLICATION))
            found: dict[int, Publication] = {each.position: each for each in events if isinstance(each, Publication)}
        for position in positions:
            if position not in found:
                raise StorageFault(self.where, f"there is no publication at position {position}", RESTORE)
        return found

    def versions(self, positions: Sequence[int], most_bytes: int) -> list[Publication]:
        """Return the publications at the first of `positions`, ascending, in order: as many as come to `most_bytes`.

        Raises `StorageFault` where one of them is no publication.
        """
        found: list[Publication] = []
        for start in range(0, len(positions), VERSIONS_AT_ONCE):
            some = positions[start : start + VERSIONS_AT_ONCE]
            bodies = self.bodies(some)
            for position in some:
                each = bodies[position]
                found.append(each)
                most_bytes -= len(each.quads) + sum(len(content) for _, content in each.attachments)
                if most_bytes <= 0:
                    return found
        return found

    def records(self, after: int, upto: int, most_bytes: int) -> list[ReplicatedRecord]:
        """Return the records that end at positions in (`after`, `upto`], in order, whatever their kind; none after the
        one with which their bodies come to `most_bytes`."""
        found: list[ReplicatedRecord] = []
        size = 0
        statement = "SELECT * FROM record WHERE position > ? AND position <= ? ORDER BY position"
        with self._database.reading(), closing(self._database.each(statement, (after, upto))) as rows:
            for row in self._verified(rows):
                count = attached_to(row) if row.kind == Kind.PUBLICATION else 0
                attached = read_attachments_of(self._database, row.position, count) if count else ()
                found.append(ReplicatedRecord(row, attached))
                size += len(row.body) + sum(len(content) for _, content in attached)
                if size >= most_bytes:
                    break
        return found

    def mark_at(self, position: int) -> str:
        """Return by what the last record up to a position is recognised; empty where there is none."""
        statement = "SELECT * FROM record WHERE position <= ? ORDER BY position DESC LIMIT 1"
        return "".join(f"{row.position} {row.written_at} {row.crc}" for row in self._rows(statement, (position,)))

    def latest_before(self, graphs: Sequence[str], upto: int) -> dict[str, Row]:
        """Return the records of the documents that graphs had at position `upto`. Records have no index of graphs: all
        up to there are looked at."""
        statement = (
            f"SELECT name, max(position) FROM record WHERE position <= ? AND kind IN ({Kind.PUBLICATION:d}, "
            f"{Kind.REMOVAL:d}) AND name IN (SELECT value FROM json_each(?)) GROUP BY name"
        )
        with self._database.reading():
            positions = [at for _, at in self._database.ask(statement, (upto, json.dumps([*graphs])))]
            return {row.name: row for row in self._rows_at(positions, Kind.PUBLICATION)}

    def current_documents(self, prefix: str) -> dict[str, Publication]:
        """Return the current documents of the graphs whose names begin so, by graph."""
        with self._database.lock:
            return self.documents_of(current_graphs(self._database, prefix))

    def documents_of(self, graphs: Sequence[str]) -> dict[str, Publication]:
        """Return the current documents of those of `graphs` that have one, by graph."""
        with self._database.lock:
            latest = latest_versions(self._database, graphs)
            found = self.bodies([each.position for each in latest.values() if each.digest])
        return {each.graph: each for each in found.values()}

    def records_of(self, graphs: Sequence[str]) -> dict[str, Row]:
        """Return their records."""
        with self._database.lock:
            latest = latest_versions(self._database, graphs)
            return {
                row.name: row for row in self._rows_at([each.position for each in latest.values()], Kind.PUBLICATION)
            }

    def last_publications(self, count: int, most_bytes: int | None = None) -> list[Publication]:
        """The `count` newest publications, or as many as come to `most_bytes`, by position."""
        statement = f"SELECT * FROM record WHERE kind = {Kind.PUBLICATION:d} ORDER BY position DESC"
        count = row_number(count, "the number of publications")
        with self._database.reading():
            found, _, _ = self._take(statement, (), count, most_bytes, (Kind.PUBLICATION,))
        return [event for event in found[::-1] if isinstance(event, Publication)]

    # ---- what publications are matched with -------------------------------------------------------------------------

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        """Return what publications at positions in (`after`, `upto`] are matched with: the last version up to `after`,
        and those behind it."""
        with self._database.reading():
            rows = self._database.ask(f"SELECT position FROM record WHERE kind = {Kind.TAXONOMY:d} ORDER BY position")
            positions = [int(position) for (position,) in rows]
            self._refuse_twice(positions)
            self._check_found(len(positions), Kind.TAXONOMY)
            first = max(bisect_right(positions, after) - 1, 0)
            return Taxonomies(tuple(self._taxonomy(each) for each in positions[first : bisect_right(positions, upto)]))

    def _taxonomy(self, position: int) -> TaxonomyVersion:
        found = self._versions.get(position)
        if found is None:
            for row in self._rows_at([position], Kind.TAXONOMY):
                found = self._versions[position] = TaxonomyVersion(row.position, row.body, bool(row.number))
            if found is None:
                raise StorageFault(self.where, f"record {position} is no taxonomy, as its index says", RESTORE)
            while len(self._versions) > _VERSIONS_KEPT:
                del self._versions[min(self._versions)]
        return found

    def registration(self, id: int) -> Registration | None:
        """The registration `id`, live or cancelled, as of now; None where there never was one."""
        return next(iter(self.registrations([id])), None)

    def registrations(self, ids: Sequence[int]) -> list[Registration]:
        """The registrations among `ids`, as of now, by id."""
        wanted = sorted(set(ids))
        with self._database.lock:
            ended = self.ended_at(wanted)
            blocks = [*self._blocks_with(wanted)]
        return [block.registration(id, ended.get(id)) for id, block in blocks]

    def registrations_at(self, positions: Sequence[int]) -> list[Registration]:
        """The registrations that records at all these `positions` added. Raises `StorageFault` where one did not."""
        found = self.registrations(positions)
        for position in {*positions} - {int(each.id) for each in found}:
            raise StorageFault(self.where, f"there is no subscription at position {position}", RESTORE)
        return found

    def written_at(self, position: int) -> str:
        """When what has this position was recorded (xsd:dateTime in UTC)."""
        with self._database.lock:
            statement = "SELECT * FROM record WHERE position >= ? ORDER BY 1 LIMIT 1"  # one record may have several
            return time_text(next(iter(self._rows(statement, (position,)))).written_at)

    def names_with(self, positions: Sequence[int]) -> list[NamedRegistrations]:
        """What the registrations at `positions` are called, each with all that its record added. Raises `StorageFault`
        where a record added none."""
        wanted = sorted({*positions})
        with self._database.lock:
            found = [*self._blocks_with(wanted)]
        if len(found) < len(wanted):
            lost = min({*wanted} - {id for id, _ in found})
            raise StorageFault(self.where, f"there is no subscription at position {lost}", RESTORE)
        return [block.names() for block in {id(block): block for _, block in found}.values()]

    def notify_with(self, positions: Sequence[int]) -> list[tuple[int, list[str], Mapping[int, tuple[str, ...]]]]:
        """What the registrations at `positions` want to hear, each with all that its record added: the first one's
        number, `Subscription.hears` of them all, and the keys of those that have one."""
        with self._database.lock:
            blocks = {id(block): block for _, block in self._blocks_with(sorted({*positions}))}
        return [(block.ids.start, block.hears(), block.keys()) for block in blocks.values()]

    def ended_at(self, ids: Sequence[int]) -> dict[int, int]:
        """The positions at which registrations ended, by id."""
        positions = {}
        for id, position, crc in self._ask_in("SELECT * FROM ended WHERE registration", ids):
            verify(crc, self.where, f"the cancellation of {id}", "", (id, position))
            positions[id] = position
        return positions

    def operators(self) -> list[Operator]:
        """Those that subscriptions call or have called, as they were declared last, by IRI."""
        statement = f"SELECT * FROM record WHERE kind = {Kind.OPERATOR:d} ORDER BY position"
        latest = {row.name: read_operator(row.body) for row in self._rows(statement, kinds=(Kind.OPERATOR,))}
        return [latest[iri] for iri in sorted(latest)]

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]:
        """What these versions of operators answered for publications at positions in (`after`, `upto`], by position, as
        far as it is stored."""
        with self._database.reading():
            return read_answers(self._database, after, upto, operators)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _rows(self, statement: str, values: Sequence[object] = (), kinds: Container[int] | None = None) -> list[Row]:
        """The rows of a statement; `kinds` are those that a partial index may lead to, which SQLite does not check."""
        return [*self._verified(self._database.ask(statement, values), kinds)]

    def _verified(self, rows: Iterable[tuple[Any, ...]], kinds: Container[int] | None = None) -> Iterator[Row]:
        for fields in rows:
            row = verify_row(fields, self.where)
            if kinds is not None and row.kind not in kinds:
                raise StorageFault(self.where, f"record {row.position} is not what an index of the file says", RESTORE)
            yield row

    def _rows_at(self, positions: Sequence[int], kind: Kind) -> list[Row]:
        """The records of a kind among those at `positions`, in order."""
        statement = f"SELECT * FROM record WHERE kind = {kind:d} AND position"
        return sorted(verify_row(fields, self.where) for fields in self._ask_in(statement, positions))

    def _blocks_with(self, ids: Sequence[int]) -> Iterator[tuple[int, SubscriptionBlock]]:
        """The registrations among `ids`, ascending, each with the subscriptions of its record."""
        following = "SELECT (SELECT min(position) FROM record WHERE position >= value) FROM json_each(?)"
        statement = f"SELECT * FROM record WHERE kind = {Kind.SUBSCRIPTION:d} AND position IN ({following}) ORDER BY 1"
        left = deque(ids)
        for start in range(0, len(ids), KEYS_AT_ONCE):
            for row in self._rows(statement, [json.dumps(ids[start : start + KEYS_AT_ONCE])]):
                block, added = None, ids_of(row)
                while left and left[0] <= row.position:
                    id = left.popleft()
                    if id in added:
                        block = block or SubscriptionBlock(row)
                        yield id, block

    def _counted(self, kind: int) -> int:
        """How many records of one of the `COUNTED` kinds there are."""
        for records, crc in self._database.ask("SELECT records, crc FROM record_count WHERE kind = ?", (int(kind),)):
            verify(crc, self.where, f"the count of records of kind {kind:d}", "", (int(kind), records))
            return int(records)
        return 0

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

    def _ask_in(self, statement: str, keys: Sequence[object]) -> list[Any]:
        """The rows of a statement, which ends with a column, whose column is one of `keys`; `KEYS_AT_ONCE` a query."""
        rows: list[Any] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            rows += self._database.ask(f"{statement} IN ({','.join('?' * len(some))})", some)
        return rows


class Acknowledged(NamedTuple):
    """What the end mark of a journal says was committed."""

    position: int = 0
    epoch: int = 0
    """Of the last writer."""
    outbox: tuple[int, ...] = ()
    """How far the outbox beside it had come (`outbox.tables.State.mark`)."""


def acknowledged(folder: Path) -> Acknowledged:
    """Read the end mark of the journal in `folder`; nothing was acknowledged where there is none, or a damaged one."""
    numbers = read_end_mark(folder / END)
    return Acknowledged(numbers[0], numbers[1], numbers[2:]) if len(numbers) > 1 else Acknowledged()
