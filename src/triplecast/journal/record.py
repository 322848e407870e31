"""Records of the journal: their rows, their times, and the checksum that a row carries and every reader verifies."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import IntEnum
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

from triplecast.errors import InputError, StorageFault
from triplecast.model.events import Event, Removal, SchemaVersion, TaxonomyVersion
from triplecast.model.publication import Attachments, Draft, Position, Publication, Reject
from triplecast.model.subscription import Registration
from triplecast.sqlite import Format
from triplecast.storage_faults import RESTORE

Clock = Callable[[], int]
"""Microseconds since 1970-01-01T00:00:00Z; it may jump, the journal's times do not run back."""
_YEAR_10000 = 253_402_300_800_000_000


class Kind(IntEnum):
    """What a record says happened. A number is never given another meaning."""

    PUBLICATION = 1
    """name: graph, number: version, body: quads, digest, flags."""
    REMOVAL = 2
    """name: graph, number: the version that was the latest, flags: where."""
    SUBSCRIPTION = 3
    """One call's, or some of them (`journal.subscription_blocks`). flags: how many, position: of the last, name: the
    id of the first, digest: hashes of tickets, body: all else."""
    CANCELLATION = 4
    """number: the registration's id, name: its name."""
    REJECT = 5
    """name: source, body: JSON of the other fields."""
    TAXONOMY = 6
    """number: 1 with ``skos:broader``, body: `Taxonomy.lines`."""
    RENEWAL = 7
    """number: the registration's id, name: its name, body: JSON of the lease's new end, null for none."""
    LEASE_END = 8
    """number: the registration's id, name: its name. Written before anything else that happens after the end."""
    OPERATOR = 9
    """name: its IRI, body: JSON of how it is declared from now on. Written before a subscription that calls it."""
    SCHEMA = 10
    """number: the position of the one before, 0 for none; body: `RdfSchema.lines`. The setting ``schema`` names the
    last."""
    RESYNC = 11
    """number: the registration's id, name: its name. Its present answer is told again."""


JOURNAL = Format(
    application=0x54524A31,
    version=2,
    former=0x54434A31,
    schema="""
CREATE TABLE record(
    position INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
    written_at INTEGER NOT NULL, flags INTEGER NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL,
    body BLOB NOT NULL);
CREATE INDEX registry ON record(position) WHERE kind IN (3, 4, 8);
CREATE INDEX reject ON record(position) WHERE kind = 5;
CREATE INDEX taxonomy ON record(position) WHERE kind = 6;
CREATE INDEX operator ON record(position) WHERE kind = 9;
CREATE TABLE document(
    graph TEXT PRIMARY KEY, version INTEGER NOT NULL, position INTEGER NOT NULL, written_at INTEGER NOT NULL,
    digest BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE part(
    document TEXT NOT NULL, graph TEXT NOT NULL, position INTEGER NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (document, graph)) WITHOUT ROWID;
CREATE INDEX part_graph ON part(graph);
CREATE TABLE part_change(
    number INTEGER PRIMARY KEY, position INTEGER NOT NULL, document TEXT NOT NULL, graph TEXT NOT NULL,
    said INTEGER NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE live(name TEXT PRIMARY KEY, registration INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE ended(registration INTEGER PRIMARY KEY, position INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE lease(
    last INTEGER PRIMARY KEY, first INTEGER NOT NULL, end INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX lease_end ON lease(end, last);
CREATE TABLE record_count(kind INTEGER PRIMARY KEY, records INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE file(
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, digest BLOB NOT NULL,
    outcome TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE content(digest BLOB PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE attachment(
    position INTEGER NOT NULL, iri TEXT NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, iri)) WITHOUT ROWID;
CREATE TABLE answer(
    position INTEGER NOT NULL, operator TEXT NOT NULL, version TEXT NOT NULL, arguments TEXT NOT NULL,
    answer BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (position, operator, version, arguments)) WITHOUT ROWID;
CREATE TABLE statistic(
    template TEXT PRIMARY KEY, hint REAL NOT NULL, answered REAL NOT NULL, held REAL NOT NULL, timed REAL NOT NULL,
    seconds REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE writer(
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, written_at INTEGER NOT NULL);
INSERT INTO writer VALUES (1, 0, 0)""",
)
"""``document`` (the latest version of each graph; no digest once removed), ``live``, ``ended`` (by cancellation or by a
lease's end) and ``lease`` (of live registrations) repeat what the records say, in the same transaction, so that
the writer need not read back; ``record_count`` says how many records of the `COUNTED` kinds there are. ``part`` says
which graphs documents that were cut hold (`journal.parts`), ``part_change`` how that came about. ``file`` is the inbox
watcher's own, or says where a local repository has its documents from; ``content`` and ``attachment`` are those of
`journal.operator_data`, as are
``answer`` and ``statistic``. ``setting`` holds what was decided for the folder once, by name."""

ENDS = (Kind.CANCELLATION, Kind.LEASE_END)
"""What ends a registration."""

LEASED = (Kind.SUBSCRIPTION, Kind.RENEWAL, *ENDS)
"""What may change which leases there are, and the registry."""

COUNTED = (Kind.SUBSCRIPTION, Kind.CANCELLATION, Kind.LEASE_END, Kind.TAXONOMY, Kind.SCHEMA)
"""Kinds that are looked up through a partial index alone, or a setting: damage may hide an entry without a trace."""

DOCUMENT_EVENTS = (Kind.PUBLICATION, Kind.REMOVAL)
EVENTS = (*DOCUMENT_EVENTS, Kind.TAXONOMY, Kind.SCHEMA)
"""Kinds of records that are an `Event`."""

UNINDEXED_KINDS = (
    f"({Kind.PUBLICATION:d}, {Kind.REMOVAL:d}, {Kind.TAXONOMY:d}, {Kind.RENEWAL:d}, {Kind.OPERATOR:d}, "
    f"{Kind.SCHEMA:d}, {Kind.RESYNC:d})"
)
"""Those that are read in order of position, without a partial index; the others are counted by theirs."""

SCOPE_SETTING = "scope repository"
"""The setting of a folder that has, or had, a subscription of repository scope."""

REPLICATES = "replicates"
"""The setting of a replica that names the folder whose records it takes."""

SCHEMA_SETTING = "schema"
"""The setting that has the position of the last schema."""

LONGEST_SPAN = 64
"""Most subscriptions of one record: whoever reads one reads them all."""

SPAN = "max(flags * (kind = 3), 1)"
"""How many positions a record of the registry takes, the last its own."""

COUNT_INDEXED = (
    f"SELECT (SELECT coalesce(sum(min(position, ?2) - max(position - {SPAN}, ?1)), 0) FROM record INDEXED BY registry"
    f" WHERE kind IN ({Kind.SUBSCRIPTION:d}, {Kind.CANCELLATION:d}, {Kind.LEASE_END:d})"
    f" AND position > ?1 AND position < ?2 + {LONGEST_SPAN} AND position - {SPAN} < ?2)"
    f" + (SELECT count(*) FROM record INDEXED BY reject WHERE kind = {Kind.REJECT:d}"
    " AND position > ?1 AND position <= ?2)"
)
"""How many positions of a range the partial indexes have records of the other kinds for."""

REGISTRY_KINDS = f"({Kind.SUBSCRIPTION:d}, {Kind.CANCELLATION:d}, {Kind.LEASE_END:d})"
"""As the partial index ``registry`` has them, for the planner to see that it applies."""

_LABELS = ("none", "canonical", "input")
_DATASET = 4
_ATTACHED = 8
"""Times how many attachments a publication has."""
_FORMER = 1 << 28
"""Times the position of the version that an event took the place of. No record made before 2026-11-24 has it."""
_EPOCH = datetime(1970, 1, 1)


class Row(NamedTuple):
    """One row of ``record``, in the order of its columns."""

    position: Position
    kind: int
    name: str
    number: int
    written_at: int
    """Microseconds since 1970-01-01T00:00:00Z."""
    flags: int
    digest: bytes
    crc: int
    body: bytes


class Writing:
    """The rows of a transaction, and the positions and the time that they get."""

    def __init__(self, first: int, at: int) -> None:
        self.next = Position(first)
        self.at = at
        self.rows: list[Row] = []
        self.kinds: set[int] = set()
        self.added: list[Registration] = []

    def add(self, row: Row) -> Position:
        self.rows.append(row)
        self.kinds.add(row.kind)
        self.next = Position(row.position + 1)
        return row.position

    @property
    def changes_registry(self) -> bool:
        """Whether it may change which leases there are, or the registry."""
        return not self.kinds.isdisjoint(LEASED)


def row_of(
    kind: Kind, position: Position, name: str, at: int, number: int = 0, body: bytes = b"", flags: int = 0
) -> Row:
    crc = checksum(name, (position, int(kind), number, at, flags), b"", body)
    return Row(position, int(kind), name, number, at, flags, b"", crc, body)


def removal_row(position: Position, graph: str, version: int, at: int, former: int) -> Row:
    return row_of(Kind.REMOVAL, position, graph, at, number=version, flags=_FORMER * former)


def publication_row(position: Position, draft: Draft, version: int, at: int, former: int) -> Row:
    flags = _LABELS.index(draft.labels) + _DATASET * draft.dataset + _ATTACHED * len(draft.attachments)
    flags += _FORMER * former
    kind = int(Kind.PUBLICATION)
    crc = checksum(draft.graph, (position, kind, version, at, flags), draft.digest, draft.quads)
    return Row(position, kind, draft.graph, version, at, flags, draft.digest, crc, draft.quads)


def reject_row(position: Position, reject: Reject, at: int) -> Row:
    names = ("stage", "reason", "hint", "line", "column")
    body = json.dumps({name: getattr(reject, name) for name in names}).encode()
    return row_of(Kind.REJECT, position, reject.source, at, body=body)


def read_event(row: Row, attachments: Attachments = ()) -> Event:
    """Read a record of one of the kinds in `EVENTS`."""
    if row.kind == Kind.TAXONOMY:
        return TaxonomyVersion(row.position, row.body, bool(row.number))
    if row.kind == Kind.SCHEMA:
        return SchemaVersion(row.position, row.body)
    at, former = time_text(row.written_at), former_of(row)
    if row.kind == Kind.REMOVAL:
        return Removal(row.position, row.name, row.number, at, former)
    dataset, labels = is_dataset(row), _LABELS[row.flags % _DATASET]
    return Publication(row.position, row.name, row.number, at, row.body, dataset, labels, attachments, former)


def former_of(row: Row) -> int:
    """The position of the version that an event took the place of."""
    return row.flags // _FORMER


def is_dataset(row: Row) -> bool:
    """Whether a publication is a dataset with its graphs."""
    return bool(row.flags & _DATASET)


def attached_to(row: Row) -> int:
    """How many attachments a publication has."""
    return row.flags % _FORMER // _ATTACHED


def read_renewal(row: Row) -> int | None:
    """The end that a lease was given."""
    end = json.loads(row.body)
    return None if end is None else int(end)


def read_reject(row: Row) -> Reject:
    return Reject(row.name, **json.loads(row.body))


def verify_row(fields: tuple[Any, ...], where: str) -> Row:
    """The row, or a `StorageFault` where it is not what was written."""
    row = Row(*fields)
    numbers = (row.position, row.kind, row.number, row.written_at, row.flags)
    named = f" (subscription {row.name!r} and those with it)" if row.kind == Kind.SUBSCRIPTION else ""
    verify(row.crc, where, f"record {row.position}{named}", row.name, numbers, row.digest, row.body)
    return row


def verify(crc: object, where: str, what: str, text: str, numbers: tuple[int, ...], *blobs: bytes) -> None:
    """Raises `StorageFault` unless `crc` is the checksum of the rest; a flipped bit may have changed a field's type."""
    sound = isinstance(text, str) and all(isinstance(blob, bytes) for blob in blobs)
    if not sound or checksum(text, numbers, *blobs) != crc:
        raise StorageFault(where, f"{what} is damaged (its checksum is wrong)", RESTORE)


def checksum(text: str, numbers: tuple[int, ...], *blobs: bytes) -> int:
    """CRC-32 of the decimal numbers, the text's length in bytes, its UTF-8 and the blobs.

    Raises UnicodeEncodeError for text that is not Unicode (a lone surrogate).
    """
    encoded = text.encode()
    crc = zlib.crc32(encoded, zlib.crc32(f"{numbers}{len(encoded)}".encode()))
    for blob in blobs:
        crc = zlib.crc32(blob, crc)
    return crc


def time_text(at: int) -> str:
    """xsd:dateTime in UTC with microseconds."""
    second, more = divmod(at, 1_000_000)
    return f"{_second_text(second)}.{more:06d}Z"


@lru_cache(maxsize=64)
def _second_text(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat(timespec="seconds")


JUMP = 60_000_000
"""Microseconds by which the machine's clock may run ahead of a steady one before that is taken for a jump."""
HOLD = 600_000_000
"""Microseconds after which a jump forward is believed."""


class SystemClock:
    """The machine's time; may be used from any thread.

    The journal's time never falls, so a jump forward, once written, is permanent: it ends leases. So a jump of a
    running process is believed only once it has lasted; until then the clock goes on as before it.
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns) -> None:
        """Both give nanoseconds; `steady` from any start."""
        self._wall = wall
        self._steady = steady
        self._lock = Lock()
        self._ahead: int | None = None
        """By how much the one is ahead of the other, as far as it is believed."""
        self._jumped: int | None = None
        """When the one was seen to have jumped, by the other."""

    def __call__(self) -> int:
        with self._lock:
            steady = self._steady() // 1000
            ahead = self._wall() // 1000 - steady
            if self._ahead is not None and ahead > self._ahead + JUMP:
                self._jumped = steady if self._jumped is None else self._jumped
                if steady < self._jumped + HOLD:
                    return steady + self._ahead
            self._ahead, self._jumped = ahead, None
            return steady + ahead


def _since_boot() -> int:
    """Nanoseconds, those of a sleep included where the system counts them."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


system_clock = SystemClock(steady=_since_boot)


def read_clock(clock: Clock) -> int:
    """What it says now. Raises `InputError` for what is no time from 1970 to 9999 in whole microseconds."""
    at = clock()
    if not isinstance(at, int) or not 0 <= at < _YEAR_10000:
        raise InputError(
            f"the clock says {at!r}, which is no time from 1970 to 9999 in whole microseconds since 1970",
            "set the machine's clock, or give an engine one that counts so",
        )
    return at
