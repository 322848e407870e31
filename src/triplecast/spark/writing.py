"""Rows published in an engine's folder: tasks stage them as Arrow files, and who commits publishes these."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from triplecast.crash_points import reach
from triplecast.errors import InputError
from triplecast.spark.versions import DataSourceStreamArrowWriter, as_batches

if TYPE_CHECKING:
    from triplecast.ingest import Document

STAGED = "staged"
"""The folder of staged files, in the engine's."""
KEPT_SECONDS = 7 * 24 * 3600
"""After which a staged file is what a query left that was killed and never started again."""
_QUERY = "sql.streaming.queryId"
"""Spark's name for the id of a streaming query, which a checkpoint keeps."""


@dataclass
class Staged(WriterCommitMessage):
    """What a task wrote."""

    file: str | None
    """In `STAGED`; None for no rows."""
    query: str | None
    """The streaming query's id."""


class _Staging:
    """What writers of batches and of streams have in common."""

    def __init__(self, folder: Path, overwrite: bool) -> None:
        if overwrite:
            raise InputError("the mode overwrite would take documents away", 'say .mode("append")')
        self._folder = folder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        task = TaskContext.get()
        query = None if task is None else task.getLocalProperty(_QUERY)
        return Staged(stage(self._folder, iterator), query)

    def remove(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        remove_staged(self._folder, _files(messages))


class BatchPublisher(_Staging, DataSourceArrowWriter):
    """Publishes the rows of a DataFrame. Where that fails, some may have been published."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        from triplecast.engine import Engine

        with Engine.open(self._folder) as engine:
            for name in _files(messages):
                engine.publish_many(read_staged(self._folder, [name]))
        self.remove(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self.remove(messages)


class StreamPublisher(_Staging, DataSourceStreamArrowWriter):
    """Publishes the rows of each micro-batch once."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        queries = {each.query for each in messages if isinstance(each, Staged)}
        if queries:
            (query,) = queries
            publish_batch(self._folder, str(query), batchId, _files(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self.remove(messages)


def stage(folder: Path, written: Iterable[pa.RecordBatch]) -> str | None:
    """Write the columns of documents to a file, synced; return its name. Raises InputError where there is no ``data``,
    or none in a row."""
    from triplecast.spark.documents import COLUMNS

    name = f"{uuid.uuid4().hex}.arrow"
    path = folder / STAGED / name
    sink = None
    try:
        for batch in as_batches(written, COLUMNS):
            if "data" not in batch.schema.names or batch.column("data").null_count:
                raise InputError("a row has no `data`", "name the documents' column data; leave rows without out")
            rows = batch.select([each for each in COLUMNS if each in batch.schema.names])
            if sink is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                sink = pa.ipc.new_file(str(path), rows.schema)
            sink.write_batch(rows)
    finally:
        if sink is not None:
            sink.close()
    if sink is not None:
        _sync(path)
    return None if sink is None else name


def publish_batch(folder: Path, query: str, number: int, files: Sequence[str]) -> None:
    """Publish a micro-batch of a query: once, however often it comes, whatever was killed.

    What comes again may be staged in another order; so the first order is kept until all is published. Raises
    `FolderLocked` while another process has the folder.
    """
    from triplecast.engine import Engine

    order = folder / STAGED / f"{query}-{number}.json"
    with Engine.open(folder) as engine:
        if order.exists():
            remove_staged(folder, files)
            files = json.loads(order.read_bytes())
        elif files:
            written = order.with_suffix(".tmp")
            written.write_text(json.dumps(files))
            _sync(written)
            os.replace(written, order)
            _sync(order.parent)
            reach("spark.order-kept")
        engine.taking.batch(read_staged(folder, files), f"spark:{query}", number)
        reach("spark.batch-published")
    remove_staged(folder, files)
    order.unlink(missing_ok=True)


def read_staged(folder: Path, files: Sequence[str]) -> Iterator[Document]:
    """Yield the staged documents, in order."""
    return chain.from_iterable(_documents(folder / STAGED / name) for name in files)


def remove_staged(folder: Path, files: Sequence[str]) -> None:
    """Remove files, and those that killed queries left long ago."""
    for name in files:
        (folder / STAGED / name).unlink(missing_ok=True)
    oldest = time.time() - KEPT_SECONDS
    for path in (folder / STAGED).glob("*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _documents(path: Path) -> Iterator[Document]:
    from triplecast.ingest import Document
    from triplecast.spark.documents import documents_of

    with pa.memory_map(str(path)) as source:
        found = pa.ipc.open_file(source)
        batches = (found.get_batch(number) for number in range(found.num_record_batches))
        yield from (each for each in documents_of(batches) if isinstance(each, Document))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    return [each.file for each in messages if isinstance(each, Staged) and each.file is not None]
