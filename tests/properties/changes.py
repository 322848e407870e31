"""Event streams and collections of activities in simulated time, from a server that fails, under kills.

``python -m tests.properties.changes N --seed S`` makes N worlds. In each, things are made, edited and removed, and both
kinds of source tell of it, page by page. At the end what is published is what is there, no version was told twice, and
each member of the event stream was told.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.feed_server import SEND, Asked, FeedServer, Said, serve_feeds
from tests.properties.sources import dies_at
from triplecast import Engine
from triplecast.errors import TriplecastError
from triplecast.sources import NewSource, Poller, following, polling

TITLE = "http://purl.org/dc/terms/title"
TOLD = f"SELECT ?title {{ ?m <{TITLE}> ?title }}"
PREFIXES = """@prefix tree: <https://w3id.org/tree#> . @prefix ldes: <https://w3id.org/ldes#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix as: <https://www.w3.org/ns/activitystreams#> .
<#s> ldes:timestampPath dcterms:created ; ldes:versionOfPath dcterms:isVersionOf ; tree:view </ldes> .
</ldes> a tree:Node .
"""


class Killed(TriplecastError):
    """The process ends here; none of the faults that a check only reports."""


class Event(NamedTuple):
    number: int
    thing: str
    title: str
    """Empty: it was removed."""

    @property
    def time(self) -> str:
        return f"2026-01-{1 + self.number // 24:02}T{self.number % 24:02}:00:00Z"


class Publisher:
    """One world of things, told by both kinds of pages."""

    def __init__(self, source: random.Random, server: FeedServer) -> None:
        self.source = source
        self.server = server
        self.events: list[Event] = []
        self.size = source.choice([1, 2, 3, 7])
        self.says_immutable = source.random() < 0.5
        self.describes = source.random() < 0.5
        """Whether activities have what they are about, or only name it."""
        self.newest_first = self.size > 1 and source.random() < 0.3  # one item a page does not tell
        self.is_faulty = True
        server.answer = self.answer  # type: ignore[method-assign]

    def happen(self, most: int) -> None:
        for _ in range(self.source.randint(0, most)):
            number = len(self.events)
            title = "" if self.source.random() < 0.2 else f"version {number}"
            self.events.append(Event(number, f"t{self.source.randint(0, 8)}", title))

    def live(self) -> dict[str, str]:
        """The title of each thing that is there."""
        latest = {event.thing: event.title for event in self.events}
        return {thing: title for thing, title in latest.items() if title}

    def answer(self, asked: Asked) -> Said:
        kind, _, number = asked.path[1:].partition("/")
        if self.is_faulty and self.source.random() < 0.15:
            broken = [Said("", 503), Said("", 500), Said("<html"), Said("{"), Said("")]
            return self.source.choice(broken[: 2 if kind == "thing" else 5])  # what is no RDF is left out for good
        if kind == "thing":
            title = self.live().get(number, "")
            return Said(f'<urn:{number}> <{TITLE}> "{title}" .' if title else "", 200 if title else 404)
        said = self.ldes(number) if kind == "ldes" else self.activities(number)
        tag = f'"{len(self.events)}"'
        if asked.headers.get("if-none-match") == tag:
            return Said("", 304)
        return said._replace(headers={**said.headers, "ETag": tag}) if self.size > 1 else said

    def pages(self) -> list[list[Event]]:
        return [self.events[start : start + self.size] for start in range(0, len(self.events), self.size)]

    def ldes(self, number: str) -> Said:
        pages = self.pages()
        if not number:
            leads = "".join(
                f"</ldes> tree:relation [ a tree:GreaterThanOrEqualToRelation ; tree:node </ldes/{n}> ; "
                f'tree:value "{each[0].time}"^^xsd:dateTime ] .\n'
                for n, each in enumerate(pages)
            )
            return Said(PREFIXES + leads)
        members = "".join(map(self.member, pages[int(number)]))
        full = int(number) + 1 < len(pages) and self.says_immutable
        return Said(PREFIXES + members, headers={"Cache-Control": "immutable"} if full else {})

    def member(self, event: Event) -> str:
        iri = f"<urn:version:{event.number}>"
        what = f'dcterms:title "ldes {event.title}"' if event.title else "a as:Delete"
        about = f'dcterms:isVersionOf <urn:l:{event.thing}> ; dcterms:created "{event.time}"^^xsd:dateTime'
        return f"<#s> tree:member {iri} . {iri} {what} ; {about} .\n"

    def activities(self, number: str) -> Said:
        pages = [[self.activity(each) for each in page] for page in self.pages()]
        if self.newest_first:
            pages = [each[::-1] for each in pages[::-1]]
        url = self.server.url
        document: dict[str, Any] = {"@context": "https://www.w3.org/ns/activitystreams", "type": "OrderedCollection"}
        if not number:
            document |= {"first": url("/as/0"), "last": url(f"/as/{len(pages) - 1}")} if pages else {"orderedItems": []}
        else:
            here = int(number)
            document |= {"type": "OrderedCollectionPage", "orderedItems": pages[here]}
            document |= {"prev": url(f"/as/{here - 1}")} if here else {}
            document |= {"next": url(f"/as/{here + 1}")} if here + 1 < len(pages) else {}
        return Said(json.dumps(document))

    def activity(self, event: Event) -> dict[str, Any]:
        thing: object = self.server.url(f"/thing/{event.thing}")
        if self.describes and event.title:
            thing = {"id": thing, TITLE: [{"@value": event.title}]}
        return {"type": "Update" if event.title else "Delete", "object": thing, "endTime": event.time}


def run_world(seed: int) -> Counter[str]:
    """Raises AssertionError where something was lost, told twice, or is there though it was removed."""
    seen: Counter[str] = Counter()
    source = random.Random(f"changes/{seed}")
    now = 1_800_000_000_000_000
    with tempfile.TemporaryDirectory() as name, serve_feeds() as server, patch.object(following, "MOST_PAGES", 4):
        folder, publisher = Path(name), Publisher(source, server)
        publisher.happen(20)
        publisher.happen(20)
        urls = [server.url("/ldes"), server.url("/as")]

        def open_poller() -> tuple[Engine, Poller]:
            engine = Engine.open(folder, lambda: now)
            return engine, Poller(engine, folder, SEND, lambda: now, source.random)

        engine, poller = open_poller()
        engine.subscribe(TOLD, id="titles", lease=10**9)
        poller.sources.add(map(NewSource, urls), now)
        quiet = 0
        for step in range(60):
            publisher.is_faulty = step < 20
            if publisher.is_faulty:
                publisher.happen(4)
            now += source.randint(1, 100) * 1_000_000
            for url in urls:
                poller.sources.check(url, now)
            point, left = source.choice(["fetched", "taken", "published", "settled"]), source.randint(1, 9)
            reach = dies_at(f"sources.{point}", left if publisher.is_faulty else 0, Killed)
            try:
                with patch.object(polling, "reach", reach):
                    polled = poller.poll(urls)
                seen["polls"] += len(polled)
                seen["failed"] += sum(each.failed for each in polled)
                is_quiet = all(not each.new + each.edited + each.removed and each.next_check > now for each in polled)
                quiet = quiet + 1 if is_quiet and not publisher.is_faulty else 0
                if quiet == 2:  # the first may have been the end of a walk that began before
                    break
            except Killed:
                seen["kills"] += 1
                poller.close()
                engine.close()
                engine, poller = open_poller()
        told = Counter(row["title"].value for each in engine.notifications() for row in each.added)
        rows = engine.query(f"SELECT ?g ?title {{ GRAPH ?g {{ ?m <{TITLE}> ?title }} }}")
        assert isinstance(rows, list)
        found = {row["g"].value: row["title"].value for row in rows}
        live = publisher.live()
        wanted = {f"urn:l:{thing}": f"ldes {title}" for thing, title in live.items()}
        wanted |= {server.url(f"/thing/{thing}"): title for thing, title in live.items()}
        assert found == wanted, f"seed {seed}: {found.items() ^ wanted.items()}"
        assert [title for title, count in told.items() if count > 1] == [], f"seed {seed}: told twice"
        members = {f"ldes {each.title}" for each in publisher.events if each.title}
        assert members <= told.keys(), f"seed {seed}: lost {members - told.keys()}"
        seen["events"] = len(publisher.events)
        poller.close()
        engine.close()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.changes", description=__doc__.splitlines()[0])
    parser.add_argument("worlds", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    for number in range(options.worlds):
        seen += run_world(options.seed * 1_000_000 + number)
    print(f"{options.worlds} worlds, seed {options.seed}: {dict(seen)}; each change once")


if __name__ == "__main__":
    main()
