"""Kill -9 at every named point and at random moments, then restart: nothing lost, nothing twice, no id changed.

``python -m tests.chaos N`` kills N times at each point of `faults.POINTS` in a run without a JVM (the same journal,
acceptor, registrar, source, stages and sink, called in turn), and N times at each point that Spark's order of events
adds, and at N random moments, in whole runs on Spark. ``--no-spark`` leaves those out, ``--seed`` replays the choice
of moments. The oracle is an undisturbed run over the same files: the same ids, versions and bindings, row by row.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from tests.spark.workplace import QUERIES, Workplace, document
from triplecast import faults
from triplecast.delivery import Notification, Outbox
from triplecast.index import IndexFolder
from triplecast.ingest import Parser, inbox_groups
from triplecast.ingest.inbox import QUIET
from triplecast.journal import Journal
from triplecast.pipeline import horizon
from triplecast.pipeline.acceptor import Acceptor
from triplecast.pipeline.horizon import HorizonFile
from triplecast.pipeline.registrar import Registrar
from triplecast.pipeline.rows import MATCHES, SLICES
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.source import JournalStream
from triplecast.pipeline.stages import INDEX, match_slices

SPARK_POINTS = (
    "source.planned",
    "pipeline.batch-matched",
    "pipeline.batch-returned",
    "outbox.position-written",
    "outbox.committed",
)
"""Where Spark's own order of events may matter: the last is after the outbox's commit and before Spark's."""

PATIENCE = 600
"""Seconds that a run on Spark may take on a busy machine."""

PRUNED = 10
"""Notifications that the second phase prunes."""


# ---- what is run -----------------------------------------------------------------------------------------------------


def first_files(place: Workplace) -> None:
    """What the first phase finds: files, lines, a document that cannot be read."""
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


def run_in_turn(place: Workplace, prune: int = 0) -> None:
    """A run until done, its parts called one after the other in this process, in small steps so that there are many."""
    small = (
        patch.object(inbox_groups, "GROUP_DOCUMENTS", 15),
        patch.object(horizon, "SMALLEST", 40),
        patch.object(horizon, "LARGEST", 40),
    )
    accepting = threading.Lock()
    with ExitStack() as opened:
        for step in small:
            opened.enter_context(step)
        journal = opened.enter_context(Journal.open(place.output))
        outbox = opened.enter_context(Outbox.open(place.output))
        parser = opened.enter_context(Parser())
        moving = HorizonFile(place.output)
        index = IndexFolder(place.output / INDEX)
        Registrar(
            [place.subscriptions], journal, index, moving, accepting, lambda: outbox.progress, lambda fault: None
        ).start(0.0)
        acceptor = Acceptor(place.inbox, journal, parser, accepting, False, lambda reject: None)
        for now in (0.0, QUIET):
            acceptor.look(now, threading.Event())
        sink = Sink(outbox, journal.registrations_of, moving.learn)
        stream = JournalStream({"folder": str(place.output), "slices": "2"})
        start = stream.initialOffset()
        while (end := stream.latestOffset(start)) != start:
            rows = [row for slice in stream.partitions(start, end) for row in stream.read(slice)]
            batch = pa.RecordBatch.from_pylist([dict(zip(SLICES.names, row, strict=True)) for row in rows], SLICES)
            sink.take(lambda batch=batch: pa.Table.from_batches(match_slices(place.output, iter([batch])), MATCHES))
            start = end
        if prune:
            outbox.prune(prune)


def run_on_spark(place: Workplace) -> None:
    """A whole run until done, with its own JVM."""
    from triplecast.pipeline.run import run

    run([place.subscriptions], place.inbox, place.output, once=True)


# ---- killing ---------------------------------------------------------------------------------------------------------


def run_forked(action: Callable[[], None], point: str | None, hit: int, log: Path) -> bool:
    """Runs `action` in a fork with `point` armed; whether it was killed there. Any other end is an error."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["TRIPLECAST_CRASH"] = f"{point}:{hit}" if point else ""
            os.environ["TRIPLECAST_CRASH_LOG"] = str(log)
            importlib.reload(faults)
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
    """Equal but for the time of acceptance: same order, sequences, ids, versions, bindings."""

    def told(rows: list[Notification]) -> list[tuple[object, ...]]:
        return [
            (row.sequence, row.id, row.graph, row.version, row.registration, row.name, row.bindings) for row in rows
        ]

    lost, extra = set(told(expected)) - set(told(found)), set(told(found)) - set(told(expected))
    assert told(found) == told(expected), (
        f"{len(lost)} lost, {len(extra)} invented or renamed: {sorted(lost | extra)[:4]}"
    )


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
        same(after, expected[len(expected) - len(after) :])
        assert len(expected) - len(after) in (0, PRUNED)
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
    for point in faults.POINTS:
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


# ---- on Spark
# ------------------------------------------------------------------------------------------------------------


def start_on_spark(place: Workplace, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.chaos", "--run", str(place.inbox.parent)]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL, start_new_session=True
    )


def kill_on_spark(folder: Path, oracle: Oracle, log: Path, point: str | None, victim: str, wait: float) -> str:
    """One kill of a whole run: at `point`, or of `victim` (driver, jvm, worker) `wait` seconds into its query."""
    place = Workplace(folder)
    first_files(place)
    armed = {"TRIPLECAST_CRASH": f"{point}:1", "TRIPLECAST_CRASH_LOG": str(log)} if point else {}
    process = start_on_spark(place, armed)
    if point is None:
        kill_when_busy(process, place, victim, wait)
    process.wait(PATIENCE)
    before = place.outbox()
    run_on_spark_again(place)
    after = place.outbox()
    same(after, oracle.first)
    kept(before, after)
    return f"killed {point or victim} with {len(before)} of {len(after)} rows committed"


def kill_when_busy(process: subprocess.Popen[bytes], place: Workplace, victim: str, wait: float) -> None:
    """SIGKILL to the driver, its JVM, or all its Python workers, `wait` seconds after the query began."""
    checkpoint = place.output / "checkpoint"
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.02)
    time.sleep(wait)
    pids = {"driver": [process.pid], "jvm": children(process.pid, "java"), "worker": children(process.pid, "pyspark")}
    for pid in pids[victim] or [process.pid]:
        os.kill(pid, signal.SIGKILL)


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


def run_on_spark_again(place: Workplace) -> None:
    process = start_on_spark(place, {})
    assert process.wait(PATIENCE) == 0


def kill_spark_everywhere(count: int, seed: int, folder: Path, say: Callable[[str], None] = print) -> None:
    """`count` kills at each of `SPARK_POINTS` and at random moments, each of a whole run with its own JVM."""
    chance = random.Random(seed)
    log = folder / "spark-hits.log"
    log.touch()
    oracle = Oracle(folder / "spark-oracle")
    for number in range(count):
        for point in SPARK_POINTS:
            say(kill_on_spark(folder / f"{point}-{number}", oracle, log, point, "", 0))
        victim, wait = chance.choice(("driver", "jvm", "worker")), chance.uniform(0, 6)
        say(kill_on_spark(folder / f"random-{number}", oracle, log, None, victim, wait))
    say(f"hits on Spark: {dict(Counter(log.read_text().split()))}")


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
    print(f"seed {arguments.seed} (replay: --seed {arguments.seed})")
    with tempfile.TemporaryDirectory(prefix="triplecast-chaos-") as folder:
        hits = kill_everywhere(arguments.count, arguments.seed, Path(folder))
        assert set(hits) == set(faults.POINTS)
        if not arguments.no_spark:
            kill_spark_everywhere(arguments.count, arguments.seed, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
