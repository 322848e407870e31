"""A folder with sources, a server on this machine, and a clock that stands until it is moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.feed_server import SEND, FeedServer, serve_feeds
from triplecast import Engine
from triplecast.sources import KnownSource, NewSource, Polled, Poller

ITEMS = "SELECT ?item ?title { ?item a rss:item ; rss:title ?title }"
START = 1_800_000_000_000_000
HOUR = 3600
DAY = 86_400


class World:
    """One poller and what it polls."""

    def __init__(self, folder: Path, server: FeedServer, engine: Engine) -> None:
        self.folder = folder
        self.server = server
        self.engine = engine
        self.now = START
        self.poller = Poller(engine, folder, SEND, self.clock, lambda: 0.0)

    def clock(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)

    def add(self, path: str, **how: str) -> str:
        url = self.server.url(path)
        self.poller.sources.add([NewSource(url, **how)], self.now)
        return url

    def poll(self, path: str) -> Polled:
        """The one source at once, whenever it was to be asked."""
        url = self.poller.sources.check(self.server.url(path), self.now)
        (polled,) = self.poller.poll([url])
        return polled

    def source(self, path: str) -> KnownSource:
        return self.poller.sources.named(self.server.url(path))

    def told(self) -> list[str]:
        """The titles that were notified, in order."""
        rows = (row for each in self.engine.notifications() for row in each.added)
        return [row["title"].value for row in rows]


@contextmanager
def world(folder: Path, query: str = ITEMS) -> Iterator[World]:
    with serve_feeds() as server, Engine.open(folder) as engine:
        engine.subscribe(query, id="items")
        made = World(folder, server, engine)
        with closing(made.poller):
            yield made
