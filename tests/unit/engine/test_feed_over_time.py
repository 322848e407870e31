"""A feed polled 157 times: repository scope tells each item once, and an edit as the rows that differ."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from triplecast import Engine

FEED = "http://planet.sympy.org/rss10.xml"


@pytest.mark.slow
def test_each_item_is_told_once(shared_data: Path) -> None:
    with tarfile.open(shared_data / "feeds" / "series" / "planet-series.tar.xz") as states, Engine() as engine:
        engine.subscribe("SELECT ?item { ?item a rss:item }", id="items", scope="repository")
        engine.subscribe("SELECT ?item { ?item a rss:item }", id="new", notify="new")
        engine.subscribe("SELECT ?item ?title { ?item rss:title ?title }", id="titles", scope="repository")
        engine.subscribe(
            "SELECT ?who (COUNT(?item) AS ?n) { ?item dc:creator ?who } GROUP BY ?who", id="authors", scope="repository"
        )
        told: Counter[tuple[str, str]] = Counter()
        for state in sorted(states.getmembers(), key=lambda member: member.name):
            content = states.extractfile(state)
            if content is None:
                continue
            for match in engine.publish(content.read(), "application/rss+xml", FEED).matches:
                told[match.subscription, "added"] += len(match.added)
                told[match.subscription, "removed"] += len(match.removed)
        items = len(engine.query("SELECT ?item { ?item a rss:item }"))
        authors = len(engine.query("SELECT DISTINCT ?who { ?item dc:creator ?who }"))
        assert items > 80
        assert told["items", "added"] == items
        assert told["items", "removed"] == 0
        assert (told["new", "added"], told["new", "removed"]) == (items, 0)  # each publication by itself
        titles = len(engine.query("SELECT ?item ?title { ?item rss:title ?title }"))
        assert told["titles", "added"] - told["titles", "removed"] == titles
        assert told["authors", "added"] - told["authors", "removed"] == authors
