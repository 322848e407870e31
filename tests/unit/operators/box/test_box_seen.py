"""Pictures and texts of the box through the engine: shared by subscriptions, and undecided with a reason that fixes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from drawn import draw, encode
from PIL import Image, ImageDraw

from triplecast.engine import Engine
from triplecast.model.answers import Found, GroundCall
from triplecast.model.publication import Publication
from triplecast.operators import declared_operators
from triplecast.operators.asking.workers import Performer
from triplecast.operators.box.pictures import MOST_PIXELS, OP
from triplecast.operators.messages import PublicationCall

PICTURE = '<urn:pic> a <urn:Picture> ; rdfs:label "{label}" .'
PREFIXES = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        yield opened


def publish(engine: Engine, content: bytes | None, label: str = "") -> tuple[dict[str, list[list[str]]], list[str]]:
    """The rows told to each subscription, and why others are undecided."""
    text = PREFIXES + PICTURE.format(label=label)
    attached = {} if content is None else {"urn:pic": content}
    receipt = engine.publish(text, "text/turtle", "urn:g", attachments=attached)
    told = {
        match.subscription: [[row[name].value for name in sorted(row)] for row in match.bindings]
        for match in receipt.matches
    }
    return told, [pair.reason for pair in receipt.undecided]


ASKED = {
    "filter": "ASK { ?p a <urn:Picture> FILTER(op:objects(?p) >= 0) }",
    "property": "SELECT ?n { ?p a <urn:Picture> ; op:objects ?n }",
    "bind": "SELECT ?n { ?p a <urn:Picture> BIND(op:objectsOfColour(?p, 'red') AS ?n) }",
    "list": "SELECT ?n { ?p a <urn:Picture> . (?p 'red') op:objectsOfColour ?n }",
    "size": "SELECT ?w ?h { ?p a <urn:Picture> BIND(op:width(?p) AS ?w) BIND(op:height(?p) AS ?h) }",
    "colour": "SELECT ?c { ?p a <urn:Picture> ; op:colour ?c }",
    "either": "ASK { ?p a <urn:Picture> FILTER(op:objects(?p) > 100 || op:width(?p) > 1) }",
}


def test_every_form_is_answered_and_asked_once(engine: Engine) -> None:
    for name, query in ASKED.items():
        engine.subscribe(query, id=name)
        engine.subscribe(query + " ", id=f"{name} again")
    drawn = draw(random.Random(11))
    told, undecided = publish(engine, drawn.encode())
    width, height = drawn.image.size
    wanted = {
        "filter": [[]],
        "property": [[str(drawn.objects)]],
        "bind": [["0"]],
        "list": [["0"]],
        "size": [[str(height), str(width)]],
        "colour": [["#{:02x}{:02x}{:02x}".format(*drawn.image.getpixel((0, 0)))]],
        "either": [[]],
    }
    assert {name: rows for name, rows in told.items() if "again" not in name} == wanted
    assert {name.removesuffix(" again"): rows for name, rows in told.items() if "again" in name} == wanted
    assert undecided == []
    assert engine.statistics().work.operator_calls == 5, "objects, objects of one colour, width, height, colour"


def test_what_cannot_be_seen_is_undecided_with_its_reason(engine: Engine) -> None:
    engine.subscribe(ASKED["property"], id="objects")
    engine.subscribe(ASKED["either"], id="either")
    engine.subscribe("SELECT ?p { ?p a <urn:Picture> }", id="plain", notify="every")
    content = draw(random.Random(11)).encode()
    for number, (bad, reason) in enumerate(
        (
            (None, "no attachment <urn:pic>; the publication has none; publish the picture's bytes with it, under"),
            (
                b"%PDF-1.7",
                "the attachment <urn:pic> is no picture of a known format, or its header is damaged (it beg",
            ),
        )
    ):
        told, undecided = publish(engine, bad, str(number))
        assert told == {"plain": [["urn:pic"]]}
        assert len(undecided) == 2
        for each in undecided:
            assert ") version 1 cannot answer on <urn:g>: " + reason in each
    told, undecided = publish(engine, content[:-40], "cut")
    assert set(told) == {"plain", "either"}, "its width can be told"
    assert "is cut short or damaged" in undecided[0]
    assert "publish the whole file" in undecided[0]
    for _ in range(120):
        publish(engine, b"%PDF", str(random.random()))
    told, undecided = publish(engine, content)
    assert set(told) == {"plain", "either", "objects"}, "nobody is quarantined for what publishers sent"
    assert undecided == []


def test_texts_are_compared_in_batches(engine: Engine) -> None:
    titles = ("night train to Porto", "the train to Porto", "a museum opens", "Night Train to Porto!")
    for number, title in enumerate(titles):
        engine.subscribe(f'SELECT ?n {{ ?p rdfs:label ?l BIND(op:similarity(?l, "{title}") AS ?n) }}', id=str(number))
    engine.subscribe("SELECT ?n { ?p rdfs:label ?l BIND(op:similarity(?p, ?l) AS ?n) }", id="attachment")
    told, undecided = publish(engine, b"\xff", "Night train to Porto")
    values = [float(told[str(number)][0][0]) for number in range(4)]
    assert values[0] == values[3] == 1.0 > values[1] > 0.5 > values[2] == 0.0
    assert "attachment" not in told
    assert ["the attachment <urn:pic> is no text in UTF-8" in each for each in undecided] == [True]


@pytest.mark.slow
def test_the_largest_picture_is_within_its_limits() -> None:
    across = 7_000
    image = Image.new("RGB", (across, MOST_PIXELS // across), "#204060")
    pen = ImageDraw.Draw(image)
    places = [(x, y) for x in range(10, across - 40, 100) for y in range(10, image.height - 40, 100)]
    for x, y in places:
        pen.rectangle((x, y, x + 30, y + 30), fill="white")
    content = encode(image, compress_level=1)
    publication = Publication(1, "urn:g", 1, "2026-01-01T00:00:00.000000Z", b"", attachments=(("urn:pic", content),))
    asked = [
        PublicationCall(publication, GroundCall(OP + name, ("<urn:pic>",))) for name in ("objects", "colour", "width")
    ]
    with Performer(declared_operators()) as performer:
        objects, colour, width = (each.answer for each in performer.perform(asked))
    values = [each.rows[0][0].value for each in (objects, colour, width) if isinstance(each, Found)]
    assert values == [str(len(places)), "#204060", str(across)], (objects, colour, width)
