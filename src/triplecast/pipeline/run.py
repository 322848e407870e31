"""The run: an inbox and subscription files in, an outbox out, Spark between.

Four threads of one process: the *registry's* keeps journal and index in line with the subscription files, the
*acceptor* takes documents into the journal, *Spark's* thread follows the journal into the outbox, and the caller's
thread watches them, tells how it goes and ends them in order. They share the journal (one writer, one lock), the
outbox and the horizon; all else goes by position.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from triplecast.driver import Driver
from triplecast.errors import InputError
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.ingest import Parser
from triplecast.ingest.inbox import scan_inbox
from triplecast.journal import Journal
from triplecast.kernels.compiling import FIRST, compile_kernels, warm
from triplecast.model.match import Learnt
from triplecast.model.operators import SCHEDULE, check_schedule
from triplecast.model.subscription import BROAD_PER_OWNER
from triplecast.operators.asking.experience import Experience
from triplecast.operators.operator_set import Declared, operator_set
from triplecast.outbox import Outbox
from triplecast.pipeline.acceptor import Acceptor
from triplecast.pipeline.horizon import HorizonFile
from triplecast.pipeline.query import SparkSide
from triplecast.pipeline.report import Notice, Phase, Progress, Summary, Teller
from triplecast.pipeline.sink import Sink
from triplecast.registry.control import ControlServer
from triplecast.registry.file_source import FileSource
from triplecast.registry.files import find_subscription_files
from triplecast.registry.registry import Registry, settle_documents
from triplecast.registry.requests import Requests
from triplecast.registry.taxonomy_files import TaxonomyFiles
from triplecast.registry.upkeep import IndexUpkeep, check_progress, settle_operators

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_SECONDS = 0.2
"""Between two looks at inbox or subscriptions."""

INDEX_SECONDS = 1.0
"""Least time between two updates of the index, so that a worker finds the manifest that its batch was planned with."""

RESTLESS_SECONDS = 5.0
"""How long ``once`` waits for files that do not stand still before it leaves them."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What a run reads."""

    subscriptions: Sequence[Path]
    """Files, and folders of them."""
    inbox: Path
    dataset: bool = False
    """Whether a document with named graphs is one publication, or each of its graphs is one."""
    taxonomy: Sequence[Path] = ()
    """RDF files, and folders of them."""
    broader: bool = False
    """Whether `skos:broader` is read as a hierarchy too."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is told how a run goes, on the thread that called it, and may end it."""

    on_progress: Callable[[Progress], None] = lambda progress: None
    """Called a few times a second."""
    on_notice: Callable[[Notice], None] = lambda notice: None
    """Called for each reject, each subscription that is refused, and whatever else a user should know."""
    stop: threading.Event = field(default_factory=threading.Event)


class Parts(NamedTuple):
    """What a run consists of."""

    journal: Journal
    outbox: Outbox
    registry: Registry
    files: FileSource
    taxonomy: TaxonomyFiles
    acceptor: Acceptor
    sink: Sink
    spark: SparkSide
    teller: Teller


def run(
    sources: Sources,
    output: Path,
    once: bool = False,
    caller: Caller | None = None,
    cores: int = 2,
    spark: SparkSession | None = None,
    broad_per_owner: int = BROAD_PER_OWNER,
    schedule: str = SCHEDULE,
    operators: Iterable[Declared] | None = None,
) -> Summary:
    """Matches what arrives in the inbox against the subscriptions until the caller's `stop` is set, or, with `once`,
    until what the inbox held at the start is matched.

    `spark` is a session that the caller keeps; without one, one is started on `cores` threads and ended at the end. No
    owner has more than `broad_per_owner` broad subscriptions registered. Operators are asked in the order of a
    `schedule`; `operators` are those that queries may call, without it all that are declared here.
    `output` holds journal, index, outbox and Spark's log. Raises InputError, FolderLocked, StorageFault or
    PipelineFailed; what was acknowledged before is kept, and the same call goes on from there.
    """
    caller = caller or Caller()
    declared = operator_set(operators)
    check_schedule(schedule)
    find_subscription_files(sources.subscriptions)
    scan_inbox(sources.inbox, {}, {}, 0.0)
    if output.exists() and not output.is_dir():
        raise InputError(f"the output {output} is no folder", "name a folder with --output")
    output = output.absolute()
    with ExitStack() as closing:
        journal = closing.enter_context(Journal.open(output))
        outbox = closing.enter_context(Outbox.open(output, journal.check_writer, epoch=journal.epoch))
        check_progress(journal, outbox)
        settle_documents(journal, sources.dataset)
        called = settle_operators(journal, declared)
        parser = closing.enter_context(Parser(cores))
        notices: SimpleQueue[Notice] = SimpleQueue()
        horizon = HorizonFile(output)
        driver = Driver(journal, outbox)
        sink = Sink(driver, outbox, horizon.learn, notices.put, merge_learnt(journal))
        upkeep = IndexUpkeep(
            IndexWriter(SegmentFolder(output / INDEX, journal.sole)),
            journal,
            lambda: outbox.progress,
            horizon.cover_snapshot,
            lambda: called,
        )
        closing.callback(upkeep.close)
        registry = Registry(journal, upkeep, broad_per_owner)
        files = FileSource(sources.subscriptions, registry, journal, notices.put)
        acceptor = Acceptor(sources.inbox, journal, parser, sources.dataset, notices.put)
        requests = Requests(registry, journal, outbox)

        def listen() -> None:
            control = ControlServer(output, requests.answer_line)
            closing.callback(control.close)
            journal.announce(str(control.address))

        given = nullcontext(spark) if spark is not None else None
        side = SparkSide(output, sink, cores, notices.put, given, schedule=schedule, operators=called)
        known = TaxonomyFiles(sources.taxonomy, sources.broader, journal, notices.put)
        known.start()
        teller = Teller(
            notices,
            caller.on_progress,
            caller.on_notice,
            journal,
            outbox,
            registry,
            files,
            acceptor.taken,
            sink.matched,
        )
        parts = Parts(journal, outbox, registry, files, known, acceptor, sink, side, teller)
        return _Run(parts, once, listen).follow(caller.stop)


def merge_learnt(journal: Journal) -> Callable[[Sequence[Learnt]], None]:
    """Adds what the workers learn of operators, batch after batch, to what the journal keeps."""
    merged = Experience(journal.learnt())

    def take(learnt: Sequence[Learnt]) -> None:
        if learnt:
            merged.absorb(learnt)
            merged.forget()
            journal.keep_learnt(*merged.changes())
            merged.note_written()

    return take


class _Run:
    """The threads of one run, from start to end."""

    def __init__(self, parts: Parts, once: bool, listen: Callable[[], None]) -> None:
        """`listen` opens the control socket, once the registry is ready."""
        self._parts = parts
        self._listen = listen
        self._once = once
        self._registered = threading.Event()
        self._drained = threading.Event()
        self._ending = threading.Event()
        self._indexed_at = 0.0

    def follow(self, stop: threading.Event) -> Summary:
        """Runs until `stop`, or with `once` until done; raises what the first failing thread raised."""
        began = time.monotonic()
        spark, teller = self._parts.spark, self._parts.teller
        with ThreadPoolExecutor(3, "triplecast") as threads:
            tasks = [threads.submit(self._register), threads.submit(self._accept)]
            if not self._once or self._pending() or self._parts.acceptor.has_work():
                tasks.append(threads.submit(spark.work))
            try:
                while not stop.wait(0.05) and not self._done():
                    raise_failure(tasks)
                    teller.tell(Phase.RUNNING if spark.running else Phase.STARTING)
            finally:
                teller.tell(Phase.ENDING)
                self._ending.set()
                spark.end()
                wait(tasks)
            raise_failure(tasks)
        acceptor = self._parts.acceptor
        drained = self._drained.is_set() if self._once else not acceptor.has_work()
        return teller.summary(acceptor.ignored, time.monotonic() - began, drained)

    def _register(self) -> None:
        compile_kernels(self._parts.teller.note, self._ending.is_set)
        if self._ending.is_set():
            return
        warm(FIRST)  # here, while the JVM starts: a worker that finds no compiled kernels makes its batch wait for them
        for line in self._parts.registry.index.open():
            self._parts.teller.note(line)
        self._parts.files.start(time.monotonic())
        self._listen()
        self._registered.set()
        self._parts.spark.go()
        self._repeat(self._look)

    def _look(self) -> bool:
        """Whether subscriptions or taxonomy were read again, or the index has changed."""
        took = self._parts.taxonomy.look(time.monotonic())
        took = self._parts.files.look(time.monotonic()) or took
        if time.monotonic() - self._indexed_at < INDEX_SECONDS or not self._parts.registry.follow():
            return took
        self._indexed_at = time.monotonic()
        return True

    def _accept(self) -> None:
        """Documents are taken once the registry is what the files say; with `once`, those that are there at the first
        look.
        """
        while not self._registered.wait(0.05):
            if self._ending.is_set():
                return
        acceptor = self._parts.acceptor
        if self._once:
            self._drain()
        else:
            self._repeat(lambda: acceptor.look(time.monotonic(), self._ending).took)

    def _drain(self) -> None:
        acceptor = self._parts.acceptor
        present = acceptor.look(time.monotonic(), self._ending).left
        left, moved = present, time.monotonic()
        while left:
            if self._ending.wait(LOOK_SECONDS):
                return
            still = present & acceptor.look(time.monotonic(), self._ending).left
            if len(still) < len(left):
                moved = time.monotonic()
            left = still
            if time.monotonic() - moved > RESTLESS_SECONDS:
                self._parts.teller.note(f"left for a later run, since they still change: {', '.join(sorted(left)[:9])}")
                break
        self._drained.set()

    def _repeat(self, look: Callable[[], bool]) -> None:
        """Looks until the end; after a look that took nothing it rests at least five times as long as that took."""
        rest = LOOK_SECONDS
        while not self._ending.wait(rest):
            began = time.monotonic()
            took = look()
            rest = LOOK_SECONDS if took else max(LOOK_SECONDS, 5 * (time.monotonic() - began))

    def _done(self) -> bool:
        return self._once and self._drained.is_set() and not self._pending()

    def _pending(self) -> bool:
        """Whether the journal holds a publication that the outbox has not come to, or that waits for operators which
        were not asked, or could not be, in this run."""
        journal = self._parts.journal
        beyond = journal.publications(self._parts.outbox.told, journal.head(), 1)
        return bool(beyond) or self._parts.sink.has_open()


def raise_failure(tasks: Sequence[Future[None]]) -> None:
    """Raises what the first failed task raised."""
    for task in tasks:
        if task.done():
            task.result()
