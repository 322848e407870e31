"""A following run: a document is renamed into the inbox. How long until its rows are committed, and where does the
time go?

Each document matches one subscription. The next one is dropped a moment after the rows of the last were committed, so
that none waits for another. The parts end at crash points of the run's own process.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.figures import Figure, at_most
from benchmarks.scenarios.following import wait_until
from benchmarks.scenarios.pipeline import CORES, write_subscriptions
from benchmarks.workloads import WORKLOADS
from triplecast.journal import writer
from triplecast.outbox import Outbox, outbox
from triplecast.pipeline import acceptor, match_jobs, sink
from triplecast.pipeline.report import Caller
from triplecast.pipeline.run import Sources, run

WARM_UP = 30
"""Documents before the first that counts."""
DOCUMENTS = 200
REST = 0.1
"""Seconds between the rows of one document and the next document."""
MEDIAN, WORST = 0.6, 1.5


class Part(NamedTuple):
    name: str
    module: object
    end: str
    """The last crash point of this part."""


PARTS = (
    Part("found and parsed", acceptor, "inbox.taken"),
    Part("in the journal", writer, "journal.committed"),
    Part("planned", match_jobs, "pipeline.batch-planned"),
    Part("matched by a job of Spark", sink, "pipeline.batch-returned"),
    Part("rows committed", outbox, "outbox.committed"),
)


def measure_dropped(name: str, subscriptions: int, documents: int = DOCUMENTS) -> Iterator[Figure]:
    texts = [*WORKLOADS[name](subscriptions - 1, 1).subscriptions, "SELECT ?d WHERE { ?d <urn:bench:dropped> ?n }"]
    ends: dict[str, float] = {}
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder, ExitStack() as opened:
        place = Path(folder)
        inbox, output = place / "inbox", place / "output"
        inbox.mkdir()
        write_subscriptions(place / "subscriptions.jsonl", texts)
        for module in {part.module for part in PARTS}:
            reach = lambda point: ends.__setitem__(point, time.perf_counter())  # noqa: E731
            opened.enter_context(patch.object(module, "reach", reach))
        threads = opened.enter_context(ThreadPoolExecutor(1))
        sources = Sources([place / "subscriptions.jsonl"], inbox)
        following = threads.submit(run, sources, output, caller=Caller(stop=stop), cores=CORES)
        opened.callback(stop.set)
        wait_until(lambda: "outbox.committed" in ends or following.done(), following)
        measured = []
        with Outbox.read_only(output) as rows:
            for number in range(WARM_UP + documents):
                told = rows.state.sequence
                began = _drop(inbox, number)
                wait_until(lambda told=told: rows.state.sequence > told, following)  # type: ignore[misc]
                time.sleep(REST)
                measured.append([began, *(ends[part.end] for part in PARTS)])
    yield from _judge(name, subscriptions, measured[WARM_UP:])


def _drop(inbox: Path, number: int) -> float:
    """Rename a complete document into the inbox; return when."""
    hidden = inbox / f".{number}"
    hidden.write_text(f"<urn:bench:{number}> <urn:bench:dropped> {number} .")
    began = time.perf_counter()
    hidden.rename(inbox / f"{number}.ttl")
    return began


def _judge(name: str, subscriptions: int, measured: Sequence[Sequence[float]]) -> Iterator[Figure]:
    whole = sorted(times[-1] - times[0] for times in measured)
    for what, share, most in (("median", 0.5, MEDIAN), ("99 of 100", 0.99, WORST)):
        value = whole[min(len(whole) - 1, int(share * len(whole)))]
        scenario = f"dropped file to committed rows: {what}"
        yield Figure(scenario, name, subscriptions, value, "s", whole[0], whole[-1], target=at_most(most))
    for number, part in enumerate(PARTS):
        seconds = sorted(times[number + 1] - times[number] for times in measured)
        scenario = f"dropped file, of its median: {part.name}"
        yield Figure(scenario, name, subscriptions, seconds[len(seconds) // 2], "s", seconds[0], seconds[-1])
