"""Spark jobs: a task for each item of work, whose Arrow batches come back as they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from triplecast.pipeline.readers import freeze_objects
from triplecast.pipeline.rows import MATCHES
from triplecast.pipeline.stages import Stage

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

Work = Callable[[Stage, Any], Iterator[pa.RecordBatch]]
"""A function of `pipeline.stages` from an item to its `MATCHES` rows."""
BytesWork = Callable[[Stage, Any], Iterator[bytes]]
"""One to bytes, of which none are empty."""

Send = Callable[[Stage, int, Any], Iterator[tuple[tuple[int, ...], bytes]]]
"""A function from an item to what so many groups of tasks need of it, under keys that begin with the group's number."""
Receive = Callable[[Stage, int, Iterator[Any]], Iterator[pa.RecordBatch]]
"""A function from what one of so many groups was sent to its `MATCHES` rows."""

_END = b""
"""Follows the bytes of an item, or of a group."""


def spark_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a job raises that failed, or that lost its JVM; and others."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, OSError, *others


class JobGroup:
    """The jobs of one thread and those that it starts, which another thread may abandon."""

    def __init__(self, context: SparkContext, name: str) -> None:
        self._context = context
        self._name = name
        self._lock = threading.Lock()
        self._running = 0
        self.abandoned = False
        """Whether a job was running when it was to end."""

    def run(self, work: Work, stage: Stage, items: Sequence[Any]) -> pa.Table:
        """Return the rows of all items, in their order. Raises as `collect`."""
        return _to_table(self.collect(partial(_serialize, work), stage, items))

    def run_in_two(self, send: Send, receive: Receive, stage: Stage, items: Sequence[Any], groups: int) -> pa.Table:
        """Return the rows of all groups: what `send` yields of each item is sorted by key and goes to the group that
        the key begins with, which `receive` turns to rows. Raises as `collect`."""
        sent = self._context.parallelize(items, len(items)).mapPartitions(partial(_send, send, stage, groups))
        spread = sent.repartitionAndSortWithinPartitions(groups, _group_of)
        return _to_table(self._run(spread, partial(_receive, receive, stage, groups), groups))

    def collect(self, work: BytesWork, stage: Stage, items: Sequence[Any]) -> list[bytes]:
        """Return what all items give, in their order. Raises Spark's error for a task that failed or was abandoned, and
        OSError where the JVM went before it had sent all: PySpark takes that for their end."""
        return self._run(self._context.parallelize(items, len(items)), partial(_perform, work, stage), len(items))

    def _run(self, rows: RDD[Any], perform: Callable[[Iterator[Any]], Iterator[bytes]], ends: int) -> list[bytes]:
        self._context.setJobGroup(self._name, self._name, interruptOnCancel=True)
        with self._lock:
            self._running += 1
        try:
            answers: list[bytes] = self._context.runJob(rows, perform)
        finally:
            with self._lock:
                self._running -= 1
        if answers.count(_END) != ends:
            raise OSError("Spark did not return all rows of a job")
        return [each for each in answers if each != _END]

    def abandon(self, done: Future[None]) -> None:
        """Cancel jobs until the thread that starts them is `done`."""
        while not done.done():
            if self._running:
                self.abandoned = True
                with suppress(*spark_errors()):
                    self._context.cancelJobGroup(self._name)
            wait([done], 0.1)


def _perform(work: BytesWork, stage: Stage, items: Iterator[Any]) -> Iterator[bytes]:
    """A task, in one of Spark's Python workers."""
    stage.extend_search_path()
    for item in items:
        yield from work(stage, item)
        yield _END
    freeze_objects()


def _serialize(work: Work, stage: Stage, item: Any) -> Iterator[bytes]:
    for batch in work(stage, item):
        yield batch.serialize().to_pybytes()


def _to_table(answers: Sequence[bytes]) -> pa.Table:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(each), MATCHES) for each in answers]
    return pa.Table.from_batches(batches, MATCHES)


def _send(send: Send, stage: Stage, groups: int, items: Iterator[Any]) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """A task, in one of Spark's Python workers."""
    stage.extend_search_path()
    for item in items:
        yield from send(stage, groups, item)


def _group_of(key: tuple[int, ...]) -> int:
    return key[0]


def _receive(receive: Receive, stage: Stage, groups: int, sent: Iterator[Any]) -> Iterator[bytes]:
    """A task, in one of Spark's Python workers."""
    stage.extend_search_path()
    for batch in receive(stage, groups, sent):
        yield batch.serialize().to_pybytes()
    yield _END
    freeze_objects()
