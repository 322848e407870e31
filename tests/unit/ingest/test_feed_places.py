"""Where items of RSS 2.0 and Atom are: told as RSS 1.0 tells it, or rejected with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triplecast.ingest import Document
from triplecast.ingest.parse import parse_document
from triplecast.model.publication import Reject

GEORSS, W3C = "http://www.georss.org/georss", "http://www.w3.org/2003/01/geo/wgs84_pos#"
NAMESPACES = f'xmlns:georss="{GEORSS}" xmlns:gml="http://www.opengis.net/gml" xmlns:geo="{W3C}"'
RING = "1 2 3 4 5 0 1 2"


def rss(inside: str) -> Document:
    """The item's content begins in line 4."""
    head = f'<?xml version="1.0"?>\n<rss version="2.0" {NAMESPACES}><channel><georss:point>9 9</georss:point>\n<item>'
    other = "<item><guid>urn:other</guid></item>"
    return Document("f.rss", f"{head}<guid>urn:i</guid>\n{inside}\n</item>{other}</channel></rss>".encode())


def atom(inside: str) -> Document:
    head = f'\n<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES}>\n<entry><id>urn:i</id>\n'
    return Document("f.atom", f"{head}{inside}\n</entry><entry><id>urn:other</id></entry></feed>".encode())


def rss_1(inside: str) -> Document:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    head = f'<rdf:RDF xmlns:rdf="{rdf}" xmlns="http://purl.org/rss/1.0/" {NAMESPACES}>'
    channel = '<channel rdf:about="urn:c"/><item rdf:about="urn:other"/>'
    return Document("f.rdf", f'{head}{channel}<item rdf:about="urn:i">{inside}</item></rdf:RDF>'.encode())


def told(document: Document) -> tuple[dict[str, str], tuple[Reject, ...]]:
    """What the first item says of its place, and all rejects. No other item says any."""
    parsed = parse_document(document)
    places = {}
    for draft in parsed.drafts:
        found = re.findall(
            r'<\S+> <(http://www\.(?:georss|w3)\.org/(?:georss|2003)\S*)> "(.*)" \.', draft.quads.decode()
        )
        assert not found or draft.graph == "urn:i"
        places.update(found)
    assert {draft.graph for draft in parsed.drafts} == {"urn:i", "urn:other"}
    return places, parsed.rejects


@pytest.mark.parametrize(
    "inside",
    [
        "<georss:point>45.2 -71.9</georss:point>",
        "<georss:box>42.9 -71.1 43 -71</georss:box><georss:line>1,2 3,4</georss:line>",
        f"<georss:polygon>{RING}</georss:polygon>",
        "<geo:lat>45.2</geo:lat><geo:long>-71.9</geo:long><georss:point>45.2 -71.9</georss:point>",
    ],
)
def test_every_format_tells_it_as_rss_1_does(inside: str) -> None:
    for make in (rss, atom):
        assert told(make(inside)) == told(rss_1(inside)), make
    assert told(rss(inside))[0]


@pytest.mark.parametrize(
    ("gml", "shape", "text"),
    [
        ("<gml:Point><gml:pos> 45.2 -71.9 </gml:pos></gml:Point>", "point", "45.2 -71.9"),
        ("<gml:LineString><gml:posList>1 2\n3 4</gml:posList></gml:LineString>", "line", "1 2 3 4"),
        ("<gml:LineString><gml:pos>1 2</gml:pos><gml:pos>3 4</gml:pos></gml:LineString>", "line", "1 2 3 4"),
        (
            "<gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>@</gml:posList></gml:LinearRing></gml:exterior>"
            "</gml:Polygon>".replace("@", RING),
            "polygon",
            RING,
        ),
        (
            "<gml:Envelope><gml:lowerCorner>1 2</gml:lowerCorner><gml:upperCorner>3 4</gml:upperCorner></gml:Envelope>",
            "box",
            "1 2 3 4",
        ),
        (
            '<gml:Point srsName="urn:ogc:def:crs:EPSG:6.6:4979" srsDimension="3"><gml:pos>1 2 45</gml:pos></gml:Point>',
            "point",
            "1 2",
        ),
        (
            '<gml:LineString><gml:posList srsName="http://www.opengis.net/def/crs/OGC/1.3/CRS84">2 1 4 3</gml:posList>'
            "</gml:LineString>",
            "line",
            "1 2 3 4",
        ),
    ],
)
def test_gml_is_told_as_the_simple_form(gml: str, shape: str, text: str) -> None:
    for make in (rss, atom):
        assert told(make(f"<georss:where>{gml}</georss:where>")) == ({GEORSS + shape: text}, ())


def test_the_place_of_a_source_is_not_the_entrys() -> None:
    inside = "<georss:point>1 2</georss:point><source><id>urn:s</id><georss:point>3 4</georss:point></source>"
    assert told(atom(inside))[0] == {GEORSS + "point": "1 2"}


@pytest.mark.parametrize(
    ("inside", "reason", "hint"),
    [
        ("<georss:point>45.2</georss:point>", "georss:point: '45.2' is no point", "write pairs of numbers, latitude"),
        ("<georss:point/>", "georss:point: '' is no point", "write pairs"),
        ("<georss:point>NaN 1</georss:point>", "'NaN 1' is no point", "write pairs"),
        ("<georss:point>1_0 1</georss:point>", "'1_0 1' is no point", "write pairs"),
        ("<georss:line>1 2 3</georss:line>", "georss:line: '1 2 3' is no line", "write pairs"),
        ("<georss:polygon>1 2 3 4 1 2</georss:polygon>", "is no polygon", "write pairs"),
        ("<georss:box>1 2 3 4 5 6</georss:box>", "is no box", "write pairs"),
        ("<georss:point>-71.9 245.2</georss:point>", "is out of range", "write the latitude (-90 to 90) first"),
        ("<geo:lat>1</geo:lat>", "there are 1 geo:lat and 0 geo:long", "give one of each"),
        ("<geo:lat>91</geo:lat><geo:long>1</geo:long>", "'91 1' is out of range", "write the latitude"),
        (
            '<georss:where><gml:Point srsName="EPSG:26913"><gml:pos>1 2</gml:pos></gml:Point></georss:where>',
            "coordinates in 'EPSG:26913' are not converted",
            "give latitude and longitude of WGS 84",
        ),
        (
            "<georss:where><gml:Polygon><gml:interior/></gml:Polygon></georss:where>",
            "a polygon has a hole",
            "leave it out",
        ),
        ("<gml:pos>1 2</gml:pos>", "GML coordinates are in no geometry", "put them into gml:Point in georss:where"),
        (
            '<gml:Point srsDimension="3"><gml:pos>1 2</gml:pos></gml:Point>',
            "2 numbers are no places of 3 dimensions",
            "give three numbers for each",
        ),
        ("<georss:point/><georss:point>1</georss:point>", "is no point (and 1 more)", "write pairs"),
    ],
)
def test_what_is_no_place_is_rejected_where_it_stands_and_the_item_is_published(
    inside: str, reason: str, hint: str
) -> None:
    for make in (rss, atom):
        places, (reject,) = told(make(inside))
        assert places == {}
        assert reject.reason.startswith("the item urn:i is published without a place: ")
        assert reason in reject.reason
        assert reject.hint.startswith(hint)
        assert (reject.stage, reject.line) == ("feed", 4)


def test_places_of_real_feeds_are_those_that_another_reader_finds(shared_data: Path) -> None:
    """feedparser's own expectations, written into its test files."""
    found = refused = 0
    for file in sorted((shared_data / "feeds" / "feedparser" / "tests").glob("*formed/geo/*.xml")):
        parsed = parse_document(Document(file.name, file.read_bytes(), "application/atom+xml"))
        (draft,) = parsed.drafts
        place = re.search(r"/georss(point|line|polygon|box)> \"([^\"]+)\"", draft.quads.decode())
        if "utm" in file.name or "no_coords" in file.name or "insufficient" in file.name:
            refused += 1
            assert place is None, file.name
            assert len(parsed.rejects) == 1, file.name
            continue
        found += 1
        assert place is not None, file.name
        expected = re.search(r"coordinates'\](?:\[0\])? == \(([\d., -]+)\)", file.read_text("utf-8"))
        if expected:
            longitude, latitude = expected[1].split(", ")[:2]
            assert list(map(float, place[2].split()[:2])) == [float(latitude), float(longitude)], file.name
    assert (found, refused) == (9, 4)
