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
        titles = len(engine.query("SELECT ?item ?title { ?item rss:title ?title }"))
        assert told["titles", "added"] - told["titles", "removed"] == titles
        assert told["authors", "added"] - told["authors", "removed"] == authors


@pytest.mark.slow
def test_an_item_is_told_once_as_new_and_once_for_each_edit(shared_data: Path) -> None:
    """In publication scope: an item of each state is a version of a publication where it differs."""
    with tarfile.open(shared_data / "feeds" / "series" / "planet-series.tar.xz") as states, Engine() as engine:
        engine.subscribe("SELECT ?item { ?item a rss:item }", id="new", notify="new")
        engine.subscribe("SELECT ?item ?title { ?item rss:title ?title }", id="changed", key=("item",))
        engine.subscribe("SELECT ?item ?title { ?item rss:title ?title }", id="every", notify="every")
        told: Counter[str] = Counter()
        titles: dict[str, str] = {}
        new, edited, versions = 0, 0, 0
        for state in sorted(states.getmembers(), key=lambda member: member.name):
            content = states.extractfile(state)
            if content is None:
                continue
            receipt = engine.publish(content.read(), "application/rss+xml", FEED)
            told.update(match.subscription for match in receipt.matches)
            for match in receipt.matches:
                if match.subscription == "every":
                    versions += 1
                    item, title = str(match.added[0]["item"]), str([row["title"] for row in match.added])
                    new += item not in titles
                    edited += titles.get(item, title) != title
                    titles[item] = title
        assert new > 80
        assert told == {"new": new, "changed": new + edited, "every": versions}
        assert versions > new + edited, "of an item whose text alone is edited, nobody else is told"
