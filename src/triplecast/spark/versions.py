"""What the versions of PySpark have and have not: the one place that tells them apart, by what can be imported.

4.0 has neither filters for sources nor Arrow for streams that are written; 4.0 and 4.1 have no limits of reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter, EqualTo, Filter

    FILTERS = True
except ImportError:
    FILTERS = False
    DataSourceStreamArrowWriter = datasource.DataSourceStreamWriter

    class Filter:  # type: ignore[no-redef]
        """No source is asked for filters."""

    class EqualTo(Filter):  # type: ignore[no-redef]
        attribute: tuple[str, ...]
        value: object


try:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

    READ_LIMITS = True
except ImportError:
    READ_LIMITS = False

    class ReadLimit:  # type: ignore[no-redef]
        """No stream is asked for one."""

    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        def __init__(self, max_rows: int) -> None:
            self.max_rows = max_rows

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Spark takes what is there at the first look."""


__all__ = [
    "FILTERS",
    "READ_LIMITS",
    "DataSourceStreamArrowWriter",
    "EqualTo",
    "Filter",
    "ReadLimit",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "as_batches",
]

_ROWS = 1_000


def as_batches(written: Iterable[Any], wanted: Collection[str]) -> Iterator[pa.RecordBatch]:
    """What a writer is given, as Arrow: its rows are batches already, but for streams of 4.0, where they are rows, of
    which the `wanted` columns are taken."""
    rows = iter(written)
    for first in rows:
        if isinstance(first, pa.RecordBatch):
            yield from chain((first,), rows)
            return
        some = [first, *islice(rows, _ROWS - 1)]
        names = [name for name in first.__fields__ if name in wanted]
        kinds = (pa.binary() if isinstance(first[name], bytes | bytearray) else pa.string() for name in names)
        columns = [pa.array([row[name] for row in some], kind) for name, kind in zip(names, kinds, strict=True)]
        yield pa.record_batch(columns, names=names)
