"""The data source ``triplecast``: the tables of a folder as DataFrames and streams, and rows published in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from triplecast.errors import InputError
from triplecast.spark.remote_table import RemoteTable, ServicePlace
from triplecast.spark.tables import TABLES, FolderTable, NotificationTable, Offset, PushedDown, check_folder
from triplecast.spark.versions import FILTERS, EqualTo, Filter, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from triplecast.spark.writing import BatchPublisher, StreamPublisher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
"""Spark lets a Python source take filters only where this setting is true."""
PART_ROWS = 50_000
"""Rows of a partition, unless there are more than `PARTS` of them."""
PARTS = 64
ROWS_PER_TRIGGER = 100_000
_TYPES = {pa.int64(): "BIGINT", pa.string(): "STRING", pa.timestamp("us", tz="UTC"): "TIMESTAMP"}


class TriplecastSource(DataSource):
    """As Spark finds it by itself (``pyspark_triplecast``): filters are Spark's."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._read = _Options(options)

    @classmethod
    def name(cls) -> str:
        return "triplecast"

    def schema(self) -> str:
        return ", ".join(f"{field.name} {_TYPES[field.type]}" for field in self._read.table.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return TableReader(self._read)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return TableStream(self._read)

    def writer(self, schema: StructType, overwrite: bool) -> BatchPublisher:
        return BatchPublisher(self._read.folder, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamPublisher:
        return StreamPublisher(self._read.folder, overwrite)


class FilteringSource(TriplecastSource):
    """As `register` registers it: equality with a subscription or an owner is looked up by the reader."""

    def reader(self, schema: StructType) -> DataSourceReader:
        return FilteringReader(self._read)


def register(spark: SparkSession) -> None:
    """Register the data source ``triplecast`` in a session, and let it take filters (`PUSH_DOWN`). PySpark 4.0, which
    has none, refuses a source that it finds by itself."""
    if not FILTERS:
        return
    spark.conf.set(PUSH_DOWN, "true")
    spark.dataSource.register(FilteringSource)


class _Options:
    """The options of a source, read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options.items())
        """In Spark's case-insensitive mapping."""
        self._of = {name.lower(): value for name, value in self._options.items()}

    @property
    def place(self) -> Path | ServicePlace:
        """What is read: a folder in which there is a journal, or a service."""
        url = self._of.get("url")
        if url is None:
            return check_folder(self.folder)
        if "folder" in self._of:
            raise InputError("the options folder and url are both given", "leave one of them out")
        return ServicePlace(url, self._of.get("token"), self._of.get("ticket"))

    @property
    def folder(self) -> Path:
        folder = self._of.get("folder")
        if folder is None:
            raise InputError('the source "triplecast" has no option folder', 'say .option("folder", FOLDER)')
        if not Path(folder).is_absolute():
            raise InputError(f"the option folder is {folder!r}", "give an absolute path: Spark runs elsewhere")
        return Path(folder)

    @property
    def table(self) -> FolderTable:
        name = self._of.get("table", "notifications")
        if name not in TABLES:
            raise InputError(f"there is no table {name!r}", f"the option table is one of {', '.join(TABLES)}")
        changes, remote = self._of.get("readchangefeed", "false").lower() == "true", "url" in self._of
        if name != "notifications" and (changes or remote):
            option = "readChangeFeed" if changes else "url"
            raise InputError(f"{option} is of notifications, not of {name}", "leave one of the options out")
        if remote:
            return RemoteTable(changes)
        return NotificationTable(changes=True) if changes else TABLES[name]

    @property
    def wanted(self) -> PushedDown:
        return PushedDown(self._of.get("subscription"), self._of.get("owner"))

    @property
    def rows_per_trigger(self) -> int:
        return self.number("maxRowsPerTrigger", ROWS_PER_TRIGGER) or ROWS_PER_TRIGGER

    @property
    def last(self) -> int | None:
        """The last row that is read."""
        return self.number("endingVersion", None)

    def first(self, head: Offset) -> Offset:
        """The place before the first row that is read."""
        if self._of.get("startingversion", "").lower() == "latest":
            return head
        return head._replace(number=max((self.number("startingVersion", None) or 1) - 1, 0))

    def number(self, name: str, default: int | None) -> int | None:
        given = self._of.get(name.lower())
        if given is None:
            return default
        if not (given.isascii() and given.isdecimal() and len(given) < 19):
            raise InputError(f"the option {name} is {given!r}", "give a number, 0 or more")
        return int(given)


class TablePart(InputPartition):
    """Rows beyond `after` up to `upto`."""

    def __init__(self, after: Offset, upto: int) -> None:
        super().__init__((after, upto))
        self.after = after
        self.upto = upto


class TableReader(DataSourceReader):
    """A table as it is when the query is planned."""

    def __init__(self, options: _Options) -> None:
        self._place = options.place
        self._options = options
        self._table = options.table
        self._wanted = options.wanted

    def partitions(self) -> Sequence[InputPartition]:
        head = self._table.head(self._place)
        upto = head.number if self._options.last is None else min(head.number, self._options.last)
        return cut_table(self._table, self._options.first(head), upto)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, TablePart):  # Spark makes another where there is none
            yield from self._table.read(self._place, partition.after, partition.upto, self._wanted)


class FilteringReader(TableReader):
    """One that takes filters: Spark allows it only where `PUSH_DOWN` is set."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        if "subscription" not in self._table.schema.names:
            yield from filters
            return
        for each in filters:
            column = each.attribute[0] if isinstance(each, EqualTo) and len(each.attribute) == 1 else None
            if column in PushedDown._fields and isinstance(each.value, str) and getattr(self._wanted, column) is None:
                self._wanted = self._wanted._replace(**{column: each.value})
            else:
                yield each


class TableStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A table as it grows. An offset is the epoch and the last sequence or position."""

    def __init__(self, options: _Options) -> None:
        self._place = options.place
        self._options = options
        self._table = options.table
        self._target: Offset | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._table.head(self._place)

    def initialOffset(self) -> dict[str, int]:
        return self._options.first(self._table.head(self._place))._asdict()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._options.rows_per_trigger)

    def latestOffset(self, start: dict[str, int] | None = None, limit: ReadLimit | None = None) -> dict[str, int]:
        """Without a start, as PySpark before 4.2 asks, all that is there."""
        head = self._head()
        if start is None:
            return head._asdict()
        end = head.number
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["number"] + limit.max_rows)
        return head._replace(number=max(end, start["number"]))._asdict()

    def reportLatestOffset(self) -> dict[str, int]:
        return self._table.head(self._place)._asdict()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        after = Offset(**start)
        if end["epoch"] != after.epoch:
            raise InputError(
                f"the checkpoint is of epoch {after.epoch}, and the outbox is in epoch {end['epoch']}: notifications "
                "were lost since and recorded again under other sequences",
                "start the query with a new checkpoint and leave out what you have by its `id`, which stays the same",
            )
        return cut_table(self._table, after, end["number"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TablePart)
        yield from self._table.read(self._place, partition.after, partition.upto, self._options.wanted)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: the folder keeps what was read."""

    def _head(self) -> Offset:
        head = self._target or self._table.head(self._place)
        last = self._options.last
        return head if last is None else head._replace(number=min(head.number, last))


def cut_table(table: FolderTable, after: Offset, upto: int) -> list[InputPartition]:
    """The rows of a table in parts of nearly equal length."""
    span = upto - after.number
    if span <= 0:
        return []
    count = min(PARTS, -(-span // PART_ROWS)) if table.splits else 1
    ends = [after.number + span * i // count for i in range(count + 1)]
    return [TablePart(after._replace(number=first), last) for first, last in pairwise(ends)]
