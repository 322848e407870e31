"""Rows published in an engine's folder: tasks stage them as Arrow files, and who commits publishes these."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from triplecast.engine import Engine
from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.spark.documents import COLUMNS, documents_of

STAGED = "staged"
"""The folder of staged files, in the engine's."""
KEPT_SECONDS = 24 * 3600
"""After which a staged file is what a killed query left."""


@dataclass
class Staged(WriterCommitMessage):
    """What a task wrote: a file in `STAGED`, None for no rows."""

    file: str | None


class _Staging:
    """What writers of batches and of streams have in common."""

    def __init__(self, folder: Path, overwrite: bool) -> None:
        if overwrite:
            raise InputError("the mode overwrite would take documents away", 'say .mode("append")')
        self._folder = folder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return Staged(stage(self._folder, iterator))


class BatchPublisher(_Staging, DataSourceArrowWriter):
    """Publishes the rows of a DataFrame; one that failed may have published some, and is run again."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        publish_staged(self._folder, _files(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        remove_staged(self._folder, _files(messages))


class StreamPublisher(_Staging, DataSourceStreamArrowWriter):
    """Publishes the rows of each micro-batch."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        publish_staged(self._folder, _files(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        remove_staged(self._folder, _files(messages))


def stage(folder: Path, batches: Iterator[pa.RecordBatch]) -> str | None:
    """Write the columns of documents to a file; return its name. Raises InputError where there is no ``data``."""
    name = f"{uuid.uuid4().hex}.arrow"
    sink = None
    try:
        for batch in batches:
            if "data" not in batch.schema.names:
                raise InputError("the rows have no column `data`", "name the documents' column data")
            rows = batch.select([each for each in COLUMNS if each in batch.schema.names])
            if sink is None:
                (folder / STAGED).mkdir(parents=True, exist_ok=True)
                sink = pa.ipc.new_file(str(folder / STAGED / name), rows.schema)
            sink.write_batch(rows)
    finally:
        if sink is not None:
            sink.close()
    return name if sink is not None else None


def publish_staged(folder: Path, files: Sequence[str]) -> None:
    """Publish what was staged, in order, and remove it. Raises `FolderLocked` while another process has the folder."""
    with Engine.open(folder) as engine:
        for name in files:
            engine.publish_many(_documents(folder / STAGED / name))
    remove_staged(folder, files)


def remove_staged(folder: Path, files: Sequence[str]) -> None:
    """Remove files, and those that a killed query left long ago."""
    for name in files:
        (folder / STAGED / name).unlink(missing_ok=True)
    oldest = time.time() - KEPT_SECONDS
    for path in (folder / STAGED).glob("*.arrow"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _documents(path: Path) -> Iterator[Document]:
    with pa.memory_map(str(path)) as source:
        found = pa.ipc.open_file(source)
        batches = (found.get_batch(number) for number in range(found.num_record_batches))
        for each in documents_of(batches):
            if not isinstance(each, Document):
                raise InputError(f"{each.source}: {each.reason}", each.hint)
            yield each


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    return [each.file for each in messages if isinstance(each, Staged) and each.file is not None]
