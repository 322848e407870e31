"""What a caller of `Engine` gets: publishing one by one, from threads and in bulk, reading back, subscribing.

Core time is that of the process and its children. A floor is the least that a figure can cost here: parsing by
pyoxigraph alone, the disk's sync, bytes written or copied, each measured in the same run.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import pyarrow
import pyoxigraph

from benchmarks.costs import (
    bytes_written,
    copied_bytes_per_second,
    core_seconds,
    run_on,
    sync_seconds,
    synced_bytes_per_second,
)
from benchmarks.figures import Figure, at_least
from benchmarks.workloads.items import Items, make_items
from triplecast import FOREVER, Document, Engine
from triplecast.model.subscription import Subscription
from triplecast.outbox import OutboxReader

TURTLE = "text/turtle"
THREADS = 8
AT_ONCE = 1_000
"""Documents of one `publish_many`."""
TURNS = 3
KNOWN = 2_000
"""Subscriptions by which the process knows their templates."""
ONE, THREADED, BULK = "publish one by one", f"publish from {THREADS} threads", f"publish_many, {AT_ONCE:,} a call"
MEMORY, DURABLE = "in memory", "durable"
MUSTS = {
    (ONE, MEMORY, False): 6_000,
    (ONE, DURABLE, False): 2_000,
    (THREADED, DURABLE, False): 3_000,
    (ONE, MEMORY, True): 4_000,
    (ONE, DURABLE, True): 1_400,
    (BULK, DURABLE, False): 18_000,
}
"""Documents/s at 100,000 subscriptions, by what is done, where, and whether many match."""
NOTIFICATIONS, JSON, ARROW, SUBSCRIPTIONS, TWO_CORES = 2_000_000, 400_000, 10_000_000, 60_000, 1.6
OBJECTS = 200_000
"""Notifications that are read as objects, at most."""
AT = 100_000
"""Subscriptions that these bounds are for."""


class Turn(NamedTuple):
    documents: int
    matches: int
    seconds: float
    core: float
    written: int
    """Bytes."""

    @property
    def rate(self) -> float:
        return self.documents / self.seconds


class Floors(NamedTuple):
    """Seconds, and bytes per second."""

    parse: float
    sync: float
    write: float
    copy: float


class Door:
    """An engine, and documents for it, of which each becomes a new publication."""

    def __init__(self, items: Items, place: str, folder: Path | None) -> None:
        self.items, self.place, self.folder = items, place, folder
        self.engine = Engine() if folder is None else Engine.open(folder)
        self._numbers = count()
        self._size = len(items.documents)

    def subscribe(self) -> tuple[float, float, float]:
        """Rate, the same a core second, and seconds until the first publication has been matched."""
        known = Engine()
        known.subscribe_many(_named(self.items.subscriptions[:KNOWN]))
        known.close()
        given = _named(self.items.subscriptions)
        gc.collect()
        start, core = time.perf_counter(), core_seconds()
        self.engine.subscribe_many(given, lease=FOREVER)
        seconds, core = time.perf_counter() - start, core_seconds() - core
        self.publish(1)
        return len(given) / seconds, len(given) / core, time.perf_counter() - start

    def publish(self, documents: int) -> int:
        matches = 0
        for number in islice(self._numbers, documents):
            document = self.items.documents[number % self._size]
            matches += len(self.engine.publish(document, TURTLE, f"urn:g:{number}").matches)
        return matches

    def publish_many(self, documents: int) -> int:
        given = [
            Document(f"d{number}", self.items.documents[number % self._size], TURTLE, f"urn:g:{number}")
            for number in islice(self._numbers, documents)
        ]
        return sum(len(receipt.matches) for receipt in self.engine.publish_many(given))

    def publish_threaded(self, documents: int) -> int:
        with ThreadPoolExecutor(THREADS) as threads:
            return sum(threads.map(self.publish, [documents // THREADS] * THREADS))

    def turn(self, run: Callable[[int], int], documents: int, seconds: float) -> Turn:
        """`run` over `documents` at a time, for so many seconds at least."""
        gc.collect()
        start, core, written = time.perf_counter(), core_seconds(), bytes_written()
        done = matches = 0
        while time.perf_counter() - start < seconds:
            matches += run(documents)
            done += documents
        spent = time.perf_counter() - start
        return Turn(done, matches, spent, core_seconds() - core, bytes_written() - written)


def measure_front_door(subscriptions: int, seconds: float) -> Iterator[Figure]:
    """`seconds`: of each turn."""
    every = [make_items(subscriptions, 2 * AT_ONCE, many) for many in (False, True)]
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as name, ExitStack() as opened:
        folder = Path(name)
        for many, items in enumerate(every):
            doors = [Door(items, MEMORY, None), Door(items, DURABLE, folder / str(many))]
            for door in doors:
                opened.enter_context(door.engine)
                rate, core_rate, ready = door.subscribe()
                must = at_least(SUBSCRIPTIONS if door.folder and subscriptions == AT else None)
                work = {"per core second": core_rate, "first publication matched after, s": ready}
                title = f"subscribe_many, all in one call, templates known, {door.place}"
                yield Figure(title, items.name, subscriptions, rate, "subscriptions/s", work=work, target=must)
            floors = _floors(items, folder)
            yield from _publishing(doors, bool(many), floors, seconds)
            if many:
                yield from _reading_back(doors[1], floors)
            yield from _two_cores(doors[1], seconds) if many else ()
            for door in doors:
                door.engine.close()


def _publishing(doors: Sequence[Door], many: bool, floors: Floors, seconds: float) -> Iterator[Figure]:
    step = AT_ONCE // 20
    ways = [(door, ONE, door.publish, step) for door in doors]
    ways += [(door, THREADED, door.publish_threaded, step * THREADS) for door in doors]
    ways += [(door, BULK, door.publish_many, AT_ONCE) for door in doors]
    turns: list[list[Turn]] = [[] for _ in ways]
    for number in range(TURNS + 1):  # the first is not counted
        for (door, _, run, documents), taken in zip(ways, turns, strict=True):
            turn = door.turn(run, documents, seconds if number else seconds / 4)
            taken += [turn] if number else []
    for (door, title, _, _), taken in zip(ways, turns, strict=True):
        yield _figure(door, title, many, taken, floors)
        if many and title is BULK:
            yield _notifications(door, taken, floors)


def _figure(door: Door, title: str, many: bool, turns: Sequence[Turn], floors: Floors) -> Figure:
    subscriptions = len(door.items.subscriptions)
    rates = [turn.rate for turn in turns]
    documents = sum(turn.documents for turn in turns)
    least = floors.parse + (floors.sync if door.folder is not None and title is not BULK else 0.0)
    work = {
        "per core second": documents / sum(turn.core for turn in turns),
        "matches": sum(turn.matches for turn in turns) / documents,
        "floor, µs": least * 1e6,
        "times the floor": 1 / statistics.median(rates) / least,
    }
    if door.folder is not None:
        work["bytes written"] = sum(turn.written for turn in turns) / documents
    must = at_least(MUSTS.get((title, door.place, many)) if subscriptions == AT else None)
    size = door.items.name, subscriptions, statistics.median(rates)
    return Figure(f"{title}, {door.place}", *size, "documents/s", min(rates), max(rates), work, must)


def _notifications(door: Door, turns: Sequence[Turn], floors: Floors) -> Figure:
    subscriptions = len(door.items.subscriptions)
    rates = [turn.matches / turn.seconds for turn in turns]
    matches = sum(turn.matches for turn in turns)
    work = {"per core second": matches / sum(turn.core for turn in turns)}
    if door.folder is not None:
        each = sum(turn.written for turn in turns) / matches
        work |= {"bytes written": each, "floor by bytes, notifications/s": floors.write / each}
    must = at_least(NOTIFICATIONS if door.folder and subscriptions == AT else None)
    size = door.items.name, subscriptions, statistics.median(rates)
    return Figure(f"{BULK}, {door.place}", *size, "notifications/s", min(rates), max(rates), work, must)


def _reading_back(door: Door, floors: Floors) -> Iterator[Figure]:
    """All notifications that the outbox holds."""
    assert door.folder is not None
    folder = door.folder
    total = sum(batch.num_rows for batch in _batches(folder))
    subscriptions, name = len(door.items.subscriptions), door.items.name

    def read(title: str, run: Callable[[], int], must: int | None, total: int = total) -> Figure:
        rates, core, size = [], 0.0, 0
        for _ in range(TURNS):
            gc.collect()
            start, before = time.perf_counter(), core_seconds()
            size = run()
            rates.append(total / (time.perf_counter() - start))
            core += core_seconds() - before
        work = {"per core second": TURNS * total / core, "notifications": float(total)}
        if size:
            floor = floors.copy / (size / total)
            work |= {"bytes": size / total, "floor by copying, notifications/s": floor}
        target = at_least(must if subscriptions == AT else None)
        rate = statistics.median(rates)
        return Figure(title, name, subscriptions, rate, "notifications/s", min(rates), max(rates), work, target)

    def write_json() -> int:
        with (folder / "lines").open("wb") as lines:
            command = [sys.executable, "-m", "triplecast.cli", "notifications", str(folder), "--json"]
            subprocess.run(command, stdout=lines, check=True)
            return lines.tell() or os.fstat(lines.fileno()).st_size

    objects = min(total, OBJECTS)
    few = partial(door.engine.notifications, limit=objects)
    yield read("notifications as objects", lambda: 0 * sum(1 for _ in few()), None, objects)
    yield read("notifications --json by the command, to a file", write_json, JSON)
    (folder / "lines").unlink()
    yield read("notification_batches, Arrow", lambda: sum(batch.nbytes for batch in _batches(folder)), ARROW)


def _batches(folder: Path) -> Iterator[pyarrow.RecordBatch]:
    with OutboxReader.read_only(folder) as outbox:
        yield from outbox.notification_batches()


def _two_cores(door: Door, seconds: float) -> Iterator[Figure]:
    """`publish_many` on one core and on two, in turns."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return
    rates: dict[int, list[float]] = {1: [], 2: []}
    try:
        for _ in range(TURNS):
            for number, taken in rates.items():
                run_on(cores[:number])
                taken.append(door.turn(door.publish_many, AT_ONCE, seconds).rate)
    finally:
        run_on(cores)
    times = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    work = {f"documents/s on {number}": statistics.median(taken) for number, taken in rates.items()}
    subscriptions = len(door.items.subscriptions)
    must = at_least(TWO_CORES if subscriptions == AT else None)
    size = door.items.name, subscriptions, statistics.median(times)
    yield Figure(f"{BULK}, {door.place}: two cores over one", *size, "times", min(times), max(times), work, must)


def _floors(items: Items, folder: Path) -> Floors:
    start = time.perf_counter()
    for document in items.documents:
        for _ in pyoxigraph.parse(document, pyoxigraph.RdfFormat.TURTLE):
            pass
    parse = (time.perf_counter() - start) / len(items.documents)
    return Floors(parse, sync_seconds(folder), synced_bytes_per_second(folder), copied_bytes_per_second())


def _named(texts: Sequence[str]) -> list[Subscription]:
    return [Subscription(f"s{number}", text) for number, text in enumerate(texts)]
