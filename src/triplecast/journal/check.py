"""Whether a journal is whole: its records follow each other, and its other tables say what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triplecast.errors import StorageFault
from triplecast.journal.leases import read_leases
from triplecast.journal.parts import LET_GO, read_changes, read_parts
from triplecast.journal.record import COUNTED, ENDS, SCHEMA_SETTING, Kind, attached_to, read_renewal, verify, verify_row
from triplecast.journal.subscription_blocks import SubscriptionBlock, hearing_setting, ids_of
from triplecast.model.subscription import EVERY
from triplecast.sqlite import SqliteFile
from triplecast.storage_faults import RESTORE

_Entry = tuple[int | bytes, ...]


class ReplayedState:
    """What the tables must repeat, by the records up to the last one read."""

    def __init__(self) -> None:
        self.position = 0
        self.written_at = 0
        self.documents: dict[str, _Entry] = {}
        self.live: dict[str, _Entry] = {}
        self.cancelled: dict[int, _Entry] = {}
        self.leases: dict[int, _Entry] = {}
        self.counted: Counter[int] = Counter()
        self.attached: dict[int, int] = {}
        self.settings: dict[str, _Entry] = {}
        self.schema: dict[str, _Entry] = {}

    def set_lease(self, id: int, end: int | None) -> None:
        if end is None:
            self.leases.pop(id, None)
        else:
            self.leases[id] = (end,)


def check_journal(database: SqliteFile) -> Mapping[int, int]:
    """Read every record and every entry of the tables that repeat records. Return how many attachments each publication
    has, of those that have some.

    Raises `StorageFault` for the first that is damaged, missing or contradicts the others. A journal that lost its last
    records is found by an entry that names one of them, or by the time of the last one.
    """
    where = database.where
    replayed = _read_records(database)
    documents: dict[str, _Entry] = {}
    for graph, version, position, at, digest, crc in database.each("SELECT * FROM document"):
        verify(crc, where, f"the entry of document {graph}", graph, (version, position, at), digest)
        documents[graph] = (version, position, at, digest)
    _compare(where, "document", replayed.documents, documents)
    said: dict[str, _Entry] = {}
    for _, position, document, graph, part in read_changes(database, 0, 1 << 62):
        if max(position, part.position) > replayed.position or graph not in documents:
            raise StorageFault(where, f"it lacks what document {document} says of {graph}", RESTORE)
        said.pop(f"{document} of {graph}", None)
        if part != LET_GO:
            said[f"{document} of {graph}"] = part
    parts: dict[str, _Entry] = {f"{document} of {graph}": part for document, graph, part in read_parts(database)}
    _compare(where, "what is said by document", said, parts)
    live: dict[str, _Entry] = {}
    for name, id, crc in database.each("SELECT * FROM live"):
        verify(crc, where, f"the entry of subscription {name}", name, (id,))
        live[name] = (id,)
    _compare(where, "subscription", replayed.live, live)
    cancelled: dict[int, _Entry] = {}
    for id, position, crc in database.each("SELECT * FROM ended"):
        verify(crc, where, f"the cancellation of {id}", "", (id, position))
        cancelled[id] = (position,)
    _compare(where, "the cancellation of", replayed.cancelled, cancelled)
    leases: dict[int, _Entry] = {}
    for ids, end in read_leases(database):
        leases.update((id, (end,)) for id in ids)
    _compare(where, "the lease of", replayed.leases, leases)
    counted: dict[int, _Entry] = {}
    for kind, records, crc in database.each("SELECT * FROM record_count"):
        verify(crc, where, f"the count of records of kind {kind}", "", (kind, records))
        counted[kind] = (records,)
    _compare(where, "the count of records of kind", {kind: (n,) for kind, n in replayed.counted.items()}, counted)
    settings: dict[str, _Entry] = {name: () for (name,) in database.each("SELECT name FROM setting")}
    _compare(where, "setting", replayed.settings, {name: () for name in replayed.settings if name in settings})
    schema: dict[str, _Entry] = {}
    for (value,) in database.each(f"SELECT value FROM setting WHERE name = '{SCHEMA_SETTING}'"):
        schema[SCHEMA_SETTING] = (int(value),)
    _compare(where, "setting", replayed.schema, schema)
    check_written(database, replayed.written_at)
    return replayed.attached


def _read_records(database: SqliteFile) -> ReplayedState:
    replayed = ReplayedState()
    for fields in database.each("SELECT * FROM record ORDER BY position"):
        row = verify_row(fields, database.where)
        first = ids_of(row).start if row.kind == Kind.SUBSCRIPTION else row.position
        if first != replayed.position + 1:
            raise StorageFault(database.where, f"record {replayed.position + 1} is missing before {first}", RESTORE)
        replayed.position, replayed.written_at = row.position, row.written_at
        if row.kind in COUNTED:
            replayed.counted[row.kind] += 1
        if row.kind in (Kind.PUBLICATION, Kind.REMOVAL):
            if row.kind == Kind.PUBLICATION and attached_to(row):
                replayed.attached[row.position] = attached_to(row)
            replayed.documents[row.name] = (row.number, row.position, row.written_at, row.digest)
        elif row.kind == Kind.SUBSCRIPTION:
            block = SubscriptionBlock(row)
            replayed.settings.update((hearing_setting(notify), ()) for notify in block.heard() - {EVERY})
            for id in block.ids:
                replayed.live[block.name(id)] = (id,)
                replayed.set_lease(id, block.end)
        elif row.kind == Kind.RENEWAL:
            replayed.set_lease(row.number, read_renewal(row))
        elif row.kind == Kind.SCHEMA:
            (before,) = replayed.schema.get(SCHEMA_SETTING, (0,))
            if row.number != before:
                raise StorageFault(database.where, f"schema {row.position} does not follow schema {before!r}", RESTORE)
            replayed.schema[SCHEMA_SETTING] = (row.position,)
        elif row.kind in ENDS:
            replayed.set_lease(row.number, None)
            replayed.live.pop(row.name, None)
            replayed.cancelled[row.number] = (row.position,)
    return replayed


def _compare(where: str, what: str, replayed: Mapping[Any, _Entry], repeated: Mapping[Any, _Entry]) -> None:
    for name in (*replayed, *repeated):
        if replayed.get(name) != repeated.get(name):
            found = (
                f"its tables contradict its records: {what} {name} is {repeated.get(name)}, not {replayed.get(name)}"
            )
            raise StorageFault(where, found, RESTORE)


def check_written(database: SqliteFile, written_at: int, epoch: int = 0) -> None:
    """Raise `StorageFault` unless the writer's row has the time of the last record, and an epoch no less than `epoch`.

    A time that damage moved would end leases, and an epoch would let a former writer write."""
    now, at = database.ask_one("SELECT epoch, written_at FROM writer")
    if at != written_at:
        raise StorageFault(database.where, "its last record is not the one written last", RESTORE)
    if not isinstance(now, int) or now < epoch:
        raise StorageFault(database.where, f"its writer's epoch is {now!r}, and was {epoch} before", RESTORE)


def check_end(journal: Path, head: int, mark: int) -> None:
    """Raise `StorageFault` where the journal ends before a record that was acknowledged."""
    if head < mark:
        found = f"it ends at position {head}, but {mark} was acknowledged: its write-ahead log has lost its end"
        hint = f"{RESTORE}; if it was put back to this older state on purpose, delete journal.end"
        raise StorageFault(str(journal), found, hint)
