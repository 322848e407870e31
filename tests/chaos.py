"""Kill -9 at every named point and at random moments, then restart: nothing lost, nothing twice, no id changed.

``python -m tests.chaos N`` kills N times at each point of `RUN_POINTS` in a run without a JVM (the same
journal, acceptor, registrar, source, stages and sink, called in turn), and N times at each point that Spark's order of
events adds, and at 4N random moments while a batch is in flight, in whole runs on Spark. ``--no-spark`` leaves those
out, ``--seed`` replays the choice of moments. The oracle is an undisturbed run over the same files: the same ids,
versions and bindings, row by row. A table of the kills stands at the end.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa

from tests.spark import weighing
from tests.spark.workplace import QUERIES, Workplace, document
from tests.unit.pipeline.test_stages import OneProcess
from triplecast import crash_points
from triplecast.driver import Driver
from triplecast.engine.querying import Querying
from triplecast.errors import TriplecastError
from triplecast.incremental import OperatorAnswers
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.ingest import Parser, inbox_files
from triplecast.ingest.inbox import QUIET
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.match import MatchStats
from triplecast.operators import declared_operators
from triplecast.operators.asking import Asker
from triplecast.outbox import Notification, Outbox, OutboxBatch, chunks
from triplecast.partition import SLICES
from triplecast.pipeline import horizon, operator_jobs
from triplecast.pipeline.acceptor import Acceptor, FolderInbox, Intake
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.jobs import JobGroup
from triplecast.pipeline.match_jobs import match_left, plan_batch
from triplecast.pipeline.rows import MATCHES, to_arrow
from triplecast.pipeline.session import session
from triplecast.pipeline.sharding import SnapshotCutter
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.snapshots import SnapshotSharer
from triplecast.pipeline.stages import Stage, ask_slice, match_slice
from triplecast.registry.file_source import FileSource
from triplecast.registry.registry import Registry
from triplecast.registry.upkeep import IndexUpkeep, settle_operators

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = ("local.", "kafka.", "output.", "snapshots.", "taking.", "spark.", "sources.", "delivery.")
"""Crash points that no run over an inbox comes to; their own tests kill there."""
RUN_POINTS = tuple(point for point in crash_points.POINTS if not point.startswith(OTHERS))
"""Those that a run reaches."""
SPARK_POINTS = (
    "pipeline.batch-planned",
    "pipeline.batch-matched",
    "pipeline.batch-returned",
    "outbox.position-written",
    "outbox.committed",
    "outbox.some-wait",
    "pipeline.operators-asked",
)
"""Where Spark's own order of events may matter: `outbox.committed` is after the outbox's commit and before Spark's,
the last two between the halves of what is told."""

PATIENCE = 600
"""Seconds that a run on Spark may take on a busy machine."""

PRUNED = 10
"""Notifications that the second phase prunes."""

assert weighing
WEIGHED = "SELECT ?s ?n { ?s <http://e/kind> 'k3' ; <https://example.org/chaos#quads> ?n }"
"""Asks an operator, so that there are kills while its answers are kept, and before it is asked."""
WEIGHED_NAME = "weighed.rq"
STANDING = {
    "standing/kinds": "SELECT ?k (COUNT(?s) AS ?n) { ?s <http://e/kind> ?k } GROUP BY ?k",
    "standing/next": "SELECT ?s ?n { ?s <http://e/kind> 'k3' ; <http://e/next> ?t . ?t <http://e/number> ?n }",
    "standing/how-many": "SELECT (COUNT(*) AS ?n) { ?s <http://e/kind> ?k }",
    "standing/weighed": "SELECT ?s ?n { ?s <http://e/kind> 'k3' ; <https://example.org/chaos#quads> ?n }",
}
"""Of repository scope."""


# ---- what is run -----------------------------------------------------------------------------------------------------


def first_files(place: Workplace) -> None:
    """What the first phase finds: files, lines, a document that cannot be read; one more subscription."""
    (place.subscriptions / WEIGHED_NAME).write_text(WEIGHED)
    lines = (json.dumps({"id": name, "text": text, "scope": "repository"}) for name, text in STANDING.items())
    (place.subscriptions / "standing.jsonl").write_text("\n".join(lines))
    place.fill(80)
    place.write("bad.ttl", "<http://e/s> <http://e/p> ")


def second_files(place: Workplace) -> None:
    """What the second phase finds changed: documents, one twice in one file, and subscriptions."""
    for number in range(0, 30, 3):
        place.write(f"d{number}.ttl", document(number, kind=3))
    lines = (place.inbox / "lines.jsonl").read_text()
    place.write("lines.jsonl", lines + lines.replace("k3", "k4").replace("k5", "k3"))
    (place.subscriptions / "narrow.rq").write_text(QUERIES["narrow.rq"].replace("k3", "k4"))
    (place.subscriptions / "ask" / "dated.rq").unlink()


def run_in_turn(place: Workplace, prune: int = 0, snapshots: str | None = None) -> None:
    """A run until done, its parts called one after the other in this process, in small steps so that there are many.
    Operators are asked after some batches, and at the end. With `snapshots`, an address, what workers do is done
    without the run's folder, with what travels to them."""
    small = (
        patch.object(inbox_files, "GROUP_DOCUMENTS", 15),
        patch.object(horizon, "SMALLEST", 40),
        patch.object(horizon, "LARGEST", 40),
        patch.object(chunks, "MERGED", 2),
    )
    with ExitStack() as opened:
        for step in small:
            opened.enter_context(step)
        journal = opened.enter_context(Journal.open(place.output))
        outbox = opened.enter_context(Outbox.open(place.output))
        parser = opened.enter_context(Parser())
        moving = MovingHorizon()
        called = settle_operators(journal, declared_operators())
        sharer = None if snapshots is None else SnapshotSharer(snapshots, place.output, journal)
        cutter = SnapshotCutter(journal, place.output, SLICES, 1, sharer and sharer.publish)
        upkeep = IndexUpkeep(
            IndexWriter(SegmentFolder(place.output / INDEX)),
            journal,
            lambda: outbox.progress,
            lambda snapshot: moving.cover((cut := cutter.publish(snapshot)).manifest, cut.covers),
            operators=lambda: called,
        )
        opened.callback(upkeep.close)
        acceptor = Acceptor(FolderInbox(place.inbox), Intake(journal, parser.parse, False, lambda reject: None))
        upkeep.open()
        FileSource([place.subscriptions], Registry(journal, upkeep), journal, lambda fault: None).start(0.0)
        for now in (0.0, QUIET):
            acceptor.look(now, threading.Event())
        matcher = opened.enter_context(Matcher(operators=called))
        asker = Asker(operators=called)
        opened.callback(asker.close)
        answers = Querying(journal, matcher, OperatorAnswers(journal, matcher, asker)).changes
        sink = Sink(Driver(journal, outbox), outbox, moving.learn, answers=answers)
        stage = Stage(place.output, declared_operators(), snapshots=sharer and sharer.place)
        jobs = JobGroup(OneProcess(), "left")  # type: ignore[arg-type]
        while (batch := plan_batch(moving.now, journal, outbox.told, 2, stage)) is not None:
            nothing = to_arrow(OutboxBatch.joined(()), batch.after, batch.upto, MatchStats())
            rows = [row for each in batch.slices for row in there(match_slice, stage, each)] or [nothing]
            left = sink.take(lambda rows=rows: pa.Table.from_batches(rows, MATCHES))  # type: ignore[misc]
            while left is not None:
                left = sink.take(partial(match_left, jobs, stage, moving, left, 2))
            if batch.upto % 3 == 0:
                ask_in_turn(stage, sink, moving)
        while ask_in_turn(stage, sink, moving):
            pass
        if prune:
            outbox.prune(prune)


def there(work: Callable[[Stage, Any], Iterator[pa.RecordBatch]], stage: Stage, item: object) -> list[pa.RecordBatch]:
    """What a worker makes of an item that travelled to it."""
    item = pickle.loads(pickle.dumps(item))
    away = stage if stage.snapshots is None else replace(stage, folder=Path("/nowhere"))
    return [*work(away, item)]


def ask_in_turn(stage: Stage, sink: Sink, moving: MovingHorizon) -> bool:
    """Ask operators about some of the publications that wait for them, in two slices; whether some did."""
    batch, now = sink.driver.turns.next(0.0, 12), moving.now
    if batch is None or now is None:
        return False
    with patch.object(operator_jobs, "SMALLEST_SLICE", 4):
        slices = operator_jobs.cut(batch.after, batch.positions, now.manifest, 2)
    carried = [operator_jobs.with_pending(stage, each) for each in slices]
    batches = [row for each in carried for row in there(ask_slice, stage, each)]
    sink.settle(lambda: pa.Table.from_batches(batches, MATCHES))
    sink.driver.turns.note_settled(batch, 0.0, 0.0)
    return True


def run_on_spark(place: Workplace) -> None:
    """A whole run until done, with its own JVM, in several batches."""
    from triplecast.pipeline.run import Sources, run

    with patch.object(horizon, "SMALLEST", 40), patch.object(horizon, "LARGEST", 40):
        run(Sources([place.subscriptions], place.inbox), place.output, once=True)


# ---- killing ---------------------------------------------------------------------------------------------------------


def run_forked(action: Callable[[], None], point: str | None, hit: int, log: Path) -> bool:
    """Runs `action` in a fork with `point` armed; whether it was killed there. Any other end is an error."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["TRIPLECAST_CRASH"] = f"{point}:{hit}" if point else ""
            os.environ["TRIPLECAST_CRASH_LOG"] = str(log)
            importlib.reload(crash_points)
            action()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status != 0:
        raise AssertionError(f"a run with {point}:{hit} ended with status {status}")
    return False


class Oracle:
    """What undisturbed runs over the same files tell, after the first phase and after the second."""

    def __init__(self, folder: Path) -> None:
        place = Workplace(folder)
        first_files(place)
        run_in_turn(place)
        self.first = place.outbox()
        second_files(place)
        run_in_turn(place)
        self.second = place.outbox()
        assert self.second[: len(self.first)] == self.first
        assert len(self.second) > len(self.first) > 2 * PRUNED
        assert len({row.id for row in self.second}) == len(self.second)


def same(found: list[Notification], expected: list[Notification]) -> None:
    """Equal but for the time of acceptance: ids, versions, bindings, and each subscription's in the same order. Those
    that no operator was asked about stand in the same order altogether; where between them the others stand is told by
    the moment at which operators answered (docs/decisions/0013)."""

    def told(rows: list[Notification]) -> list[tuple[object, ...]]:
        return [(row.id, row.publication, row.version, row.registration, row.subscription, row.json) for row in rows]

    lost, extra = set(told(expected)) - set(told(found)), set(told(found)) - set(told(expected))
    assert not lost, f"{len(lost)} lost: {sorted(lost)[:4]}"
    assert not extra, f"{len(extra)} invented or renamed: {sorted(extra)[:4]}"
    assert len(found) == len(expected), "some are told twice"
    assert [row.sequence for row in found] == list(range(found[0].sequence, found[0].sequence + len(found)))
    for asked in (False, True):
        of_both = [[row for row in rows if (row.subscription == WEIGHED_NAME) == asked] for rows in (found, expected)]
        assert told(of_both[0]) == told(of_both[1])


def kept(before: list[Notification], after: list[Notification]) -> None:
    """What stood in the outbox when the process was killed stands there still, to the letter."""
    assert after[: len(before)] == before


def kill_at(point: str, hit: int, phase: int, folder: Path, oracle: Oracle, log: Path) -> bool:
    """One kill in phase 1 or 2 and the restart, held to the oracle; False when the point was not reached so often."""
    place = Workplace(folder)
    first_files(place)
    prune = PRUNED if point == "outbox.pruned" else 0
    if phase == 2:
        run_in_turn_forked(place, log)
        second_files(place)
    killed = run_forked(lambda: run_in_turn(place, prune), point, hit, log)
    before = place.outbox()
    run_in_turn_forked(place, log)
    after = place.outbox()
    expected = oracle.second if phase == 2 else oracle.first
    if prune:
        assert len(expected) - len(after) in (0, PRUNED)
        left = {row.id for row in after}
        assert left <= {row.id for row in expected}
        same(after, [row for row in expected if row.id in left])
    else:
        same(after, expected)
        kept(before, after)
    return killed


def run_in_turn_forked(place: Workplace, log: Path) -> None:
    assert not run_forked(lambda: run_in_turn(place), None, 1, log)


def kill_everywhere(count: int, seed: int, folder: Path, say: Callable[[str], None] = print) -> Counter[str]:
    """At least `count` kills at each point, without a JVM; the hits, counted from the log that the killed wrote."""
    chance = random.Random(seed)
    log = folder / "hits.log"
    log.touch()
    oracle = Oracle(folder / "oracle")
    for point in RUN_POINTS:
        for number in range(count):
            phase = 2 if point == "outbox.pruned" else chance.choice((1, 2))
            for hit in (chance.randint(1, 4), 1):
                work = folder / f"{point}-{number}-{hit}"
                if kill_at(point, hit, phase, work, oracle, log):
                    break
                shutil.rmtree(work)
            else:
                raise AssertionError(f"{point} was not reached in phase {phase}")
            shutil.rmtree(work)
        say(f"{point}: {Counter(log.read_text().split())[point]} kills, nothing lost, twice or renamed")
    return Counter(log.read_text().split())


# ---- on Spark --------------------------------------------------------------------------------------------------------


def start_on_spark(place: Workplace, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.chaos", "--run", str(place.inbox.parent)]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL, start_new_session=True
    )


def kill_on_spark(
    folder: Path, oracle: Oracle, spark: SparkSession, log: Path, point: str | None, victim: str, moment: Moment
) -> str | None:
    """One kill of a whole run that has a JVM of its own: at `point`, or of `victim` (driver, jvm, worker) at `moment`.
    It is started again in the session `spark`.

    What happened, in words; None where the run had ended before there was a batch to kill it in.
    """
    place = Workplace(folder)
    first_files(place)
    armed = {"TRIPLECAST_CRASH": f"{point}:1", "TRIPLECAST_CRASH_LOG": str(log)} if point else {}
    process = start_on_spark(place, armed)
    killed = point is not None or kill_in_flight(process, place, victim, moment)
    process.wait(PATIENCE)
    before = place.outbox()
    place.run(spark)
    after = place.outbox()
    same(after, oracle.first)
    kept(before, after)
    return f"killed {point or victim} with {len(before)} of {len(after)} rows committed" if killed else None


class Moment(NamedTuple):
    """A moment of a batch."""

    batch: int
    """Batches count from 0."""
    seconds: float
    """After the batch was planned, or later: when a batch is in flight again."""


def kill_in_flight(process: subprocess.Popen[bytes], place: Workplace, victim: str, moment: Moment) -> bool:
    """SIGKILL to the driver, its JVM, or all its Python workers, while something is to be matched; False where the run
    ended before.
    """
    while committed(place) < moment.batch or not in_flight(process.pid, place):
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    time.sleep(moment.seconds)
    while process.poll() is None:
        pids = {
            "driver": [process.pid],
            "jvm": children(process.pid, "java"),
            "worker": children(process.pid, "pyspark"),
        }[victim]
        if pids and in_flight(process.pid, place):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return True
        time.sleep(0.002)
    return False


def committed(place: Workplace) -> int:
    """Batches of 40 positions that the outbox has."""
    with suppress(TriplecastError), Outbox.read_only(place.output) as outbox:
        return outbox.told // 40
    return 0


def in_flight(process: int, place: Workplace) -> bool:
    """Whether a run has Python workers of Spark and publications to be matched."""
    out = place.output
    with suppress(TriplecastError), Outbox.read_only(out) as outbox, Journal.read_only(out) as journal:
        return journal.next_document(outbox.told) is not None and bool(children(process, "pyspark"))
    return False


def children(parent: int, word: str) -> list[int]:
    """All processes below `parent` whose command holds `word`, by /proc."""
    found, pending = [], [parent]
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    while pending:
        for child in parents.get(pending.pop(), []):
            pending.append(child)
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if word in command and ("java" in command) == (word == "java"):
                found.append(child)
    return found


def kill_spark_everywhere(
    count: int, seed: int, folder: Path, say: Callable[[str], None] = print
) -> tuple[Counter[str], Counter[str]]:
    """`count` kills at each of `SPARK_POINTS`, and `4 * count` random ones while a batch is in flight, each of a whole
    run with its own JVM. The hits at the points, and the kills of each victim.
    """
    chance = random.Random(seed)
    log = folder / "spark-hits.log"
    log.touch()
    oracle = Oracle(folder / "spark-oracle")
    victims: Counter[str] = Counter()
    with session(2) as spark:
        for number in range(count):
            for point in SPARK_POINTS:
                work = folder / f"{point}-{number}"
                say(f"{kill_on_spark(work, oracle, spark, log, point, '', Moment(0, 0.0))}")
                shutil.rmtree(work)
        tries = 0
        while victims.total() < 4 * count:
            tries += 1
            assert tries <= 12 * count, f"only {victims.total()} of {tries} runs had a batch in flight to be killed in"
            victim = ("driver", "jvm", "worker")[tries % 3]
            moment = Moment(chance.randint(0, 2), chance.uniform(0, 1.5))
            told = kill_on_spark(folder / f"random-{tries}", oracle, spark, log, None, victim, moment)
            if told is not None:
                victims[victim] += 1
                say(f"{told}, in batch {moment.batch} or later after {moment.seconds:.2f} s")
            shutil.rmtree(folder / f"random-{tries}")
    return Counter(log.read_text().split()), victims


def tabulate(in_turn: Counter[str], on_spark: Counter[str], victims: Counter[str], seconds: float) -> str:
    """Every kill, counted."""
    lines = [f"{'killed at':<28} {'without a JVM':>13} {'on Spark':>9}"]
    lines += [f"{point:<28} {in_turn[point]:>13} {on_spark[point] or '':>9}" for point in RUN_POINTS]
    lines += [f"{f'{victim}, a batch in flight':<28} {'':>13} {victims[victim]:>9}" for victim in sorted(victims)]
    total = in_turn.total() + on_spark.total() + victims.total()
    lines.append(f"{total} kills in {seconds:.0f} s: nothing lost, nothing twice, no id changed")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("count", type=int, nargs="?", default=5, help="kills at each point")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_on_spark(Workplace(arguments.run))
        return 0
    print(f"seed {arguments.seed} (replay: --seed {arguments.seed})", flush=True)
    began = time.monotonic()
    on_spark, victims = Counter[str](), Counter[str]()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory(prefix="triplecast-chaos-") as folder:
        in_turn = kill_everywhere(arguments.count, arguments.seed, Path(folder), say)
        assert set(in_turn) == set(RUN_POINTS)
        if not arguments.no_spark:
            on_spark, victims = kill_spark_everywhere(arguments.count, arguments.seed, Path(folder), say)
            assert min(on_spark[point] for point in SPARK_POINTS) >= arguments.count
    print(tabulate(in_turn, on_spark, victims, time.monotonic() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
