"""The journal as a source of Structured Streaming, whose rows are slices of positions, not documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from triplecast.crash_points import reach
from triplecast.outbox import Outbox
from triplecast.pipeline.horizon import next_end, read_horizon
from triplecast.pipeline.readers import freeze_objects, journal_reader
from triplecast.pipeline.rows import SLICES, spark_schema

NAME = "triplecast-journal"

SMALLEST_SLICE = 128
"""Journal positions from the first publication on; a task costs more than matching fewer publications does."""


class JournalSource(DataSource):  # type: ignore[misc]
    """Options: ``folder`` (the run's output folder) and ``slices`` (how many tasks a batch is cut into, at most)."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return spark_schema(SLICES)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return JournalStream(self.options)


class PositionRange(InputPartition):  # type: ignore[misc]
    """Publications at positions in (after, upto], and the manifest of the index that answers for them."""

    def __init__(self, after: int, upto: int, manifest: str) -> None:
        super().__init__((after, upto, manifest))


class JournalStream(DataSourceStreamReader):  # type: ignore[misc]
    """An offset is ``{"position", "manifest"}``: matched up to there, with that index.

    The first batch of every start begins where the outbox has come to, whatever a checkpoint says. Spark pickles the
    reader into its tasks, so it holds nothing that is open.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._folder = Path(options["folder"])
        self._slices = int(options["slices"])

    def initialOffset(self) -> dict[str, Any]:
        with Outbox.read_only(self._folder) as outbox:
            return {"position": outbox.told, "manifest": ""}

    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        """As far as journal, index and batch size allow (`next_end`). Spark before 4.2 gives no `start`."""
        begin = start or self.initialOffset()
        horizon = read_horizon(self._folder)
        if horizon is None:
            return begin
        journal = journal_reader(self._folder)
        head = journal.head()
        change = journal.next_registry_change(horizon.covers)
        end = next_end(begin["position"], journal.next_publication(begin["position"]), head, change, horizon.batch)
        if end == begin["position"]:
            return begin
        reach("source.planned")
        return {"position": end, "manifest": horizon.manifest}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first = journal_reader(self._folder).next_publication(start["position"])
        bounds = cut(start["position"], end["position"], first or end["position"], self._slices)
        return [PositionRange(*each, end["manifest"]) for each in bounds]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int, str]]:
        yield partition.value
        freeze_objects()


def cut(after: int, upto: int, first: int, most: int) -> list[tuple[int, int]]:
    """(`after`, `upto`] in at most `most` ranges, none shorter than `SMALLEST_SLICE` but one.

    `first` is the first publication's position: from there on the ranges are of nearly equal length, and what comes
    before belongs to the first of them.
    """
    if upto <= after:
        return []
    start = min(max(after, first - 1), upto - 1)
    count = min(most, max(1, (upto - start) // SMALLEST_SLICE))
    ends = [after, *(start + (upto - start) * i // count for i in range(1, count + 1))]
    return list(pairwise(ends))
