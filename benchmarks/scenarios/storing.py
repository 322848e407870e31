"""What a durable engine stores of its subscriptions, with texts, ids and owners: on disk and resident, part by part."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figures import Figure, at_most
from benchmarks.workloads.catalogue import TAIL, open_catalogue, write_interests
from triplecast import Engine
from triplecast.model.subscription import Subscription

AT_ONCE = 100_000
"""Subscriptions of one call."""
OWNERS = 1_000
MOST_DISK = 300.0
MOST_RESIDENT = 120.0
"""Bytes a subscription."""
Measure = Callable[[Path, int], dict[str, float]]
_PARTS = {
    "journal": "journal.sqlite",
    "write-ahead log": "journal.sqlite-wal",
    "outbox": "outbox.*",
    "index": "index/*",
}


def measure_stored(subscriptions: int) -> Iterator[Figure]:
    """Two fresh processes read what they take: one that subscribed and published, and one that opened the folder. What
    an engine in an empty folder takes is taken off."""
    size = ("realtail", subscriptions)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as place:
        folder = Path(place)
        empty = _run(_open, folder / "empty", 0)
        for when, run in (("while subscribing", _fill), ("of a folder opened again", _open)):
            taken = _run(run, folder / "full", subscriptions)
            each = {part: (taken[part] - empty[part]) / subscriptions for part in taken}
            disk = {part: each[part] for part in _PARTS}
            resident = {part: each[part] for part in ("its own", "mapped files")}
            yield Figure(
                f"disk {when}", *size, sum(disk.values()), "bytes/subscription", work=disk, target=at_most(MOST_DISK)
            )
            yield Figure(
                f"resident {when}",
                *size,
                sum(resident.values()),
                "bytes/subscription",
                work=resident,
                target=at_most(MOST_RESIDENT),
            )


def _run(measure: Measure, folder: Path, subscriptions: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    hear, tell = context.Pipe(duplex=False)
    child = context.Process(target=_tell, args=(tell, measure, folder, subscriptions))
    child.start()
    tell.close()
    try:
        taken: dict[str, float] = hear.recv()
    finally:
        child.join()
    return taken


def _tell(tell: Connection, measure: Measure, folder: Path, subscriptions: int) -> None:
    tell.send(measure(folder, subscriptions))


def _fill(folder: Path, subscriptions: int) -> dict[str, float]:
    """Texts are made and dropped a call at a time, as a program would that reads them from somewhere."""
    with Engine.open(folder) as engine:
        for first in range(0, subscriptions, AT_ONCE):
            texts = write_interests(open_catalogue(8 + first, TAIL), min(AT_ONCE, subscriptions - first))
            numbered = enumerate(texts, first)
            engine.subscribe_many([Subscription(f"s{at}", text, owner=f"o{at % OWNERS}") for at, text in numbered])
            del texts
        _publish(engine)
        return _measure(folder)


def _open(folder: Path, subscriptions: int) -> dict[str, float]:
    with Engine.open(folder) as engine:
        _publish(engine)
        return _measure(folder)


def _publish(engine: Engine) -> None:
    engine.publish("<urn:bench:s> <urn:bench:says> 1 .", "text/turtle")
    while engine._upkeep._compactor._rebuild is not None:
        engine._upkeep._compactor.wait()
        engine._upkeep.update()
    engine.publish("<urn:bench:s> <urn:bench:says> 2 .", "text/turtle")


def _measure(folder: Path) -> dict[str, float]:
    """Bytes."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    taken = {part: float(sum(path.stat().st_size for path in folder.glob(found))) for part, found in _PARTS.items()}
    for part, field in (("its own", "RssAnon"), ("mapped files", "RssFile")):
        taken[part] = float(fields[field].split()[0]) * 1024
    return taken
