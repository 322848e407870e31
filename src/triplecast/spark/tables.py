"""The tables of an engine's folder, as Arrow batches between two offsets: what the data source reads, without Spark.

What costs an import of numba is imported where it is used: Spark looks at the source in every session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from triplecast.errors import InputError
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.journal.records import DATABASE
from triplecast.model.publication import Publication

ROWS_AT_ONCE = 8_192
"""Publications or undecided pairs of a batch."""
_TIME = pa.timestamp("us", tz="UTC")
_NTRIPLES, _NQUADS = "application/n-triples", "application/n-quads"


class Offset(NamedTuple):
    """A place in a table: rows beyond it come later."""

    epoch: int
    """Of the outbox (`Cursor.epoch`); 0 where offsets are positions of the journal."""
    number: int
    """The last row's sequence or position."""


class PushedDown(NamedTuple):
    """What is pushed down: only notifications of this subscription and this owner, where one is given."""

    subscription: str | None = None
    owner: str | None = None


class FolderTable(Protocol):
    """One of the tables of a folder, or of another place that has them."""

    schema: pa.Schema
    """As Spark wants it: Arrow's plain types."""
    splits: bool
    """Whether parts of it can be read side by side."""

    def head(self, folder: Any) -> Offset:
        """Where it ends now."""

    def read(self, folder: Any, after: Offset, upto: int, wanted: PushedDown) -> Iterator[pa.RecordBatch]:
        """Yield the rows beyond `after` up to `upto`, in order."""


class NotificationTable:
    """What was recorded for subscribers, by sequence."""

    splits = True

    def __init__(self, changes: bool = False) -> None:
        """`changes`: as Spark's change feeds have it, with a row each for what a changed answer was and is."""
        self._changes = changes
        self.schema = _CHANGES if changes else _NOTIFICATIONS

    def head(self, folder: Path) -> Offset:
        from triplecast.outbox import OutboxReader

        with OutboxReader.read_only(folder) as outbox:
            state = outbox.state
            return Offset(state.epoch, state.sequence)

    def read(self, folder: Path, after: Offset, upto: int, wanted: PushedDown) -> Iterator[pa.RecordBatch]:
        from triplecast.outbox import Cursor, OutboxReader

        with OutboxReader.read_only(folder) as outbox:
            for batch in outbox.notification_batches(Cursor(*after), None, *wanted):
                sequences = batch.column(0).to_numpy()
                rows = batch.slice(0, int(sequences.searchsorted(upto, "right")))
                if rows.num_rows:
                    yield from self.finish([_plain(rows.column(name), kind) for name, kind in _STORED.items()])
                if rows.num_rows < batch.num_rows:
                    return

    def finish(self, columns: Sequence[pa.Array]) -> Iterator[pa.RecordBatch]:
        """Yield rows whose stored columns these are."""
        yield from _with_changes(columns) if self._changes else [_batch(columns, self.schema)]


class PublicationTable:
    """Versions of documents and their removals, by position; `match` takes its rows as documents."""

    schema = pa.schema(
        [
            ("position", pa.int64()),
            ("graph", pa.string()),
            ("version", pa.int64()),
            ("change", pa.string()),
            ("data", pa.string()),
            ("media_type", pa.string()),
            ("accepted_at", _TIME),
        ]
    )
    splits = True

    def head(self, folder: Path) -> Offset:
        with Journal.read_only(folder) as journal:
            return Offset(0, journal.head())

    def read(self, folder: Path, after: Offset, upto: int, wanted: PushedDown) -> Iterator[pa.RecordBatch]:
        start = after.number
        with Journal.read_only(folder) as journal:
            while found := journal.documents(start, upto, ROWS_AT_ONCE, BYTES_AT_ONCE):
                rows = [
                    (each.position, each.graph, each.version, "added", each.quads.decode(), _type(each))
                    if isinstance(each, Publication)
                    else (each.position, each.graph, each.version, "removed", None, None)
                    for each in found
                ]
                times = [each.accepted_at if isinstance(each, Publication) else each.removed_at for each in found]
                columns = [pa.array(column) for column in zip(*rows, strict=True)]
                yield _batch([*columns, pa.array(times)], self.schema)
                start = found[-1].position


class UndecidedTable:
    """Pairs that were not decided, by position of the publication."""

    schema = pa.schema(
        [
            ("position", pa.int64()),
            ("id", pa.string()),
            ("publication", pa.string()),
            ("version", pa.int64()),
            ("registration", pa.int64()),
            ("subscription", pa.string()),
            ("owner", pa.string()),
            ("reason", pa.string()),
        ]
    )
    splits = False

    def head(self, folder: Path) -> Offset:
        from triplecast.outbox import OutboxReader

        with OutboxReader.read_only(folder) as outbox:
            return Offset(0, outbox.progress)

    def read(self, folder: Path, after: Offset, upto: int, wanted: PushedDown) -> Iterator[pa.RecordBatch]:
        from triplecast.outbox import OutboxReader

        with OutboxReader.read_only(folder) as outbox:
            found = [
                each
                for each in outbox.undecided(after.number)
                if each.position <= upto and _is_wanted(wanted, each.subscription, each.owner)
            ]
        for start in range(0, len(found), ROWS_AT_ONCE):
            columns = zip(*found[start : start + ROWS_AT_ONCE], strict=True)
            yield _batch([pa.array(column) for column in columns], self.schema)


_STORED: Mapping[str, pa.DataType] = {
    "sequence": pa.int64(),
    "id": pa.string(),
    "subscription": pa.string(),
    "owner": pa.string(),
    "publication": pa.string(),
    "version": pa.int64(),
    "position": pa.int64(),
    "change": pa.string(),
    "json": pa.string(),
    "accepted_at": _TIME,
}
"""The columns of the outbox that are read, with their plain types."""
_NOTIFICATIONS = pa.schema([("bindings" if name == "json" else name, kind) for name, kind in _STORED.items()])
_CHANGES = pa.schema(
    [*_NOTIFICATIONS, ("_change_type", pa.string()), ("_commit_version", pa.int64()), ("_commit_timestamp", _TIME)]
)
_BEFORE, _AFTER = "update_preimage", "update_postimage"
_TYPES = {"added": "insert", "present": "insert", "removed": "delete"}

TABLES: Mapping[str, FolderTable] = {
    "notifications": NotificationTable(),
    "publications": PublicationTable(),
    "undecided": UndecidedTable(),
}


def check_folder(folder: Path) -> Path:
    """Raises InputError where there is no journal in the folder."""
    if not (folder / DATABASE).is_file():
        raise InputError(f"no journal in {folder}", "give the folder of a run, of a service or of Engine.open")
    return folder


def _with_changes(columns: Sequence[pa.Array]) -> Iterator[pa.RecordBatch]:
    """Notifications as a change feed: one that is ``changed`` becomes two rows, what it was and what it is."""
    from triplecast.results import RecordedRows

    names = list(_STORED)
    change, recorded = columns[names.index("change")].to_pylist(), columns[names.index("json")].to_pylist()
    rows: list[tuple[int, str, str]] = []
    for row, (word, text) in enumerate(zip(change, recorded, strict=True)):
        if word == "changed":
            found = RecordedRows.read(text, word)
            before = [*found.removed, *(each for each, _ in found.updated), *found.changed]
            after = [*found.added, *(each for _, each in found.updated), *found.changed]
            rows += [(row, written(before), _BEFORE), (row, written(after), _AFTER)]
        else:
            rows.append((row, text, _TYPES[word]))
    places, texts, types = zip(*rows, strict=True)
    taken = [column.take(pa.array(places)) for column in columns]
    taken[names.index("json")] = pa.array(texts, pa.string())
    more = [pa.array(types, pa.string()), taken[names.index("sequence")], taken[names.index("accepted_at")]]
    yield _batch([*taken, *more], _CHANGES)


def written(solutions: object) -> str:
    return json.dumps(solutions, ensure_ascii=False, separators=(",", ":"))


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    decoded = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return decoded.cast(kind)


def _batch(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _type(publication: Publication) -> str:
    return _NQUADS if publication.dataset else _NTRIPLES


def _is_wanted(wanted: PushedDown, subscription: str, owner: str | None) -> bool:
    return wanted.subscription in (None, subscription) and wanted.owner in (None, owner)
