"""A day of a folder with many feeds and subscriptions, in simulated time, with restarts and kills.

``python -m tests.properties.day --hours 24 --feeds 200 --subscriptions 10000 --seed S``: feeds change and are polled
as their schedule has it. Each item is one subscription's: at the end each has been told its own items, each once, and
the process has no more memory and open files than in the morning.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from tests.feed_server import SEND, serve_feeds
from tests.properties.sources import ChangingFeed
from triplecast import FOREVER, Engine, Subscription
from triplecast.sources import NewSource, Poller
from triplecast.sources import polling as product

STEP = 300
"""Seconds."""
BEGIN = 1_800_000_000
MORNING = 0.25
"""Of the time: from then on nothing grows."""
_TITLE = re.compile(r"<title>(feed\d+) item (\d+)</title>")


class Killed(BaseException):
    """The process ends here."""


class SharedFeed(ChangingFeed):
    """Whose items are of one subject each, of so many."""

    def __init__(self, name: str, source: random.Random, subjects: int) -> None:
        super().__init__(name, source)
        self.subjects = subjects

    def written(self) -> str:
        return _TITLE.sub(lambda found: f"{found[0]}<category>{self.subject(found[0])}</category>", super().written())

    def subject(self, title: str) -> str:
        number = int(re.findall(r"item (\d+)", title)[0])
        return f"{self.name}-{number % self.subjects}"


@dataclass
class Seen:
    counted: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    """MiB that are resident, after each simulated hour;"""
    files: list[int] = field(default_factory=list)
    """descriptors."""

    def look(self) -> None:
        gc.collect()
        status = Path("/proc/self/status").read_text()
        self.memory.append(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024)
        self.files.append(len(os.listdir("/proc/self/fd")))

    def check(self) -> None:
        """Raises AssertionError."""
        morning = max(int(len(self.memory) * MORNING), 1)
        assert max(self.files) <= max(self.files[:morning]) + 10, self.files
        assert self.memory[-1] <= 1.2 * max(self.memory[:morning]), self.memory


def run_day(hours: int, feeds: int, subscriptions: int, seed: int) -> Seen:
    """Raises AssertionError where an item was lost, told twice, or told to another."""
    source, seen, subjects = random.Random(f"day/{seed}"), Seen(), subscriptions // feeds
    made = [SharedFeed(f"feed{number}", source, subjects) for number in range(feeds)]
    now = [BEGIN * 1_000_000]
    with tempfile.TemporaryDirectory() as folder, serve_feeds() as server:
        for each in made:
            server.pages[f"/{each.name}"] = each.answer

        def start() -> tuple[Engine, Poller]:
            engine = Engine.open(folder, lambda: now[0])
            return engine, Poller(engine, Path(folder), SEND, lambda: now[0], source.random)

        def stop() -> None:
            poller.close()
            engine.close()

        engine, poller = start()
        wanted = [
            Subscription(name, f'SELECT ?title {{ ?item rss:title ?title ; dc:subject "{name}" }}', "sparql")
            for name in (f"{each.name}-{number}" for each in made for number in range(subjects))
        ]
        engine.subscribe_many(wanted, FOREVER)
        poller.sources.add([NewSource(server.url(f"/{each.name}")) for each in made], now[0])
        for step in range(hours * 3600 // STEP):
            now[0] += STEP * 1_000_000
            at = datetime.fromtimestamp(now[0] // 1_000_000, UTC)
            for each in source.sample(made, feeds // 10):
                each.change(at)
            try:
                with (
                    patch.object(product, "reach", _dying(source, seen)),
                    patch.object(product, "Exception", BaseException, create=True),
                ):
                    _count(seen, poller)
            except Killed:
                seen.counted["kills"] += 1
                stop()
                engine, poller = start()
            if (step + 1) % (3600 // STEP) == 0:
                if source.random() < 0.5:
                    stop()
                    engine, poller = start()
                    seen.counted["restarts"] += 1
                seen.look()
        for known in poller.sources.sources():
            if known.withheld:
                poller.sources.release(known.url, now[0])
        poller.poll()
        _check_told(engine, made, seen)
        stop()
    return seen


def _dying(source: random.Random, seen: Seen) -> object:
    """Now and then the process ends at one of the points where that could lose something."""
    point = source.choice(["fetched", "taken", "published", "settled"]) if source.random() < 0.1 else ""
    left = [source.randint(1, 12)]

    def reach(name: str) -> None:
        if name == f"sources.{point}":
            left[0] -= 1
            if not left[0]:
                raise Killed

    return reach


def _count(seen: Seen, poller: Poller) -> None:
    for polled in poller.poll():
        seen.counted["polls"] += 1
        seen.counted["failed"] += polled.failed
        seen.counted["edited"] += polled.edited
        seen.counted["withheld"] += polled.withheld


def _check_told(engine: Engine, feeds: Sequence[SharedFeed], seen: Seen) -> None:
    listed = {(each.subject(title), title) for each in feeds for title in each.listed}
    made = {(f"{each.name}-{number % each.subjects}", f"{each.name} item {number}")
            for each in feeds for number in range(1, each.made + 1)}  # fmt: skip
    told: Counter[tuple[str, str]] = Counter()
    order: defaultdict[str, int] = defaultdict(int)
    for each in engine.notifications():
        assert each.position >= order[each.subscription]
        order[each.subscription] = each.position
        told.update((each.subscription, row["title"].value) for row in each.added)
    seen.counted["notifications"] = told.total()
    wrong = [(each, count) for each, count in told.items() if count > 1 or each not in made]
    assert not wrong, f"{len(wrong)} of {len(made)} told otherwise: {wrong[:5]}"
    assert listed <= told.keys(), f"lost: {listed - told.keys()}"  # of an answer that breaks off some are told too


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.day")
    for name, default in (("hours", 24), ("feeds", 200), ("subscriptions", 10_000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    began = time.monotonic()
    seen = run_day(options.hours, options.feeds, options.subscriptions, options.seed)
    print(f"{options.hours} hours in {time.monotonic() - began:.0f} s: {dict(seen.counted)}, each told once")
    print(f"MiB by the hour: {' '.join(f'{each:.0f}' for each in seen.memory)}; open files: {seen.files}")
    seen.check()


if __name__ == "__main__":
    main()
