"""Operators in the box, asked by subscriptions: in the index and by the evaluator, of the box and of one's own."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from triplecast import Engine
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.model.operators import Operator
from triplecast.model.subscription import Subscription
from triplecast.operators import declared_operators
from triplecast.operators.declaration import load
from triplecast.registry.admission import admit

pytest.importorskip("shapely", reason="the extra triplecast[operators] is not installed")

import box_shop

import triplecast.operators.box
from triplecast.operators import PublicationView

assert triplecast.operators.box
GEOF = "http://www.opengis.net/def/function/geosparql/"
METRE = "http://www.opengis.net/def/uom/OGC/1.0/metre"
PREFIXES = """@prefix geo: <http://www.opengis.net/ont/geosparql#> . @prefix : <https://example.org/> .
@prefix w: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
"""
PLACES = PREFIXES + "\n".join(
    f':p{number} a :Place ; geo:asWKT "POINT({longitude} {latitude})"^^geo:wktLiteral .'
    for number, (longitude, latitude) in enumerate(
        [(-73.8771, 40.8506), (-73.9857, 40.7484), (-74.0445, 40.6892), (-73.9855, 40.7580), (-73.92, 40.83)]
    )
)

BOX = "POLYGON((-73.93 40.8, -73.77 40.8, -73.77 40.9, -73.93 40.9, -73.93 40.8))"


def told(query: str, turtle: str = PLACES) -> tuple[list[dict[str, str]], list[str]]:
    """Rows of a query, sorted, as text; and reasons why it is undecided."""
    with Engine() as engine:
        engine.subscribe(f"PREFIX : <https://example.org/> PREFIX shop: <{box_shop.SHOP}> {query}", id="q")
        receipt = engine.publish(turtle, "text/turtle")
        rows = [
            {name: term.value for name, term in row.items()}
            for match in receipt.matches
            for row in match.bindings or ()
        ]
        return sorted(rows, key=lambda row: sorted(row.items())), [str(each.reason) for each in receipt.undecided]


@pytest.mark.parametrize(
    "condition",
    [
        '?p op:within "The Bronx"',
        "?p op:within <urn:triplecast:region:bronx>",
        'FILTER(op:within(?w, "The Bronx"))',
        f'FILTER(geof:sfWithin(?w, "{BOX}"^^geo:wktLiteral))',
        'FILTER(op:distance(?p, "The Bronx") = 0)',
        'FILTER(geof:distance(?w, "POINT(-73.9 40.84)"^^geo:wktLiteral, <http://qudt.org/vocab/unit/KiloM>) < 5)',
    ],
)
def test_the_evaluator_and_the_index_give_the_same(condition: str) -> None:
    """What stands inside a sub-select with an aggregate is decided by the evaluator."""
    pattern = f"?p a :Place ; geo:asWKT ?w . {condition}"
    rows, undecided = told(f"SELECT ?p {{ {pattern} }}")
    assert not undecided
    assert [row["p"] for row in rows] == ["https://example.org/p0", "https://example.org/p4"]
    behind, undecided = told(
        f"SELECT ?p {{ {{ SELECT ?p (COUNT(*) AS ?n) {{ {pattern} }} GROUP BY ?p }} FILTER(?n = 1) }}"
    )
    assert not undecided
    assert behind == rows
    nested, undecided = told(f"SELECT ?p {{ ?p a :Place FILTER EXISTS {{ {pattern} }} }}")
    assert not undecided
    assert nested == rows


def test_one_implementation_answers_for_an_iri_that_the_evaluator_has_too() -> None:
    """The evaluator's own ``geof:distance`` is on a ball: 8,239.5 m, for 8,240.2 m on the ellipsoid."""
    far = 'geof:distance(?w, "POINT(-74.0445 40.6892)"^^geo:wktLiteral, <http://www.opengis.net/def/uom/OGC/1.0/metre>)'
    pattern = f"?p a :Place ; geo:asWKT ?w BIND({far} AS ?m) FILTER(?m > 1 && ?m < 9000)"
    alone, behind = f"SELECT ?p ?m {{ {pattern} }}", f"SELECT (MAX(?m) AS ?most) {{ {pattern} }}"
    prefixes = "PREFIX : <https://example.org/> "
    assert admit(Subscription("s", prefixes + alone), operators=declared_operators()).decided
    assert not admit(Subscription("s", prefixes + behind), operators=declared_operators()).decided
    (row,), (most,) = told(alone)[0], told(behind)[0]
    assert row["m"] == most["most"]
    assert float(row["m"]) == pytest.approx(8240.18, abs=0.01)


SHAPES = (
    "POINT(1 1)",
    "POINT(0 1)",
    "LINESTRING(0 0, 2 0)",
    "LINESTRING(1 0, 3 0)",
    "LINESTRING(1 -1, 1 3)",
    "POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))",
    "POLYGON((1 1, 3 1, 3 3, 1 3, 1 1))",
    "POLYGON((0 0, 0 2, 2 2, 2 0, 0 0))",
)
GEOF_NAMES = ("Contains", "Crosses", "Disjoint", "Equals", "Intersects", "Overlaps", "Touches", "Within")


def test_every_function_of_geosparql_that_is_declared_is_in_the_test_below() -> None:
    declared = {each.iri for each in declared_operators() if each.iri.startswith(GEOF)}
    assert declared == {GEOF + "distance", *(f"{GEOF}sf{name}" for name in GEOF_NAMES)}


@pytest.mark.parametrize("name", [*GEOF_NAMES, "distance"])
def test_one_implementation_answers_in_the_index_and_behind_it(name: str) -> None:
    """A publication of all pairs of shapes, evaluated by both ways and by a direct call of the operator."""
    pairs = [(one, other) for one in SHAPES for other in SHAPES]
    turtle = PREFIXES + "\n".join(
        f':p{number} a :Pair ; :one "{one}"^^geo:wktLiteral ; :other "{other}"^^geo:wktLiteral .'
        for number, (one, other) in enumerate(pairs)
    )
    call = f"geof:sf{name}(?a, ?b)" if name != "distance" else f"geof:distance(?a, ?b, <{METRE}>) < 100000"
    pattern = f"?p a :Pair ; :one ?a ; :other ?b FILTER({call})"
    alone = f"SELECT ?p {{ {pattern} }}"
    behind = f"SELECT ?p {{ {{ SELECT ?p (COUNT(*) AS ?n) {{ {pattern} }} GROUP BY ?p }} FILTER(?n = 1) }}"
    prefix = "PREFIX : <https://example.org/> "
    assert admit(Subscription("s", prefix + alone), operators=declared_operators()).decided
    assert not admit(Subscription("s", prefix + behind), operators=declared_operators()).decided
    rows, undecided = told(alone, turtle)
    assert (rows, undecided) == (told(behind, turtle)[0], [])
    declared = declared_operators().find(GEOF + (f"sf{name}" if name != "distance" else name))
    assert declared is not None
    kind = NamedNode("http://www.opengis.net/ont/geosparql#wktLiteral")
    given: list[list[Literal | NamedNode]] = [
        [Literal(pair[place], datatype=kind) for pair in pairs] for place in (0, 1)
    ]
    if name == "distance":
        given.append([NamedNode(METRE)] * len(pairs))
    event = PublicationView(NamedNode("urn:g"), 1, {}, b"")
    wanted = [answer is True or (answer is not False and answer < 100_000) for answer in called(declared, event, given)]
    assert sorted(row["p"] for row in rows) == sorted(
        f"https://example.org/p{number}" for number, is_so in enumerate(wanted) if is_so
    )
    assert 0 < len(rows) < len(pairs)


def called(declared: Operator, event: PublicationView, given: list[list[Literal | NamedNode]]) -> list[bool | float]:
    answers: list[bool | float] = load(declared)([event] * len(given[0]), *given)
    return answers


def test_distances_are_values() -> None:
    rows, _ = told('SELECT ?p ?m { ?p a :Place . (?p "Statue of Liberty") op:distance ?m FILTER(?m < 10000) }')
    assert [(row["p"][-2:], round(float(row["m"]))) for row in rows] == [("p2", 0), ("p1", 8240), ("p3", 9122)]


def test_a_bad_geometry_is_that_pairs_trouble_only() -> None:
    turtle = PREFIXES + ':p0 a :Place ; geo:asWKT "POINT("^^geo:wktLiteral .'
    with Engine() as engine:
        engine.subscribe('PREFIX : <https://example.org/> ASK { ?p a :Place ; op:within "The Bronx" }', id="asks")
        engine.subscribe("PREFIX : <https://example.org/> ASK { ?p a :Place }", id="does not")
        receipt = engine.publish(turtle, "text/turtle")
        assert [match.subscription for match in receipt.matches] == ["does not"]
        (undecided,) = receipt.undecided
        assert 'operator <urn:triplecast:op:within>(<https://example.org/p0>, "The Bronx") version 1 cannot' in str(
            undecided.reason
        )
        assert "POINT( cannot be read as a geometry" in str(undecided.reason)


def test_a_name_that_is_no_operator_is_refused_as_a_function_and_as_a_predicate() -> None:
    with Engine() as engine:
        for query in ('ASK { ?p op:withing "The Bronx" }', 'ASK { ?p ?q ?w FILTER(op:withing(?w, "The Bronx")) }'):
            with pytest.raises(QueryRefused, match="was <urn:triplecast:op:within> meant"):
                engine.subscribe(query)
        with pytest.raises(QueryRefused, match=r"op:nothing_like_it> is refused: no operator .* it has colour"):
            engine.subscribe("ASK { ?p op:nothing_like_it ?w }")
        with pytest.raises(QuerySyntaxError, match="takes 2 arguments"):
            engine.subscribe("ASK { ?p ?q ?w FILTER(op:within(?w)) }")


@pytest.fixture
def wares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOX_SHOP_FOLDER", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    made = sqlite3.connect(tmp_path / "wares.db")
    made.executescript("CREATE TABLE wares (sku TEXT, price REAL); INSERT INTO wares VALUES ('a', 1.5), ('b', 20)")
    made.close()
    return tmp_path / "wares.db"


def test_operators_of_ones_own(wares: Path) -> None:
    turtle = (
        PREFIXES
        + """@prefix shop: <https://example.org/shop#> . :x :sku "a" ; shop:part :y . :y :sku "b" ; shop:part :z .
      :z :sku "c" ; w:lat 3.5 ; w:long 3.5 . :x w:lat 2 ; w:long 2 ."""
    )
    assert told("SELECT ?x ?c { ?x :sku ?s . ?s shop:price ?c FILTER(?c > 1) }", turtle)[0] == [
        {"c": "1.5", "x": "https://example.org/x"},
        {"c": "20", "x": "https://example.org/y"},
    ]
    assert told("SELECT ?t { :z :sku ?s . :z shop:whole ?t }", turtle)[0] == [
        {"t": "https://example.org/x"},
        {"t": "https://example.org/y"},
    ]
    assert told('SELECT ?x { ?x :sku ?s . ?x shop:in "North" }', turtle)[0] == [{"x": "https://example.org/z"}]
    assert len(told("SELECT ?p ?o { :y :sku ?s . :y shop:entails (?p ?o) }", turtle)[0]) == 2


def test_a_database_that_is_gone_leaves_its_pairs_undecided(wares: Path) -> None:
    wares.unlink()
    rows, undecided = told("SELECT ?x ?c { ?x :sku ?s . ?s shop:price ?c }", PREFIXES + ':x :sku "a" .')
    assert rows == []
    assert len(undecided) == 1
    assert "unable to open database file; see that it is there" in undecided[0]


def test_where_an_item_of_a_feed_is() -> None:
    feed = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
      xmlns:georss="http://www.georss.org/georss" xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#">
      <channel rdf:about="urn:feed"><title>Quakes</title><link>https://example.org/</link><description>d</description>
        <items><rdf:Seq><rdf:li rdf:resource="urn:1"/><rdf:li rdf:resource="urn:2"/></rdf:Seq></items>
      </channel>
      <item rdf:about="urn:1"><title>1</title><georss:point>40.85 -73.88</georss:point></item>
      <item rdf:about="urn:2"><title>2</title><geo:lat>40.85</geo:lat><geo:long>-73.88</geo:long></item>
      <item rdf:about="urn:3"><title>3</title></item>
    </rdf:RDF>"""
    with Engine() as engine:
        engine.subscribe('SELECT ?title { ?item a rss:item ; rss:title ?title ; op:within "The Bronx" }', id="q")
        receipt = engine.publish(feed, "application/rss+xml", graph="urn:feed")
        assert not receipt.undecided
        assert sorted(row["title"].value for match in receipt.matches for row in match.bindings or ()) == ["1", "2"]


@pytest.mark.parametrize("kind", ["rss", "atom"])
def test_where_an_item_of_rss_2_and_atom_is(kind: str) -> None:
    places = (
        "<georss:point>40.85 -73.88</georss:point>",
        "<geo:lat>40.85</geo:lat><geo:long>-73.88</geo:long>",
        "<georss:where><gml:Point><gml:pos>40.85 -73.88</gml:pos></gml:Point></georss:where>",
        "<georss:box>40.845 -73.885 40.855 -73.88</georss:box>",
        "<georss:point>40.75 -73.98</georss:point>",
        "",
    )
    names = (
        'xmlns:georss="http://www.georss.org/georss" xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#" '
        'xmlns:gml="http://www.opengis.net/gml"'
    )
    entry, id_ = ("item", "guid") if kind == "rss" else ("entry", "id")
    listed = "".join(
        f"<{entry}><{id_}>urn:{number}</{id_}><title>{number}</title>{place}</{entry}>"
        for number, place in enumerate(places)
    )
    feed = (
        f'<rss version="2.0" {names}><channel>{listed}</channel></rss>'
        if kind == "rss"
        else f'<feed xmlns="http://www.w3.org/2005/Atom" {names}>{listed}</feed>'
    )
    with Engine() as engine:
        engine.subscribe('SELECT ?title { ?item a rss:item ; rss:title ?title ; op:within "The Bronx" }', id="q")
        receipt = engine.publish(feed, f"application/{kind}+xml", graph="urn:feed")
        assert not receipt.undecided
        told = [row["title"].value for match in receipt.matches for row in match.bindings or ()]
        assert sorted(told) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ('op:within(?w, "Bronx")', "no region is called 'Bronx'"),
        ('op:distance(?w, "12") > 3', "no region is called '12'"),
        ("op:within(?w, 12)", "is no place; give a thing"),
        ('geof:sfWithin(?w, "POLYGON((0 0, 1 0, 1 1, 0 2))"^^geo:wktLiteral)', "do not form a closed linestring"),
        ('geof:sfEquals("POINT(1 1)", ?w)', "is no geometry; give a geo:wktLiteral"),
        ('geof:distance(?w, ?w, "foot") > 3', "is no unit of length that is known; use one of"),
        ('op:objectsOfColour(?w, "oragne") > 3', "'oragne' is no colour; write it as CSS does"),
    ],
)
def test_constants_that_can_never_be_answered_are_refused(condition: str, told: str) -> None:
    with Engine() as engine, pytest.raises(QueryRefused) as caught:
        engine.subscribe(f"# what is wrong stands below\nASK {{ ?p geo:asWKT ?w FILTER({condition}) }}")
    assert told in str(caught.value)
    assert caught.value.line == 2


def test_constants_that_may_be_answered_are_taken() -> None:
    with Engine() as engine:
        for condition in ('op:within(?w, "The Bronx")', "op:within(?w, <urn:a>)", 'op:objectsOfColour(?w, "#fff") > 3'):
            engine.subscribe(f"ASK {{ ?p ?q ?w FILTER({condition}) }}")
