"""Kill -9 while sources are polled: between fetching, taking and publishing nothing is lost or told twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.feed_server import Said, rss, serve_feeds
from tests.unit.journal.journal_samples import run_and_crash
from tests.unit.sources.test_event_stream_sources import member, page
from triplecast import Engine
from triplecast.crash_points import POINTS
from triplecast.sources import NewSource, SourceList

POLL = """
import sys
from contextlib import closing
from pathlib import Path
from tests.feed_server import SEND
from triplecast import Engine
from triplecast.sources import Poller
folder = Path(sys.argv[1])
with Engine.open(folder) as engine, closing(Poller(engine, folder, SEND)) as poller:
    for each in poller.sources.sources():
        poller.sources.check(each.url, 0)
    poller.poll()
"""
ITEMS = "SELECT ?item { ?item a rss:item }"


RARER = ("sources.fetched", "sources.settled")
NAMES = [each for each in POINTS if each.startswith("sources.")]


@pytest.mark.parametrize("point", [pytest.param(each, marks=[pytest.mark.slow] * (each in RARER)) for each in NAMES])
def test_a_kill_anywhere_tells_each_item_once(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "folder"
    with serve_feeds() as server:
        with Engine.open(folder) as engine:
            engine.subscribe(ITEMS, id="items")
        sources = SourceList(folder)
        sources.add([NewSource(server.url("/feed")), NewSource(server.url("/other"))], 0)
        server.pages["/other"] = Said(rss([("urn:other", "Other", "")]))
        server.pages["/feed"] = Said(rss([(f"urn:{each}", f"T{each}", "") for each in range(1, 4)]))
        assert run_and_crash(POLL, folder, point, 1, tmp_path / "log") is True
        if point != "sources.fetched":
            server.pages["/feed"] = Said(rss([]))  # what was taken is published, though the feed lists it no longer
        assert not run_and_crash(POLL, folder, point, 99, tmp_path / "log")
        with Engine.open(folder) as engine:
            told = sorted(row["item"].value for each in engine.notifications() for row in each.added)
        assert sources.due(10) == []
    assert told == [f"https://news.example/urn:{each}" for each in (1, 2, 3, "other")]


@pytest.mark.slow
@pytest.mark.parametrize("point", NAMES)
def test_a_kill_in_a_walk_tells_each_member_once(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "folder"
    with serve_feeds() as server:
        with Engine.open(folder) as engine:
            engine.subscribe("SELECT ?title { ?m dcterms:title ?title }", id="titles")
        SourceList(folder).add([NewSource(server.url("/ldes"))], 0)
        server.pages["/ldes"] = page(leads={"/p1": 1, "/p2": 2}, stream=True)
        for number in (1, 2):
            server.pages[f"/p{number}"] = page(member("a", number, f"A{number}"), member("b", number, f"B{number}"))
        assert run_and_crash(POLL, folder, point, 2, tmp_path / "log") is True
        assert not run_and_crash(POLL, folder, point, 99, tmp_path / "log")
        with Engine.open(folder) as engine:
            told = [row["title"].value for each in engine.notifications() for row in each.added]
    assert told == ["A1", "B1", "A2", "B2"]
