"""Gate and parsers on the executors of a cluster, in killable children there."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from triplecast.ingest import Document, ParsedDocument, Parser
from triplecast.ingest.document import cut_groups
from triplecast.pipeline.jobs import JobGroup, spark_errors
from triplecast.pipeline.stages import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AHEAD = 4
"""Groups of documents that are parsed at a time, beside the one that is committed."""
FEWEST = 8
"""Documents of a group that are sent; fewer take less here."""
TASK_DOCUMENTS, TASK_BYTES = 256, 1 << 20
_GROUP = "triplecast-parsing"


class ClusterParser:
    """Parses on executors from the moment that there are some; before, and what a job fails of, here."""

    def __init__(self, parser: Parser, stage: Stage, report: Callable[[str], None]) -> None:
        self._parser = parser
        self._stage = stage
        self._report = report
        self._spark: SparkSession | None = None
        self._failed = threading.Event()

    def connect(self, spark: SparkSession) -> None:
        """Use the executors of a session, unless it has none but this machine's threads."""
        if not str(spark.sparkContext.master).startswith("local"):
            self._spark = spark

    def leave(self) -> None:
        """Use them no more: their session is about to end."""
        self._spark = None

    def parse(self, documents: Sequence[Document]) -> list[ParsedDocument]:
        """As `Parser.parse`, in any thread."""
        spark = self._spark
        if spark is None or len(documents) < FEWEST:
            return self._parser.parse(documents)
        parts = [*cut_groups(documents, TASK_DOCUMENTS, TASK_BYTES)]
        try:
            answers = JobGroup(spark.sparkContext, _GROUP).collect(parse_part, self._stage, parts)
        except spark_errors() as error:
            if self._spark is not None and not self._failed.is_set():
                self._failed.set()
                self._report(f"documents are parsed by the run itself where executors fail: {str(error)[:200]}")
            return self._parser.parse(documents)
        return [each for answer in answers for each in pickle.loads(answer)]


def parse_part(stage: Stage, documents: Sequence[Document]) -> Iterator[bytes]:
    """A task: yield what the documents were parsed to."""
    yield pickle.dumps(_parser().parse(documents))


@lru_cache(maxsize=1)
def _parser() -> Parser:
    """Of this worker; its child ends with it."""
    return Parser()
