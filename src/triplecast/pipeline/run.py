"""The run: documents and subscription files in, an outbox out, Spark between.

Four threads of one process: the *registry's* keeps journal and index in step with the subscription files, the
*acceptor's* takes documents into the journal, *Spark's* has jobs follow the journal into the outbox, and the caller's
watches them, reports progress and ends them in order; others *relay* what the outbox records to a topic or an address.
They share the journal (one writer, one lock), the outbox and the horizon; all else goes by position.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from triplecast.driver import Driver, open_outbox
from triplecast.errors import InputError
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.ingest import Parser
from triplecast.ingest.document_files import check_broader
from triplecast.journal import Journal
from triplecast.kafka import Kafka, settle_group
from triplecast.kafka.relay import Relay
from triplecast.kafka.topic_reader import TopicReader
from triplecast.languages.roots import read_split
from triplecast.model.operators import SCHEDULE
from triplecast.model.subscription import BROAD_PER_OWNER
from triplecast.operators.operator_set import Declared, operator_set
from triplecast.outbox import Outbox
from triplecast.partition import SLICES
from triplecast.pipeline.acceptor import Acceptor, DocumentSource, FolderInbox, Inbox, Intake
from triplecast.pipeline.looks import look_again
from triplecast.pipeline.matching import SparkMatching, SparkSettings
from triplecast.pipeline.object_inbox import ObjectInbox
from triplecast.pipeline.object_store import is_address, shown
from triplecast.pipeline.output_files import OutputFiles, choose_folder
from triplecast.pipeline.parsing import AHEAD, ClusterParser
from triplecast.pipeline.query import SparkSide
from triplecast.pipeline.report import Caller, Notice, Phase, ProgressReporter, Summary
from triplecast.pipeline.topic_acceptor import TopicAcceptor
from triplecast.registry.control import ControlServer
from triplecast.registry.file_source import FileSource
from triplecast.registry.files import find_subscription_files
from triplecast.registry.registry import Registry, settle_documents
from triplecast.registry.requests import Requests
from triplecast.registry.taxonomy_files import TaxonomyFiles
from triplecast.registry.upkeep import IndexUpkeep, settle_operators

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELAY_SECONDS = 0.05
"""Between two looks at the outbox for notifications to send on."""

Paths = Path | str | Sequence[Path | str]
"""A file or folder, or several."""


@dataclass(frozen=True, slots=True, init=False)
class Sources:
    """What a run reads."""

    subscriptions: tuple[Path, ...]
    """Files, and folders of them."""
    inbox: Path | str | None
    """A folder or an address (`pipeline.object_store`); None where the documents come from a topic."""
    dataset: bool
    """Whether a document with named graphs is one publication, or each of its graphs is one."""
    taxonomy: tuple[Path, ...]
    """RDF files, and folders of them."""
    broader: bool
    """Whether `skos:broader` is read as a hierarchy too."""
    split: str | None
    """A class or a query: each of its instances or results is a publication (docs/split-documents.md)."""
    kafka: Kafka | None
    """The topics that documents are read from, and notifications sent to."""

    def __init__(
        self,
        subscriptions: Paths,
        inbox: Path | str | None = None,
        dataset: bool = False,
        taxonomy: Paths = (),
        broader: bool = False,
        split: str | None = None,
        kafka: Kafka | None = None,
    ) -> None:
        topic = kafka is not None and kafka.publications is not None
        if inbox is not None and topic:
            raise InputError("both an inbox and a topic of publications are given", "leave one of them out")
        if inbox is None and not topic:
            raise InputError("neither an inbox nor a topic of publications is given", "add --inbox or --publications")
        place = inbox if inbox is None or is_address(inbox) else Path(inbox)
        files = _paths(subscriptions), place, dataset, _paths(taxonomy), broader
        values = (*files, split and read_split(split), kafka)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)
        check_broader(self.taxonomy, broader)

    @property
    def place(self) -> str:
        """Where the documents come from."""
        return shown(str(self.inbox)) if self.inbox is not None else f"topic {self.kafka and self.kafka.publications}"


def _paths(given: Paths) -> tuple[Path, ...]:
    return (Path(given),) if isinstance(given, str | Path) else tuple(map(Path, given))


def run(
    sources: Sources,
    output: Path | str,
    once: bool = False,
    caller: Caller | None = None,
    cores: int = 2,
    spark: SparkSession | None = None,
    broad_per_owner: int = BROAD_PER_OWNER,
    schedule: str = SCHEDULE,
    operators: Iterable[Declared] | None = None,
    master: str | None = None,
    partition: str = SLICES,
    shards: int = 1,
    snapshots: str | None = None,
    folder: Path | str | None = None,
) -> Summary:
    """Match what arrives in the inbox or topic against the subscriptions until the caller's `stop` is set, or, with
    `once`, until what was there at the start is matched, and sent where it is to be sent.

    `spark` is a session that the caller keeps; without one, one is started on `cores` threads, or on the cluster of a
    `master`, and ended at the end. No owner has more than `broad_per_owner` broad subscriptions registered.
    `operators` are those that queries may call, by default all that are declared; they are called in the order of a
    `schedule`. Another `partition` than slices cuts the index into so many `shards`.
    `output` holds journal, index, outbox and Spark's log; where it is an address, it has the notifications, as files
    (`pipeline.output_files`), and the `folder` has those. Raises InputError, FolderLocked, StorageFault or
    PipelineFailed; what was acknowledged before is kept, and the same call continues from there.
    """
    settings = SparkSettings(cores, spark, schedule, master, partition, shards, snapshots).check()
    declared = operator_set(operators)
    find_subscription_files(sources.subscriptions)
    inbox: Inbox | None = None
    if sources.inbox is not None:
        inbox = ObjectInbox(sources.inbox) if is_address(sources.inbox) else FolderInbox(Path(sources.inbox))
    place = choose_folder(output, folder, sources.inbox).absolute()
    with ExitStack() as closing:
        journal = closing.enter_context(Journal.open(place))
        outbox = closing.enter_context(open_outbox(place, journal))
        settle_documents(journal, sources.dataset)
        known = settle_operators(journal, declared)
        notices: SimpleQueue[Notice] = SimpleQueue()
        driver = Driver(journal, outbox, journal.has_repository_scope)
        matching = SparkMatching(settings, place, journal, outbox, driver, known, notices.put)
        closing.callback(matching.close)
        parser = closing.enter_context(Parser(cores))
        ahead = 1 if master is None else AHEAD
        caller = caller or Caller()
        parts = matching, notices, journal, outbox, parser
        running = _Run(sources, inbox, output, *parts, broad_per_owner, caller, once, ahead)
        closing.callback(running.close)
        return running.follow(matching.spark(running.parser.connect))


class _Run:
    """The parts of one run, and its threads from start to end."""

    def __init__(
        self,
        sources: Sources,
        inbox: Inbox | None,
        output: Path | str,
        matching: SparkMatching,
        notices: SimpleQueue[Notice],
        journal: Journal,
        outbox: Outbox,
        parser: Parser,
        broad_per_owner: int,
        caller: Caller,
        once: bool,
        ahead: int,
    ) -> None:
        self.notices = notices
        self._matching, stage, horizon = matching, matching.stage, matching.horizon
        self._folder = stage.folder
        self._journal = journal
        self._outbox = outbox
        index = IndexWriter(SegmentFolder(stage.folder / INDEX, journal.sole))
        progress, operators = lambda: outbox.progress, lambda: stage.operators
        self._upkeep = IndexUpkeep(index, journal, progress, matching.cover, operators)
        self._registry = Registry(journal, self._upkeep, broad_per_owner)
        self._files = FileSource(sources.subscriptions, self._registry, journal, self.notices.put)
        self._taxonomy = TaxonomyFiles(sources.taxonomy, sources.broader, journal, self.notices.put)
        self._taxonomy.start()
        self.parser = ClusterParser(parser, stage, self.notices.put)
        how = sources.dataset, self.notices.put, horizon.wake, sources.split, ahead
        intake = Intake(journal, self.parser.parse, *how)
        self._acceptor: DocumentSource
        self._relays: list[Relay | OutputFiles] = [OutputFiles(output, journal)] if is_address(output) else []
        if inbox is not None:
            self._acceptor = Acceptor(inbox, intake)
        if sources.kafka is not None:
            group = settle_group(journal, sources.kafka)
            if sources.kafka.notifications is not None:
                self._relays.append(Relay(sources.kafka, group, journal, self.notices.put))
            if sources.kafka.publications is not None:
                self._acceptor = TopicAcceptor(TopicReader(sources.kafka, group, journal, self.notices.put), intake)
        self._control: ControlServer | None = None
        counted = self._registry, self._files, self._acceptor, matching.sink.matched
        left = journal.count_publications(outbox.told)
        self._reporter = ProgressReporter(caller, self.notices, journal, outbox, *counted, left)
        self._stop = caller.stop
        self._once = once
        self._registered = threading.Event()
        self._drained = threading.Event()
        self._ending = threading.Event()

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
        self._acceptor.close()
        for relay in self._relays:
            relay.close()
        self._upkeep.close()

    def follow(self, spark: SparkSide) -> Summary:
        """Run until stopped, or with `once` until done; raise what the first failing thread raised."""
        began = time.monotonic()
        with ThreadPoolExecutor(3 + len(self._relays), "triplecast") as threads:
            tasks = [threads.submit(self._register, spark), threads.submit(self._accept)]
            tasks += [threads.submit(self._relay, each) for each in self._relays]
            works = not self._once or self._acceptor.has_work()
            if works:
                tasks.append(threads.submit(spark.work))
            try:
                while not self._stop.wait(0.05) and not self._done():
                    raise_failure(tasks)
                    if not works and self._registered.is_set() and (works := self._pending()):
                        tasks.append(threads.submit(spark.work))
                    self._reporter.report(Phase.RUNNING if spark.running else Phase.STARTING)
            finally:
                self._reporter.report(Phase.ENDING)
                self._ending.set()
                self.parser.leave()
                spark.end()
                wait(tasks)
            raise_failure(tasks)
        drained = self._drained.is_set() if self._once else not self._acceptor.has_work()
        return self._reporter.summary(time.monotonic() - began, drained)

    def _register(self, spark: SparkSide) -> None:
        """The registry's thread."""
        self._matching.prepare(self._ending.is_set)
        if self._ending.is_set():
            return
        for line in self._upkeep.open():
            self.notices.put(line)
        self._files.start(time.monotonic())
        self._control = ControlServer(self._folder, Requests(self._registry, self._journal, self._outbox).answer_line)
        self._journal.announce(str(self._control.address))
        self._registered.set()
        spark.go()
        look_again(self._ending, self._look)

    def _look(self) -> bool:
        """Whether subscriptions or taxonomy were read again, or the index has changed."""
        took = self._taxonomy.look(time.monotonic())
        took = self._files.look(time.monotonic()) or took
        return self._matching.follow(self._registry) or took

    def _accept(self) -> None:
        """The acceptor's thread: documents are taken once the subscription files are registered; with `once`, those
        that are there at the first look."""
        while not self._registered.wait(0.05):
            if self._ending.is_set():
                return
        if not self._once:
            self._acceptor.follow(self._ending)
        elif self._acceptor.drain(self._ending):
            self._drained.set()

    def _relay(self, relay: Relay | OutputFiles) -> None:
        """A relay's thread."""
        while not self._ending.wait(0.0 if relay.look() else RELAY_SECONDS):
            pass

    def _done(self) -> bool:
        done = self._once and self._drained.is_set() and not self._pending()
        return done and not any(each.is_behind() for each in self._relays)

    def _pending(self) -> bool:
        """Whether the journal holds a publication beyond the outbox's progress, with subscriptions of repository scope
        any other event, or a pending pair whose operators were not tried in this run."""
        if self._journal.has_repository_scope and self._outbox.told < self._journal.head():
            return True
        beyond = self._journal.documents(self._outbox.told, self._journal.head(), 1)
        return bool(beyond) or self._matching.sink.has_pending()


def raise_failure(tasks: Sequence[Future[None]]) -> None:
    """Raise what the first failed task raised."""
    for task in tasks:
        if task.done():
            task.result()
