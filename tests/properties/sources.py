"""Sources polled in simulated time from a real server that changes, fails and lies, under kills and restarts.

``python -m tests.properties.sources N --seed S`` makes N polls: of the planet's series of 157 states, where it is on
this machine, and of 50 feeds that grow, roll off, edit, rename, repeat and reorder their items. They are added by OPML
to a service, and read as a feed reader does: at the service's Atom page. At the end every item that was ever listed has
had one entry there, and one notification.
"""

from __future__ import annotations

import argparse
import random
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch
from xml.sax.saxutils import quoteattr

import feedparser
from fastapi.testclient import TestClient

from tests.conftest import SHARED_DATA
from tests.feed_server import SEND, Asked, FeedServer, Said, serve_feeds
from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.sources import NewSource, Polled, Poller
from triplecast.sources import polling as product

SERIES = SHARED_DATA / "feeds" / "series" / "planet-series.tar.xz"
FEEDS = 50
MOST_LISTED = 12
SUBSCRIPTION = "SELECT ?title { ?item a rss:item ; rss:title ?title }"
PLANET = "SELECT ?item { ?item a rss:item }"
_ABOUT = re.compile(r'<item rdf:about="([^"]*)">')


class Killed(BaseException):
    """The process ends here."""


class ChangingFeed:
    """A feed whose items have titles of their own; what is told of them is told once."""

    def __init__(self, name: str, source: random.Random) -> None:
        self.name = name
        self.source = source
        self.items: list[dict[str, str]] = []
        self.made = 0
        self.listed: set[str] = set()
        """Titles that were in an answer that arrived whole."""
        self.version = 0
        self.validator = source.choice(["etag", "date", "both", "none"])

    def change(self, now: datetime) -> None:
        """Some time passes."""
        source = self.source
        for _ in range(source.choice([0, 0, 1, 1, 2, 4])):
            self.made += 1
            guid = source.choice(["http://{0}.example/{1}", "urn:{0}:{1}", "{0}-{1}"]).format(self.name, self.made)
            written = (now - timedelta(minutes=source.randint(0, 60))).isoformat()
            title = f"{self.name} item {self.made}"
            self.items.insert(0, {"guid": guid, "title": title, "date": written, "text": "first"})
        del self.items[MOST_LISTED:]
        item = source.choice(self.items) if self.items and source.random() < 0.4 else {"guid": ""}
        if item["guid"].startswith("http"):
            item["guid"] = item["guid"].replace("http:", "https:") if "http:" in item["guid"] else item["guid"]
            item["text"] = f"edited {source.random()}"
        elif item["guid"].startswith("urn:"):
            item["text"] = f"edited {source.random()}"
        elif item["guid"]:  # one that is renamed and edited between two polls is another one to everybody
            item["guid"] += "x"
        if source.random() < 0.1:
            source.shuffle(self.items)
        self.version += 1

    def answer(self, asked: Asked) -> Said:
        etag, date = f'W/"{self.name}-{self.version}"', f"{self.version:04} is no date"
        told = {"etag": {"ETag": etag}, "date": {"Last-Modified": date}, "none": {}}
        headers = told["etag"] | told["date"] if self.validator == "both" else told[self.validator]
        fault = self.source.random()
        if fault < 0.03:
            return Said(b"busy", 503, {"Retry-After": "7200"})
        if fault < 0.06:
            return Said(b"oops", 500)
        if fault < 0.08:
            return Said(b"<html>log in</html>", 200, {"Content-Type": "text/html"} | headers)
        known = asked.headers.get("if-none-match") == etag or asked.headers.get("if-modified-since") == date
        if known and self.validator != "none":
            return Said(status=304)
        body = self.written()
        if fault < 0.10:
            return Said(body[: len(body) // 2])
        self.listed |= {each["title"] for each in self.items}
        return Said(body, headers=headers)

    def written(self) -> str:
        items = "".join(
            f'<item><guid isPermaLink="false">{each["guid"]}</guid><title>{each["title"]}</title>'
            f"<description>{each['text']}</description><dc:date>{each['date']}</dc:date></item>"
            for each in self.items
        )
        return (
            '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
            f"<title>{self.name}</title><link>http://{self.name}.example/</link>{items}</channel></rss>"
        )


class SteppedPoller(Poller):
    """Polls when it is told to: a service would have it do so by itself."""

    def start(self, tell: Callable[[Polled], None] = lambda polled: None) -> None:
        pass


class AtomReader:
    """Somebody's feed reader: remembers entries by id, and reads older pages until one has nothing new."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.titles: dict[str, str] = {}

    def read(self, client: TestClient) -> None:
        address = self.address
        while address:
            page = feedparser.parse(client.get(address).content)
            assert not page.bozo, page.bozo_exception
            fresh = [each for each in page.entries if each.id not in self.titles]
            assert all(each.title == self.titles.get(each.id, each.title) for each in page.entries)
            self.titles |= {each.id: each.title for each in fresh}
            links = [each.href for each in page.feed.links if each.rel == "next"]
            address = links[0] if links and len(fresh) == len(page.entries) else ""


def written_outline(urls: list[str]) -> str:
    """In folders of seven."""
    folders = [urls[start : start + 7] for start in range(0, len(urls), 7)]
    inside = (
        f'<outline text="F{number}">'
        + "".join(f"<outline text='x' xmlUrl={quoteattr(url)}/>" for url in each)
        + "</outline>"
        for number, each in enumerate(folders)
    )
    return f'<opml version="2.0"><body>{"".join(inside)}</body></opml>'


class Run:
    """One folder, its server, and what goes wrong."""

    def __init__(self, folder: Path, server: FeedServer, source: random.Random, opened: ExitStack) -> None:
        self.folder = folder
        self.server = server
        self.source = source
        self.opened = opened
        self.now = 1_800_000_000_000_000
        self.seen: Counter[str] = Counter()
        self.feeds = [ChangingFeed(f"feed{number}", source) for number in range(FEEDS)]
        for each in self.feeds:
            server.pages[f"/{each.name}"] = each.answer
        self.start()
        ticket = self.engine.subscribe(SUBSCRIPTION, id="titles", lease=10**9).ticket
        urls = [server.url(f"/{each.name}") for each in self.feeds]
        imported = self.client.post("/sources/outline", content=written_outline(urls)).json()
        assert [each["added"] for each in imported["sources"]] == [True] * FEEDS
        addresses = self.client.get("/subscriptions/titles/feed", headers={"Triplecast-Ticket": ticket}).json()
        self.reader = AtomReader(addresses["atom"])

    def start(self) -> None:
        self.engine = Engine.open(self.folder, lambda: self.now)
        self.poller = SteppedPoller(self.engine, self.folder, SEND, lambda: self.now, self.source.random)
        app = create_app(self.engine)
        app.state.service.poller = self.poller
        self.client = TestClient(app, base_url="http://localhost")
        self.client.__enter__()

    def stop(self) -> None:
        self.client.__exit__(None, None, None)
        self.engine.close()

    def poll(self, urls: list[str] | None = None) -> list[Polled]:
        """All that are due; now and then the process ends at one of the points where that could lose something."""
        point = self.source.choice(["fetched", "taken", "published", "settled"])
        left = self.source.randint(1, 12) if self.source.random() < 0.5 else 0
        if not left:
            return self.poller.poll(urls)
        reach = dies_at(f"sources.{point}", left)
        try:
            with patch.object(product, "reach", reach), patch.object(product, "Exception", BaseException, create=True):
                return self.poller.poll(urls)
        except Killed:
            self.seen["kills"] += 1
            self.stop()
            self.start()
            return []

    def step(self) -> None:
        self.now += self.source.randint(60, 7200) * 1_000_000
        if self.source.random() < 0.02:
            self.now += 30 * 86_400 * 1_000_000
        at = datetime.fromtimestamp(self.now // 1_000_000, UTC)
        for each in self.feeds:
            if self.source.random() < 0.3:
                each.change(at)
        for polled in self.poll():
            self.seen["polls"] += 1
            self.seen["failed" if polled.failed else "new" if polled.new else "same"] += 1
            self.seen["edited"] += polled.edited
            self.seen["withheld"] += polled.withheld
        if self.source.random() < 0.5:
            self.reader.read(self.client)
        if self.source.random() < 0.05:
            self.stop()
            self.start()
            self.seen["restarts"] += 1

    def told(self, subscription: str, variable: str) -> Counter[str]:
        notifications = self.engine.notifications(subscription=subscription)
        return Counter(row[variable].value for each in notifications for row in each.added)


def dies_at(point: str, left: int, death: type[BaseException] = Killed) -> Callable[[str], None]:
    """A `reach` that dies at a point when it comes there for the `left`th time; 0: never."""
    counted = iter(range(left - 1, -1, -1))

    def reach(name: str) -> None:
        if name == point and next(counted, -1) == 0:
            raise death

    return reach


def run_feeds(polls: int, seed: int) -> Counter[str]:
    """Raises AssertionError where an item was lost, or told twice."""
    with tempfile.TemporaryDirectory() as folder, serve_feeds() as server, ExitStack() as opened:
        run = Run(Path(folder), server, random.Random(f"sources/{seed}"), opened)
        while run.seen["polls"] < polls:
            run.step()
        for source in run.poller.sources.sources():
            if source.withheld:
                run.poller.sources.release(source.url, run.now)
        run.poller.poll()
        run.reader.read(run.client)
        told = run.told("titles", "title")
        listed = {title for feed in run.feeds for title in feed.listed}
        run.seen["items"] = len(listed)
        assert {title: count for title, count in told.items() if count > 1} == {}, f"seed {seed}: told twice"
        assert listed - told.keys() == set(), f"seed {seed}: lost"
        assert Counter(run.reader.titles.values()) == told, f"seed {seed}: a reader sees others"
        run.stop()
        return run.seen


def run_series(polls: int) -> Counter[str]:
    """The planet's states one after the other, and again from the first: what was told stays told."""
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, serve_feeds() as server, tarfile.open(SERIES) as packed:
        members = sorted(packed.getmembers(), key=lambda each: each.name)[: polls or None]
        with Engine.open(folder) as engine, closing(Poller(engine, Path(folder), SEND)) as poller:
            engine.subscribe(PLANET, id="items", lease=10**9)
            url = server.url("/planet")
            poller.sources.add([NewSource(url)], 0)
            listed: set[str] = set()
            for member in members:
                file = packed.extractfile(member)
                assert file is not None
                body = file.read()
                server.pages["/planet"] = Said(body, headers={"Last-Modified": member.name})
                listed |= {each.replace("&amp;", "&") for each in _ABOUT.findall(body.decode())}
                poller.sources.check(url, 0)
                for polled in poller.poll():
                    assert not polled.failed, polled
                    seen["polls"] += 1
                    seen["new"] += polled.new
                    seen["edited"] += polled.edited
                    seen["withheld"] += polled.withheld
            notifications = engine.notifications(subscription="items")
            told = Counter(row["item"].value for each in notifications for row in each.added)
            assert {item: count for item, count in told.items() if count > 1} == {}
            assert set(told) == listed, (listed - told.keys(), told.keys() - listed)
            seen["items"] = len(listed)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.sources", description=__doc__.splitlines()[0])
    parser.add_argument("polls", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if SERIES.exists():
        print(f"planet: {dict(run_series(0))}; each item once")
    seen = run_feeds(options.polls, options.seed)
    print(f"{FEEDS} feeds, seed {options.seed}: {dict(seen)}; each item once")


if __name__ == "__main__":
    main()
