"""What a notebook shows: small, and never markup that a publisher or a subscriber wrote."""

from __future__ import annotations

from html.parser import HTMLParser
from random import Random

import pytest

import triplecast
from triplecast.model.html import LONGEST, SHOWN

SEED = 20261122
HOSTILE = (
    "<script>alert(1)</script>",
    "</td><img src=x onerror=y>",
    "&lt;b&gt;",
    "'\"`",
    "\x1b[2J\u202e",
    "<!--",
    "]]>",
)
OURS = {"p", "table", "tr", "th", "td", "pre"}


class Reader(HTMLParser):
    """Collects elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


@pytest.mark.parametrize("number", range(10))
def test_nothing_that_strangers_wrote_is_markup(number: int) -> None:
    """Drawn texts in titles, ids, graph names and terms, of each class that a notebook shows."""
    random = Random(seed := SEED + number)
    word = lambda: "".join(random.sample(HOSTILE, 3))  # noqa: E731
    literal = word().replace("\\", "\\\\").replace('"', '\\"')
    document = "".join(f'<urn:{i}> <a:b> "{literal}", "{i}" .\n' for i in range(30))
    with triplecast.Engine() as engine:
        name = "".join(filter(str.isprintable, word()))  # an id holds no control characters
        engine.subscribe("SELECT ?o ?s { ?s <a:b> ?o }", id=name)
        receipt = engine.publish(document, "text/turtle", graph=f"urn:g:{number}")
        rejected = engine.publish(f"<urn:{word()}", "text/turtle", graph="urn:r")
        shown = [
            receipt,
            receipt.matches[0],
            rejected,
            *engine.notifications(),
            *engine.explain(document, name, "text/turtle"),
            engine.preview("SELECT ?o { ?s <a:b> ?o }"),
            engine.statistics(),
        ]
    for each in shown:
        read = Reader()
        read.feed(each._repr_html_())
        read.close()
        assert read.text, seed
        assert set(read.tags) <= OURS, (seed, type(each))
        assert set(read.attributes) <= {"colspan"}, seed
        assert "\x1b" not in read.text, seed
        assert read.tags.count("tr") <= SHOWN + 12, seed


def test_a_table_is_in_the_order_of_select_and_small() -> None:
    with triplecast.Engine() as engine:
        engine.subscribe("SELECT ?o ?s { ?s <a:b> ?o }", id="all")
        (match,) = engine.publish(f'<urn:1> <a:b> "{"x" * 5000}" .', "text/turtle").matches
    page = match._repr_html_()
    assert page.startswith("<p>all matches ")
    assert "<tr><th>o</th><th>s</th></tr>" in page
    assert len(page) < LONGEST + 300
