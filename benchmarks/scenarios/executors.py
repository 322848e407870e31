"""Two executors against one, on a standalone cluster of this machine (``deploy/spark-standalone.sh``), in turns.

Each executor has one core. The run's own process and its JVM need cores too, so that on a machine with two the time on
the clock can show no more than what they leave; what they took is said. What machines of their own would give is
bounded by the busiest executor's core time and by the run's: that is a figure made of two, and named as such.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.costs import core_seconds_of, descendants
from benchmarks.figures import Figure, at_least
from benchmarks.scenarios.pipeline import Watch, feed, write_subscriptions
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.texts import PREFIX, to_turtle
from triplecast.pipeline.report import Caller
from triplecast.pipeline.run import Sources, run

TURNS = (1, 2, 2, 1)
"""Executors of each run."""
WARM_UP, SECONDS = 12.0, 25.0
DISTINCT = 1_000
AHEAD = 6_000
VERIFIED = 400
"""Subscriptions for which each publication is asked of a SPARQL engine, in the workload that is heavy."""
TARGET = 1.8
_EXECUTOR, _RUN = b"CoarseGrainedExecutorBackend", "the run"


class Turn(NamedTuple):
    """What one run did between two samples."""

    publications: int
    seconds: float
    driver: float
    """Core seconds of the run's process with what feeds it, and of its JVM."""
    executors: tuple[float, ...]
    """Core seconds of each, with its Python workers and their parsers."""
    matches: int


def measure_executors(name: str, subscriptions: int, heavy: bool, seconds: float = SECONDS) -> Iterator[Figure]:
    workload = WORKLOADS[name](subscriptions, DISTINCT)
    texts = [*workload.subscriptions, *(_verified(number) for number in range(VERIFIED if heavy else 0))]
    contents = [json.dumps(to_turtle(lines).decode()) for lines in workload.publications]
    turns: dict[int, list[Turn]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder, _cluster(Path(folder)) as (master, pid):
        write_subscriptions(Path(folder, "subscriptions.jsonl"), texts)
        for number, executors in enumerate(TURNS):
            place = Path(folder, str(number))
            turns[executors].append(_run(place, contents, master, pid, executors, seconds))
    yield from _judge(name + ", each asked of SPARQL" * heavy, len(texts), turns)


def _verified(number: int) -> str:
    """No index can tell that it never matches, so that the run has little to write."""
    return f"{PREFIX}SELECT ?s {{ ?s b:type b:class0 FILTER NOT EXISTS {{ ?s b:type ?c FILTER(?c != b:no{number}) }} }}"


def _run(place: Path, contents: Sequence[str], master: str, cluster: int, executors: int, seconds: float) -> Turn:
    settings, inbox, stop = place / "settings", place / "inbox", threading.Event()
    for each in (settings, inbox):
        each.mkdir(parents=True)
    (settings / "spark-defaults.conf").write_text(f"spark.cores.max {executors}\nspark.executor.cores 1\n")
    os.environ["SPARK_CONF_DIR"] = str(settings)
    watch = Watch(seconds, stop, WARM_UP, lambda: _core_seconds(cluster))
    feeder = threading.Thread(target=feed, args=(inbox, contents, watch, AHEAD))
    feeder.start()
    sources = Sources([place.parent / "subscriptions.jsonl"], inbox)
    try:
        run(sources, place / "out", caller=Caller(watch.look, stop=stop), broad_per_owner=1_000_000, master=master)
    finally:
        stop.set()
        feeder.join()
    (first, before), (last, after) = watch.cores
    took = {kind: spent - before.get(kind, 0.0) for kind, spent in after.items()}
    driver = took.pop(_RUN)
    if len(took) != executors or watch.rejects or watch.undecided:
        raise ValueError(f"{len(took)} executors, {watch.rejects} rejected, {watch.undecided} undecided")
    done = last.publications - first.publications
    return Turn(done, last.seconds - first.seconds, driver, tuple(took.values()), last.matches - first.matches)


def _core_seconds(cluster: int) -> dict[str, float]:
    """Of the run with its JVM, and of each executor with what is below it."""
    of_cluster = [*descendants(cluster)]
    spent = {_RUN: time.process_time()}
    spent[_RUN] += sum(core_seconds_of(each) for each in {*descendants()} - {cluster, *of_cluster})
    for each in of_cluster:
        if _EXECUTOR in _command(each):
            spent[str(each)] = core_seconds_of(each) + sum(map(core_seconds_of, descendants(each)))
    return spent


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, int]]:
    """A master and two workers of one core; its address, and the process above it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = os.environ | {"PYTHON": sys.executable, "PORT": str(port), "FOLDER": str(folder / "cluster")}
    script = str(Path(__file__).parents[2] / "deploy" / "spark-standalone.sh")
    with (folder / "cluster.log").open("wb") as log:
        started = subprocess.Popen([script, "here", "2"], env=own, stdout=log, stderr=log, start_new_session=True)
    try:
        registered, until = folder / "cluster" / "master.log", time.monotonic() + 60
        while not registered.exists() or registered.read_text().count("Registering worker") < 2:
            if time.monotonic() > until:
                raise TimeoutError(f"no cluster in a minute; see {registered}")
            time.sleep(0.1)
        yield f"spark://127.0.0.1:{port}", started.pid
    finally:
        os.environ.pop("SPARK_CONF_DIR", None)
        started.send_signal(signal.SIGTERM)
        started.wait(60)


def _judge(name: str, subscriptions: int, turns: dict[int, list[Turn]]) -> Iterator[Figure]:
    size, rates, busiest, runs = (name, subscriptions), {}, {}, {}
    for executors, some in turns.items():
        of = f"{executors} executor{'s' * (executors > 1)}"
        found = [each.publications / each.seconds for each in some]
        rates[executors] = statistics.mean(found)
        done = sum(each.publications for each in some)
        runs[executors] = done / sum(each.driver for each in some)
        busiest[executors] = done / sum(max(each.executors) for each in some)
        work = {"matches": sum(each.matches for each in some) / done, "publications": float(done)}
        work |= {"core seconds of the run": sum(each.driver for each in some)}
        for number in range(executors):
            work[f"of executor {number + 1}"] = sum(each.executors[number] for each in some)
        yield Figure(f"cluster, {of}", *size, rates[executors], "publications/s", min(found), max(found), work)
        spent = sum(map(sum, (each.executors for each in some)))
        yield Figure(f"cluster, {of}: by core time of executors", *size, done / spent, "publications/core second")
        yield Figure(f"cluster, {of}: by the run's own core time", *size, runs[executors], "publications/core second")
    title = "cluster, 2 executors over 1, on this clock"
    yield Figure(title, *size, rates[2] / rates[1], "times", target=at_least(TARGET))
    value = min(busiest[2], runs[2]) / min(busiest[1], runs[1])
    title = "cluster, 2 executors over 1, if each and the run had a core of its own, by core time of the busiest"
    yield Figure(title, *size, value, "times", target=at_least(TARGET))
