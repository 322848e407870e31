"""The whole pipeline on Spark: Turtle documents in an inbox to committed outbox rows with bindings.

Parsing in killable children, the journal with its syncs, Spark's micro-batches, matching and the outbox share the two
cores. A feeder keeps some thousand documents ahead; every document has an identity of its own, contents repeat after
`DISTINCT` documents. What is measured is the slope of the committed publications over `seconds` after the warm-up, and
the core time of each kind of process meanwhile, which other programs on the machine disturb less.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.costs import core_seconds_of, descendants, run_on
from benchmarks.figures import Figure, at_least
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.texts import to_turtle
from triplecast.pipeline.report import Caller, Progress
from triplecast.pipeline.run import Sources, run

DISTINCT = 4_000
FILE_DOCUMENTS = 500
"""Documents in one ``.jsonl`` file of the inbox."""
AHEAD = 30_000
"""Documents written but not yet matched."""
WARM_UP = 40.0
"""Seconds from the first committed batch to the first that counts."""
CORES = 2
WINDOWS = 6
"""Parts of the measured time whose rates give the spread."""

PUBLICATIONS_TARGETS = {"alerts": 10_000}
NOTIFICATIONS_TARGETS = {"realtail": 1_000_000}


class Sample(NamedTuple):
    seconds: float
    publications: int
    matches: int


@dataclass(slots=True)
class Watch:
    """Reads the run's progress; says when to stop and how far the feeder may go."""

    seconds: float
    stop: threading.Event
    warm_up: float = WARM_UP
    kinds: Callable[[], dict[str, float]] = field(default_factory=lambda: kinds_of_processes)
    samples: list[Sample] = field(default_factory=list)
    cores: list[tuple[Sample, dict[str, float]]] = field(default_factory=list)
    """Seconds that each kind of process has had a core, at the first counted sample and at the last."""
    undecided: int = 0
    rejects: int = 0

    def look(self, progress: Progress) -> None:
        self.undecided, self.rejects = progress.undecided, progress.rejects
        if progress.publications and (not self.samples or progress.publications > self.samples[-1].publications):
            self.samples.append(Sample(time.monotonic(), progress.publications, progress.matches))
            since = self.samples[-1].seconds - self.samples[0].seconds
            if since > self.warm_up + self.seconds * len(self.cores) and len(self.cores) < 2:
                self.cores.append((self.samples[-1], self.kinds()))
            if len(self.cores) == 2:
                self.stop.set()

    @property
    def matched(self) -> int:
        return self.samples[-1].publications if self.samples else 0

    def counted(self) -> list[Sample]:
        """After the warm-up."""
        return [sample for sample in self.samples if sample.seconds >= self.samples[0].seconds + self.warm_up]


def measure_pipeline(name: str, subscriptions: int, seconds: float, cores: int = CORES) -> Iterator[Figure]:
    allowed = os.sched_getaffinity(0)
    run_on(sorted(allowed)[:cores])
    try:
        yield from _measure(name, subscriptions, seconds, cores)
    finally:
        run_on(allowed)


def _measure(name: str, subscriptions: int, seconds: float, cores: int) -> Iterator[Figure]:
    workload = WORKLOADS[name](subscriptions, DISTINCT)
    contents = [json.dumps(to_turtle(lines).decode()) for lines in workload.publications]
    stop = threading.Event()
    watch = Watch(seconds, stop)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        texts, inbox = Path(folder) / "subscriptions.jsonl", Path(folder) / "inbox"
        inbox.mkdir()
        write_subscriptions(texts, workload.subscriptions)
        feeder = threading.Thread(target=feed, args=(inbox, contents, watch))
        feeder.start()
        try:
            run(Sources([texts], inbox), Path(folder) / "output", caller=Caller(watch.look, stop=stop), cores=cores)
        finally:
            stop.set()
            feeder.join()
    if watch.rejects:
        raise ValueError(f"{watch.rejects} documents of workload {name} were rejected")
    yield from _judge(name, subscriptions, watch, cores)
    yield from _judge_cores(name, subscriptions, watch, cores)


def _judge(name: str, subscriptions: int, watch: Watch, cores: int) -> Iterator[Figure]:
    samples = watch.counted()
    publications, matches = _slope(samples, 1), _slope(samples, 2)
    size = max(2, len(samples) // WINDOWS)
    parts = [samples[at : at + size + 1] for at in range(0, len(samples) - size, size)]
    spread = [[_slope(part, column) for part in parts] for column in (1, 2)]
    work = {"matches": matches / publications, "undecided": float(watch.undecided), "batches": len(samples) - 1.0}
    common = (name, subscriptions)
    scenario = f"Spark, {_say(cores)}, Turtle to committed rows"
    yield Figure(
        f"{scenario}: publications",
        *common,
        publications,
        "publications/s",
        min(spread[0]),
        max(spread[0]),
        work,
        at_least(PUBLICATIONS_TARGETS.get(name) if cores == CORES else None),
    )
    yield Figure(
        f"{scenario}: notifications",
        *common,
        matches,
        "notifications/s",
        min(spread[1]),
        max(spread[1]),
        work,
        at_least(NOTIFICATIONS_TARGETS.get(name) if cores == CORES else None),
    )


def _judge_cores(name: str, subscriptions: int, watch: Watch, cores: int) -> Iterator[Figure]:
    (first, before), (last, after) = watch.cores
    for kind, seconds in after.items():
        value = 1e6 * (seconds - before[kind]) / (last.publications - first.publications)
        yield Figure(f"Spark, {_say(cores)}, core time of {kind}", name, subscriptions, value, "µs/publication")


def _say(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


KINDS = {"the parsers": "ingest.worker", "the JVM": "java", "Spark's Python workers": "pyspark"}
"""Kinds of processes below the run's own, by a word of their commands."""


def kinds_of_processes() -> dict[str, float]:
    """Seconds that the run's process, with what feeds it, and each kind of process below it have had a core."""
    seconds = {"the run's process": time.process_time(), **dict.fromkeys(KINDS, 0.0)}
    for process in descendants():
        with suppress(OSError):
            command = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
            kind = next((kind for kind, word in KINDS.items() if word in command), None)
            if kind is not None:
                seconds[kind] += core_seconds_of(process)
    return seconds


def _slope(samples: Sequence[Sample], column: int) -> float:
    """Per second, of column 1 or 2."""
    first, last = samples[0], samples[-1]
    return (last[column] - first[column]) / (last.seconds - first.seconds)


def write_subscriptions(path: Path, texts: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"s{number}", "language": "sparql", "text": text}) + "\n")


def feed(inbox: Path, contents: Sequence[str], watch: Watch, ahead: int = AHEAD) -> None:
    """Writes files until the watch stops; a file appears in the inbox as a whole."""
    written = 0
    for number in count():
        while written - watch.matched > ahead:
            if watch.stop.wait(0.02):
                return
        numbers = range(written, written + FILE_DOCUMENTS)
        lines = [_write_line(f"urn:bench:{document}", contents[document % len(contents)]) for document in numbers]
        hidden = inbox / f".{number}.jsonl"
        hidden.write_text("".join(lines), encoding="utf-8")
        hidden.rename(inbox / f"{number:06}.jsonl")
        written += FILE_DOCUMENTS
        if watch.stop.is_set():
            return


def _write_line(identity: str, content: str) -> str:
    """`content` is a JSON string already."""
    return f'{{"id": "{identity}", "media_type": "text/turtle", "data": {content}}}\n'
