"""A following run whose 100,000 subscriptions stand in one file: one line changes. How long until it is told of?

Documents drop into the inbox all the time, and each of them matches the changed line. The clock starts when the new
file is renamed over the old one; it is read when the journal has the new registration, and when the outbox has its
first notification.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path

from benchmarks.figures import Figure, Target, at_most
from benchmarks.scenarios.pipeline import CORES, write_subscriptions
from benchmarks.workloads import WORKLOADS
from triplecast.journal import Journal, JournalFile
from triplecast.model.subscription import Registration
from triplecast.outbox import Outbox, OutboxReader
from triplecast.pipeline.report import Caller, Summary
from triplecast.pipeline.run import Sources, run

REPEATS = 5
EVERY = 0.1
"""Seconds between two documents."""
SETTLE = 5.0
"""Seconds of following between two changes."""
PATIENCE = 300.0
TAKES_EFFECT = 2.0


def measure_changed_line(name: str, subscriptions: int) -> Iterator[Figure]:
    texts = list(WORKLOADS[name](subscriptions, 1).subscriptions)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder, ThreadPoolExecutor(2) as threads:
        place = Path(folder)
        inbox, file, output = place / "inbox", place / "subscriptions.jsonl", place / "output"
        inbox.mkdir()
        write_subscriptions(file, texts)
        stop = threading.Event()
        following = threads.submit(run, Sources([file], inbox), output, caller=Caller(stop=stop), cores=CORES)
        feeding = threads.submit(feed_slowly, inbox, stop)
        try:
            with Journal.read_only(output) as journal, Outbox.read_only(output) as outbox:
                wait_until(lambda: outbox.progress > subscriptions, following)
                seconds = [_change(number, texts, file, journal, outbox, following) for number in range(REPEATS)]
        finally:
            stop.set()
            feeding.result()
            following.result()
    effects, firsts = zip(*seconds, strict=True)
    yield _figure("one changed line is registered", name, subscriptions, effects, at_most(TAKES_EFFECT))
    yield _figure("one changed line notifies", name, subscriptions, firsts, None)


def feed_slowly(inbox: Path, stop: threading.Event) -> None:
    for number in count():
        if stop.wait(EVERY):
            return
        hidden = inbox / f".{number}"
        hidden.write_text(f"<urn:bench:{number}> <urn:bench:follows> {number} .")
        hidden.rename(inbox / f"{number}.ttl")


def wait_until(happened: Callable[[], bool], following: Future[Summary]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if following.done():
            following.result()
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE:.0f} s")
        time.sleep(0.005)


def _change(
    number: int, texts: list[str], file: Path, journal: JournalFile, outbox: OutboxReader, following: Future[Summary]
) -> tuple[float, float]:
    """Seconds from the renaming to the new registration and to its first notification."""
    time.sleep(SETTLE)
    line = (number + 1) * len(texts) // (REPEATS + 1)
    name = f"s{line}"
    before = _id(journal.live_registration(name))
    texts[line] = f"SELECT ?d WHERE {{ ?d <urn:bench:follows> ?n FILTER(?n >= {number}) }}"
    write_subscriptions(file.with_suffix(".tmp"), texts)
    told = outbox.state.sequence
    began = time.perf_counter()
    os.replace(file.with_suffix(".tmp"), file)
    wait_until(lambda: _id(journal.live_registration(name)) > before, following)  # none between cancel and subscribe
    registered = time.perf_counter() - began
    id = _id(journal.live_registration(name))
    wait_until(lambda: any(row.registration == id for row in outbox.notifications(told)), following)
    return registered, time.perf_counter() - began


def _id(registration: Registration | None) -> int:
    return int(registration.id) if registration is not None else 0


def _figure(scenario: str, name: str, subscriptions: int, seconds: tuple[float, ...], target: Target | None) -> Figure:
    median = statistics.median(seconds)
    return Figure(
        f"following run: {scenario}", name, subscriptions, median, "s", min(seconds), max(seconds), target=target
    )
