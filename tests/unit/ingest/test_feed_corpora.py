"""The feeds of feedparser's and gofeed's own tests: nothing crashes, and titles, links and dates are what they expect.

Neither corpus is part of this repository (../shared/data/feeds): without them these tests are skipped.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from pyoxigraph import Literal, RdfFormat, parse

from triplecast.ingest import Document, ParsedDocument
from triplecast.ingest.feed_item import CONTENT_ENCODED, DATE, DATE_TIME, DESCRIPTION, ITEM, LINK, RDF_TYPE, TITLE
from triplecast.ingest.parse import parse_document
from triplecast.model.publication import Draft

FEEDS = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "feeds"
FEEDPARSER = FEEDS / "feedparser" / "tests"
GOFEED = FEEDS / "gofeed" / "testdata"
pytestmark = pytest.mark.skipif(not FEEDS.exists(), reason="the feed corpora are not at ../shared/data/feeds")

EXPECTED = re.compile(
    r"Expect:\s*(?:not bozo and )?entries\[0\]\[u?'(title|link|description|summary|id)'\]\s*=="
    r"\s*(u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))\s*$",
    re.MULTILINE,
)
EXPECTED_DATE = re.compile(
    r"Expect:.*entries\[0\]\['(?:date|updated|published)_parsed'\] == (\(.*\))\s*$", re.MULTILINE
)


@cache
def read(path: Path) -> ParsedDocument:
    document = Document(path.name, path.read_bytes(), "application/xml", "http://127.0.0.1:8097/" + path.name)
    return parse_document(document)


def item(draft: Draft) -> dict[str, set[Literal]]:
    """Predicate → literals of the draft's item."""
    triples = [quad.triple for quad in parse(draft.quads, format=RdfFormat.N_TRIPLES)]
    (subject,) = {triple.subject for triple in triples if triple.predicate == RDF_TYPE and triple.object == ITEM}
    found: dict[str, set[Literal]] = {}
    for triple in triples:
        if triple.subject == subject and isinstance(triple.object, Literal):
            found.setdefault(triple.predicate.value, set()).add(triple.object)
    return found


def texts(draft: Draft, predicate: object) -> set[str]:
    return {value.value for value in item(draft).get(predicate.value, ())}


def moment(draft: Draft) -> datetime | None:
    typed = [value.value for value in item(draft).get(DATE.value, ()) if value.datatype == DATE_TIME]
    return datetime.fromisoformat(typed[0]).astimezone(UTC) if typed else None


def test_no_feed_crashes_the_parser() -> None:
    for corpus, least in ((FEEDPARSER, 1000), (GOFEED, 500)):
        parsed = [read(path) for path in sorted(corpus.rglob("*.xml"))]
        assert len(parsed) > least
        assert sum(len(one.drafts) for one in parsed) > least * 0.5
        for one in parsed:
            for reject in one.rejects:
                assert reject.reason
                assert reject.hint
            assert len({draft.graph for draft in one.drafts}) == len(one.drafts)


def expectations() -> Iterator[tuple[Path, str, object]]:
    for path in sorted((FEEDPARSER / "wellformed").rglob("*.xml")):
        if path.parent.name in ("sanitize", "base", "lang"):
            continue
        head = path.read_bytes()[:1500].decode("utf-8", "replace")
        if match := EXPECTED.search(head):
            yield path, match[1], ast.literal_eval(match[2])
        elif match := EXPECTED_DATE.search(head):
            yield path, "date", ast.literal_eval(match[1])


def compare_with_feedparser() -> tuple[int, list[str]]:
    asked = 0
    wrong = []
    for path, field, expected in expectations():
        parsed = read(path)
        if not parsed.drafts:
            if "DOCTYPE" not in path.read_text("utf-8", "replace"):
                wrong.append(f"{path.name}: no item {parsed.rejects}")
            continue
        asked += 1
        draft = parsed.drafts[0]
        if field == "date":
            found = moment(draft)
            same = found is not None and tuple(found.timetuple()[:6]) == tuple(expected[:6])
        elif field == "id":
            identifier = {value.value for value in item(draft).get("http://purl.org/dc/terms/identifier", ())}
            found, same = identifier, expected in identifier | {draft.graph}
        else:
            predicates = {"title": (TITLE,), "link": (LINK,)}.get(field, (DESCRIPTION, CONTENT_ENCODED))
            found = {text for predicate in predicates for text in texts(draft, predicate)}
            same = expected in found or (expected == "" and not found)
        if not same:
            wrong.append(f"{path.parent.name}/{path.name} {field}: expected {expected!r}, found {found!r}")
    return asked, wrong


def gofeed_items() -> Iterator[tuple[Path, list[dict[str, str]]]]:
    """Title, link and date (UTC) of each item, from gofeed's three shapes of JSON."""
    for path in sorted(GOFEED.rglob("*.xml")):
        answer = path.with_suffix(".json")
        if path.parent.name == "universal" or not answer.exists():
            continue
        found = json.loads(answer.read_text())
        items = []
        for entry in found.get("items") or found.get("entries") or ():
            links = [entry["link"]] if "link" in entry else entry.get("links") or ()
            pages = [link if isinstance(link, str) else link.get("href", "") for link in links[:1]]
            stamps = (entry.get(f"{name}Parsed") for name in ("pubDate", "published", "updated"))
            items.append(
                {
                    "title": entry.get("title", ""),
                    "link": "".join(pages),
                    "date": next((stamp for stamp in stamps if stamp), ""),
                }
            )
        yield path, items


def compare_with_gofeed() -> tuple[int, list[str]]:
    asked = 0
    wrong = []
    for path, items in gofeed_items():
        parsed = read(path)
        if len(parsed.drafts) != len(items):
            if not parsed.rejects:
                wrong.append(f"{path.name}: {len(items)} items expected, {len(parsed.drafts)} found")
            continue
        for draft, expected in zip(parsed.drafts, items, strict=True):
            for field, predicate in (("title", TITLE), ("link", LINK)):
                asked += bool(expected[field])
                if expected[field] and expected[field] not in (found := texts(draft, predicate)):
                    wrong.append(f"{path.name} {field}: expected {expected[field]!r}, found {found!r}")
            if expected["date"]:
                asked += 1
                if moment(draft) != datetime.fromisoformat(expected["date"]).astimezone(UTC):
                    wrong.append(f"{path.name} date: expected {expected['date']}, found {moment(draft)}")
    return asked, wrong


SANITISED = "feedparser's tests expect sanitised, rewritten markup; ours stays as published"
CDF = "CDF is not a format of ours"
FEEDPARSER_DIFFERS = {
    "item_abstract_map_description.xml": CDF,
    "item_href_map_link.xml": CDF,
    "item_lastmod_parsed.xml": CDF,
    "item_title.xml": CDF,
    "rss/item_description_br.xml": SANITISED,
    "rss/item_description_br_shorttag.xml": SANITISED,
    "sgml/charref_uppercase_x.xml": SANITISED,
    "namespace/": SANITISED,
    "media-rss/item_media_title1.xml": "a title in Media RSS is that of a file, not of the item",
}
GOFEED_DIFFERS = {
    "atom03_feed_entry_title_xhtml_": "Atom 0.3 XHTML titles keep their div",
    "entry_summary_xml_base_inherit_3.xml": SANITISED,
    "entry_title_xml_base": SANITISED,
    "version_rdf_10.xml": "RDF/XML without a channel is no feed but an (empty) graph",
    "rss_channel_item_illegal_char.xml": "control characters stay; the feed is told to be ill-formed",
    "rss_channel_item_uri_at_protocol.xml": "the item's last link counts, whatever its scheme",
}


@pytest.mark.parametrize(
    ("compare", "least", "differs"),
    [(compare_with_feedparser, 100, FEEDPARSER_DIFFERS), (compare_with_gofeed, 70, GOFEED_DIFFERS)],
)
def test_titles_links_and_dates_agree(
    compare: Callable[[], tuple[int, list[str]]], least: int, differs: dict[str, str]
) -> None:
    asked, wrong = compare()
    assert asked >= least
    assert [line for line in wrong if not line.startswith(tuple(differs))] == []
    assert [name for name in differs if not any(line.startswith(name) for line in wrong)] == [], "agrees now"


if __name__ == "__main__":
    for compare in (compare_with_feedparser, compare_with_gofeed):
        asked, wrong = compare()
        print(compare.__name__, asked, len(wrong))
        print("\n".join(wrong))
