"""Geography in the box, against Vincenty's published test line, hand-computed figures and brute force."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Dataset, Literal, NamedNode, Quad

from triplecast.errors import InputError
from triplecast.operators import PublicationView, Unanswerable

pytest.importorskip("shapely", reason="the extra triplecast[operators] is not installed")

import shapely
from pyproj import Geod

from triplecast.operators.box import geography, places, tangles
from triplecast.operators.box.geometries import GEOJSON, MOST_COLLECTIONS, WKT, read_geometry
from triplecast.operators.box.metres import metres_between
from triplecast.operators.box.places import locate
from triplecast.operators.box.regions import Regions
from triplecast.operators.box.tangles import refuse_tangled_union

METRE = NamedNode("http://www.opengis.net/def/uom/OGC/1.0/metre")
ELLIPSOID = Geod(ellps="WGS84")
PREFIXES = """@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix w: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix georss: <http://www.georss.org/georss/> . @prefix schema: <https://schema.org/> .
"""


def wkt(text: str) -> Literal:
    return Literal(text, datatype=NamedNode(WKT))


def metres(first: str, second: str) -> float:
    return metres_between(read_geometry(wkt(first)), read_geometry(wkt(second)))


def event(turtle: str = "") -> PublicationView:
    from pyoxigraph import RdfFormat, parse, serialize

    quads = serialize(parse(PREFIXES + turtle, format=RdfFormat.TURTLE), format=RdfFormat.N_TRIPLES)
    assert quads is not None
    return PublicationView(NamedNode("urn:g"), 1, {}, quads)


def one(function: object, *arguments: object) -> object:
    (result,) = function([event()], *([argument] for argument in arguments))  # type: ignore[operator]
    return result


def test_metres_between_points_are_those_of_the_ellipsoid() -> None:
    assert metres("POINT(0 0)", "POINT(1 0)") == pytest.approx(6_378_137 * math.radians(1), abs=1e-6)
    assert metres("POINT(0 0)", "POINT(0 90)") == pytest.approx(10_001_965.729, abs=0.001)  # a quarter of a meridian
    assert metres("POINT(3 4)", "POINT(3 4)") == 0.0
    assert metres("POINT(179.5 0)", "POINT(-179.5 0)") == pytest.approx(6_378_137 * math.radians(1), abs=1e-6)


def test_metres_to_lines_and_polygons() -> None:
    degree = 6_378_137 * math.radians(1)
    assert metres("POINT(0 0)", "LINESTRING(1 -1, 1 1)") == pytest.approx(degree, abs=0.001)
    assert metres("LINESTRING(1 -1, 1 1)", "POINT(0 0)") == pytest.approx(degree, abs=0.001)
    square = "POLYGON((-1 -1, 1 -1, 1 1, -1 1, -1 -1))"
    assert metres("POINT(0 0)", square) == metres(square, "LINESTRING(0 0, 5 5)") == 0.0
    assert metres("POINT(2 0)", square) == pytest.approx(degree, abs=0.001)
    assert metres("POLYGON((2 -1, 3 0, 2 1, 2 -1))", square) == pytest.approx(
        degree * math.cos(math.radians(1)), rel=0.01
    )
    assert metres("MULTIPOINT((9 9), (2 0))", f"GEOMETRYCOLLECTION({square}, POINT(50 50))") == pytest.approx(degree)


@pytest.mark.parametrize("seed", range(12))
def test_no_place_on_two_outlines_is_nearer_than_the_distance_told(seed: int) -> None:
    chance = random.Random(seed)
    shapes = []
    for _ in range(2):
        west, south = chance.uniform(-160, 150), chance.uniform(-80, 70)
        corners = [(west + chance.uniform(0, 9), south + chance.uniform(0, 9)) for _ in range(chance.choice((1, 2, 5)))]
        shapes.append(shapely.convex_hull(shapely.MultiPoint(corners)))
    first, second = (read_geometry(wkt(shape.wkt)) for shape in shapes)
    told = metres_between(first, second)
    assert told == pytest.approx(metres_between(second, first), abs=0.01)
    dense = [shapely.get_coordinates(shapely.segmentize(shape, 0.05)) for shape in shapes]
    best = min(float(ELLIPSOID.inv(*[[x] * len(dense[1]) for x in place], *dense[1].T)[2].min()) for place in dense[0])
    if shapely.intersects(first, second):
        assert told == 0.0
    else:
        assert best - 3000 < told <= best + 0.001, f"seed {seed}"


def test_poles_and_the_antimeridian() -> None:
    assert metres("POINT(0 90)", "POINT(180 90)") == 0.0
    assert metres("LINESTRING(-180 90, 180 90)", "POINT(7 89)") == pytest.approx(111_693.9, abs=0.1)
    assert metres("POINT(0 0)", "POINT(180 0)") == pytest.approx(20_003_931.459, abs=0.001)  # half a meridian ellipse
    assert metres("LINESTRING(179 0, 180 0)", "LINESTRING(-180 0, -179 0)") == 0.0
    assert metres("POINT(-180 0)", "POINT(180 0)") == 0.0


def test_units_of_length() -> None:
    line = (wkt("POINT(0 0)"), wkt("POINT(1 0)"))
    assert one(geography.distance, *line, METRE) == pytest.approx(111_319.4908, abs=0.0001)
    assert one(geography.distance, *line, Literal(METRE.value)) == one(geography.distance, *line, METRE)
    kilometre = NamedNode("http://qudt.org/vocab/unit/KiloM")
    assert one(geography.distance, *line, kilometre) == pytest.approx(111.3194908, abs=1e-7)
    refused = one(geography.distance, *line, NamedNode("http://www.opengis.net/def/uom/OGC/1.0/degree"))
    assert isinstance(refused, Unanswerable)
    assert "is no unit of length" in str(refused)
    assert "<http://www.opengis.net/def/uom/OGC/1.0/metre>" in str(refused)


@pytest.mark.parametrize(
    ("relation", "first", "second", "is_so"),
    [
        ("sf_within", "POINT(1 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", True),
        ("sf_within", "POINT(0 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", False),
        ("sf_within", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", "POINT(1 1)", False),
        ("sf_contains", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", "POINT(1 1)", True),
        ("sf_contains", "POINT(1 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", False),
        ("sf_intersects", "POINT(0 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", True),
        ("sf_intersects", "POINT(3 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", False),
        ("sf_disjoint", "POINT(3 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", True),
        ("sf_touches", "POINT(0 1)", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", True),
        ("sf_equals", "LINESTRING(0 0, 2 0)", "LINESTRING(2 0, 1 0, 0 0)", True),
        ("sf_overlaps", "LINESTRING(0 0, 2 0)", "LINESTRING(1 0, 3 0)", True),
        ("sf_overlaps", "LINESTRING(0 0, 2 0)", "LINESTRING(0 0, 1 0)", False),
        ("sf_crosses", "LINESTRING(0 0, 2 2)", "LINESTRING(0 2, 2 0)", True),
        ("sf_crosses", "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))", "LINESTRING(1 1, 3 1)", True),
    ],
)
def test_relations(relation: str, first: str, second: str, is_so: bool) -> None:
    assert one(getattr(geography, relation), wkt(first), wkt(second)) is is_so


def test_within_by_brute_force() -> None:
    """Against counting how often a ray from a point crosses the ring, on random star-shaped rings."""
    chance = random.Random(5)
    found = 0
    for _ in range(40):
        angles = sorted(chance.uniform(0, 2 * math.pi) for _ in range(chance.randint(3, 20)))
        ring = [(math.cos(a) * r, math.sin(a) * r) for a in angles for r in [chance.uniform(1, 9)]]
        polygon = shapely.Polygon(ring)
        if not polygon.is_valid:
            continue
        for _ in range(50):
            x, y = chance.uniform(-9, 9), chance.uniform(-9, 9)
            crossings = 0
            for (x1, y1), (x2, y2) in zip(ring, ring[1:] + ring[:1], strict=True):
                crossings += (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)
            told = one(
                geography.sf_within, wkt(f"POINT({x!r} {y!r})"), wkt(shapely.to_wkt(polygon, rounding_precision=-1))
            )
            assert told is (crossings % 2 == 1)
            found += crossings % 2
    assert 300 < found < 1700


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (wkt("POINT(1"), "cannot be read as a geometry"),
        (wkt("POINT EMPTY"), "is empty"),
        (wkt("LINESTRING(1 1)"), "must contain 0 or >1 elements; fix it"),
        (wkt("LINESTRING(1 1, 1 1)"), "Too few points in geometry component[1 1]"),
        (wkt("POINT(inf 1)"), "is out of range"),
        (wkt("POINT(180.0000001 0)"), "is out of range"),
        (Literal('{"type":"Feature","geometry":null}', datatype=NamedNode(GEOJSON)), "cannot be read"),
        (Literal('{"type":"Point","coordinates":["1","2"]}', datatype=NamedNode(GEOJSON)), "must be number"),
        (wkt("POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))"), "Self-intersection[0.5 0.5]; fix its rings"),
        (wkt("POLYGON((0 0, 1 1, 1 0))"), "do not form a closed linestring"),
        (wkt("POINT(40.8 -173) "), "the longitude comes first"),
        (wkt("POINT(nan 1)"), "is out of range"),
        (wkt("<http://www.opengis.net/def/crs/EPSG/0/3857> POINT(1 1)"), "give them in CRS84 or EPSG:4326"),
        (wkt("CIRCULARSTRING(0 0, 1 1, 2 0)"), "cannot be read"),
        (wkt("GEOMETRYCOLLECTION(" * 5000 + "POINT(1 1)" + ")" * 5000), f"more than {MOST_COLLECTIONS} collections"),
        (wkt("POINT(1 1)\0, anything"), "has U+0000"),
        (Literal('{"type":"Pointé","coordinates":[1,2' + "9" * 120, datatype=NamedNode(GEOJSON)), "cannot be read"),
        (wkt("POINT(1 1)" + " " * (1 << 20)), "1,048,576 are allowed"),
        (Literal("[" * 100_000, datatype=NamedNode(GEOJSON)), "cannot be read"),
        (Literal("POINT(1 1)"), "is no geometry; give a geo:wktLiteral"),
        (NamedNode("urn:x"), "is no geometry; give a geo:wktLiteral"),
    ],
)
def test_what_is_no_geometry_is_told_with_how_to_mend_it(written: object, told: str) -> None:
    refused = one(geography.sf_intersects, written, wkt("POINT(1 1)"))
    assert isinstance(refused, Unanswerable)
    assert told in str(refused)
    assert len(str(refused)) < 500


@pytest.mark.parametrize("nested", [MOST_COLLECTIONS + 1, 17_000])
def test_collections_are_counted_however_json_writes_their_name(nested: int) -> None:
    for name in (
        "GeometryCollection",
        r"GeometryC\u006fllection",
        r"Geometry\u0043ollection",
        r"GEOMETRY\u0063ollection",
    ):
        opened = f'{{"type":"{name}","geometries":[' * nested
        text = opened + '{"type":"Point","coordinates":[1,1]}' + "]}" * nested
        with pytest.raises(Unanswerable, match=f"a geometry of more than {MOST_COLLECTIONS} collections"):
            read_geometry(Literal(text, datatype=NamedNode(GEOJSON)))


def zigzag(points: int, across: bool) -> str:
    places = [(number / points * 80, (number % 2) * 80) for number in range(points)]
    return f"LINESTRING({', '.join(f'{x:.4f} {y:.4f}' if across else f'{y:.4f} {x:.4f}' for x, y in places)})"


def test_geometries_that_cross_too_often_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = wkt(zigzag(1500, True)), wkt(zigzag(1500, False))
    for relation in ("equals", "touches", "within", "contains", "overlaps", "crosses"):
        refused = one_of(relation, one, other)
        assert isinstance(refused, Unanswerable), relation
        assert str(refused) == "more than 1,000,000 pairs of segments may cross; simplify the geometries"
    assert (one_of("intersects", one, other), one_of("disjoint", one, other)) == (True, False)
    assert one_of("crosses", one, wkt("POINT(90 0)")) is False
    assert one_of("crosses", one, wkt("LINESTRING(80.5 0, 90 0)")) is False, "they share no part of the plane"
    assert one_of("touches", one, wkt("MULTIPOINT((0 0), (90 0))")) is True
    spiral = [(0.002 * k * math.cos(k / 9), 0.002 * k * math.sin(k / 9)) for k in range(5000)]
    turned = wkt(shapely.LineString(spiral).wkt)
    assert one_of("crosses", turned, wkt("LINESTRING(-20 0.0001, 20 0.0001)")) is True, "many segments, few meetings"
    twice = event(f'<urn:x> geo:asWKT """{one.value}"""^^geo:wktLiteral, """{other.value}"""^^geo:wktLiteral .')
    (refused,) = geography.within([twice], [NamedNode("urn:x")], [Literal("The Bronx")])
    assert "more than 100,000 pairs of segments may cross" in str(refused)


def one_of(relation: str, first: Literal, second: Literal) -> object:
    return one(getattr(geography, f"sf_{relation}"), first, second)


@pytest.mark.parametrize("seed", range(6))
def test_segments_that_meet_are_counted_as_by_hand(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly at the limit nothing is refused; one fewer, and it is."""
    chance = random.Random(seed)
    lines = [[(chance.randint(0, 9), chance.randint(0, 9)) for _ in range(2)] for _ in range(12)]
    shape = shapely.MultiLineString([line for line in lines if line[0] != line[1]])
    boxes = [shapely.box(*line.bounds) for line in shape.geoms]
    meeting = sum(a.intersects(b) for number, a in enumerate(boxes) for b in boxes[:number])
    most = meeting - len(boxes)  # two neighbours of each are not counted
    if most < 1:
        pytest.skip("too few meet")
    monkeypatch.setattr(tangles, "MOST_UNITED", most)
    refuse_tangled_union([shape])
    monkeypatch.setattr(tangles, "MOST_UNITED", most - 1)
    with pytest.raises(Unanswerable, match="may cross"):
        refuse_tangled_union([shape])


class Counting:
    """A graph that counts what it is asked."""

    def __init__(self, graph: Dataset) -> None:
        self._graph = graph
        self.asked = 0

    def quads_for_subject(self, subject: NamedNode | BlankNode) -> Iterator[Quad]:
        self.asked += 1
        return self._graph.quads_for_subject(subject)


def test_a_hub_of_links_is_walked_once() -> None:
    """Two steps from a thing with n links each way are n + 1 things, not n * n."""
    n = 300
    spokes = "".join(f"<urn:hub> foaf:based_near <urn:{k}> . <urn:{k}> foaf:based_near <urn:hub> . " for k in range(n))
    given = event(spokes + "<urn:7> w:lat 40.85 ; w:long -73.88 .")
    for thing in ("hub", "8"):
        counting = Counting(given.graph)
        (found,) = places._stated(counting, NamedNode(f"urn:{thing}"))  # type: ignore[arg-type]
        assert found.wkt == "POINT (-73.88 40.85)"
        assert counting.asked == n + 1


def test_links_are_followed_two_steps() -> None:
    chain = "".join(f"<urn:{a}> foaf:based_near <urn:{b}> . " for a, b in ("ab", "bc", "cd"))
    given = event(chain + "<urn:d> w:lat 40.85 ; w:long -73.88 .")
    asked = [NamedNode(f"urn:{name}") for name in "abcd"]
    assert geography.within([given] * 4, asked, [Literal("The Bronx")] * 4) == [False, True, True, True]


def test_memory_that_is_exhausted_says_nothing_of_the_geometry(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise shapely.errors.GEOSException("std::bad_alloc")

    monkeypatch.setattr(shapely, "contains", exhausted)
    with pytest.raises(MemoryError, match="bad_alloc"):
        one_of("contains", wkt("POINT(1 1)"), wkt("POINT(1 1)"))
    monkeypatch.setattr(shapely, "from_wkt", exhausted)
    with pytest.raises(MemoryError, match="bad_alloc"):
        read_geometry(wkt("POINT(1 1.25)"))


def test_axis_order_is_that_of_the_reference_system() -> None:
    assert read_geometry(wkt("<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(40 120)")).wkt == "POINT (120 40)"
    assert read_geometry(wkt("<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(120 40)")).wkt == "POINT (120 40)"
    assert read_geometry(wkt("POINT Z(120 40 9)")).wkt == "POINT (120 40)"
    assert read_geometry(Literal('{"type":"Point","coordinates":[120,40]}', datatype=NamedNode(GEOJSON))).x == 120


@pytest.mark.parametrize(
    "turtle",
    [
        '<urn:x> geo:hasGeometry [ geo:asWKT "POINT(-73.9 40.85)"^^geo:wktLiteral ] .',
        '<urn:x> geo:asWKT "POINT(-73.9 40.85)"^^geo:wktLiteral .',
        '<urn:x> w:lat "40.85" ; w:long -73.9 .',
        "<urn:x> schema:geo [ schema:latitude 40.85 ; schema:longitude -73.9 ] .",
        '<urn:x> georss:point " 40.85 -73.9 " .',
        '<urn:x> georss:polygon "40.84 -73.9 40.86 -73.9 40.86 -73.89 40.84 -73.9" .',
        '<urn:x> georss:box "40.84 -73.9 40.86 -73.89" ; georss:line "40.85 -73.9, 40.85 -73.89" .',
    ],
)
def test_where_a_thing_is(turtle: str) -> None:
    inside, outside = Literal("The Bronx"), wkt("POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))")
    given = event(turtle)
    assert geography.within([given] * 2, [NamedNode("urn:x")] * 2, [inside, outside]) == [True, False]


def test_a_thing_of_which_nothing_says_where_it_is() -> None:
    given = event('<urn:x> schema:name "X" .')
    assert geography.within([given], [NamedNode("urn:x")], [Literal("The Bronx")]) == [False]
    assert geography.distance_of_places([given], [BlankNode("b")], [Literal("The Bronx")]) == [None]


@pytest.mark.parametrize(
    ("turtle", "told"),
    [
        ("<urn:x> w:lat 40.85 .", "has 1 latitude and no longitudes"),
        ("<urn:x> w:lat 40.85, 41 ; w:long 1 .", "has 2 latitudes and 1 longitude"),
        ('<urn:x> georss:point "40.85" .', "is no point; write pairs of numbers, latitude before longitude"),
        ('<urn:x> georss:polygon "1 2 3 4 1 2" .', "is no polygon"),
        ('<urn:x> georss:box "1 2 3 x" .', "is no box"),
        ('<urn:x> georss:point "-173 40" .', "is out of range; write the latitude (-90 to 90) first"),
        ('<urn:x> geo:asWKT "POINT("^^geo:wktLiteral .', "cannot be read"),
    ],
)
def test_a_place_that_is_stated_wrongly(turtle: str, told: str) -> None:
    (refused,) = geography.within([event(turtle)], [NamedNode("urn:x")], [Literal("The Bronx")])
    assert isinstance(refused, Unanswerable)
    assert told in str(refused)


def test_a_region_that_is_not_known() -> None:
    (refused,) = geography.within([event()], [wkt("POINT(1 1)")], [Literal("The Bronks")])
    assert str(refused) == "no region is called 'The Bronks'; regions.geojson has 'The Bronx'"


def test_distances_of_the_drawn_regions() -> None:
    """The Empire State Building is 8.24 km from the Statue of Liberty, and 0.73 km from Times Square's middle."""
    tower = wkt("POINT(-73.9857 40.7484)")
    assert one(geography.distance_of_places, tower, Literal("Statue of Liberty")) == pytest.approx(8240, abs=5)
    assert 600 < one(geography.distance_of_places, tower, Literal("Times Square")) < 1300  # type: ignore[operator]
    bronx = NamedNode("urn:triplecast:region:bronx")
    assert one(geography.within, wkt("POINT(-73.8771 40.8506)"), bronx) is True  # the Bronx Zoo
    assert one(geography.within, tower, bronx) is False


def test_another_content_of_the_drawn_regions_is_another_version() -> None:
    assert (geography.VERSION, geography.DRAWN.version) == ("1", "03a4cfa12ed0")


def test_regions_of_ones_own_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.geojson"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        _ = Regions(file).version
    shape = '{"type": "Point", "coordinates": [1, 2]}'
    for content, told in (
        ("{", "is no JSON"),
        ('{"type": "Feature"}', "has no list of features"),
        (f'{{"features": [{{"geometry": {shape}}}]}}', "feature 1 has no name"),
        ('{"features": [{"id": "a", "geometry": null}]}', "feature 1: "),
        (
            f'{{"features": [{{"id": "a", "geometry": {shape}}}, {{"id": "a", "geometry": {shape}}}]}}',
            "feature 2 is called",
        ),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=told):
            Regions(file).find("a")
    file.write_text(f'{{"features": [{{"id": "a", "properties": {{"name": "A"}}, "geometry": {shape}}}]}}')
    assert Regions(file).find("a") is Regions(file).find("A")


def test_georss_of_real_feeds_is_where_another_reader_finds_it(shared_data: Path) -> None:
    """feedparser's own expectations, written into its test files; also what it refuses."""
    found = 0
    for file in sorted((shared_data / "feeds" / "feedparser" / "tests").glob("*formed/geo/georss_*.xml")):
        text = file.read_text("utf-8")
        shape, inside = re.findall(r"<georss:(\w+)>([^<]*)</georss:", text)[0]
        given = event(f'<urn:x> georss:{shape} """{inside}""" .')
        there = locate(given, NamedNode("urn:x"), geography.DRAWN) if "wellformed" in str(file) else None
        if there is None:
            with pytest.raises(Unanswerable, match=f"is no {shape}"):
                locate(given, NamedNode("urn:x"), geography.DRAWN)
            continue
        found += 1
        told = re.search(r"coordinates'\](?:\[0\])? == \(([\d., ]+)\)", text)
        corner = tuple(map(float, told[1].split(","))) if told else None
        assert corner is None or list(corner) in shapely.get_coordinates(there).tolist()
        assert there.geom_type == {"point": "Point", "line": "LineString"}.get(shape, "Polygon")
    assert found >= 4
