"""Warnings of what a query says and its writer hardly meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.errors import QuerySyntaxError
from triplecast.languages import parse_template
from triplecast.model.subscription import Subscription
from triplecast.query_warnings import WARNINGS_LIMIT, find_warnings
from triplecast.registry.admission import admit

SAMPLES = Path(__file__).resolve().parents[2] / "examples" / "subscriptions"


def warnings_of(text: str) -> tuple[str, ...]:
    return find_warnings(*parse_template(f"PREFIX : <urn:x:> {text}"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT ?titel { ?x :p ?title }", "?titel in SELECT is bound by nothing, so it never has a value; was ?title"),
        ("SELECT ?x { ?x :p ?y FILTER(?z > 3) }", "?z in FILTER is bound by nothing"),
        ("SELECT ?x { ?x :p ?y } ORDER BY ?w", "?w in ORDER BY is bound by nothing"),
        ("SELECT ?x (SUM(?w) AS ?n) { ?x :p ?y } GROUP BY ?x", "?w in an aggregate is bound by nothing"),
        ("SELECT ?x { ?x :p ?y FILTER(?y > 'abc'^^xsd:integer) }", "is never true: by its form, bounds or digits"),
        (
            "SELECT ?x { ?x :p ?y FILTER(?y = '2026-02-30'^^xsd:date) }",
            "compares the literal itself, not a value: by its form",
        ),
        ("SELECT ?x { ?x :p ?y FILTER(?y < :b) }", "?y < <urn:x:b> is never true: only numbers"),
        ("SELECT ?x { ?x :p ?y FILTER('a'@en <= ?y) }", '?y >= "a"@en is never true: only numbers'),
        ("SELECT ?x { ?x :p ?y FILTER(?x = 'http://a') }", '?x = "http://a" is never true: ?x is a subject or pred'),
        ("SELECT ?x { ?x :p ?y FILTER(?x IN (:a, 'b')) }", '?x = "b" is never true'),
        ("SELECT ?x { ?x :p ?y FILTER(STR(?y) = 5) }", "is never true: STR gives a string"),
        ("SELECT ?x { ?x :p ?y FILTER(STRLEN(?y) > '5') }", "is never true: STRLEN gives a number"),
        ("SELECT ?x { ?x :p ?y FILTER(DATATYPE(?y) = 'xsd:int') }", "is never true: DATATYPE gives an IRI"),
        ("SELECT ?x { ?x :p ?y FILTER(?y > '10') }", '?y > "10" compares text'),
        ("SELECT ?x { ?x :p ?y FILTER(?y > '2013-01-01') }", 'satisfy it; write "2013-01-01T00:00:00Z"^^xsd:dateTime'),
        ("ASK { ?x <http://schema.org/name> ?y }", "<http://schema.org/name> is not in schema: <https://schema.org/>"),
        ("ASK { ?x dc:issued ?y }", "the 15 elements of dc: have no 'issued'; dcterms:issued is another name"),
        ("ASK { ?x dc:tilte ?y }", "the 15 elements of dc: have no 'tilte'; was dc:title meant?"),
        ("ASK { ?x dc:modifed ?y }", "the 15 elements of dc: have no 'modifed'; was dcterms:modified meant?"),
        ("ASK { ?x :p/rss:titel ?y }", "rss: has no 'titel'; was rss:title meant?"),
        ("ASK { ?x a rss:Item }", "rss: has no 'Item'; was rss:item meant?"),
        ("ASK { ?x :p 'a'^^xsd:datetime }", "xsd: has no 'datetime'; was xsd:dateTime meant?"),
        ("ASK { ?x :p ?y FILTER(?y > '2026-01-01T00:00:00Z'^^xsd:datetime) }", "was xsd:dateTime meant?"),
        ("ASK { ?x :p ?y FILTER(DATATYPE(?y) = xsd:Integer) }", "was xsd:integer meant?"),
        ("ASK { ?x dc:date ?y FILTER('2026-11-01'^^xsd:date < ?y) }", 'write "2026-11-01T00:00:00Z"^^xsd:dateTime'),
        ("ASK { ?x :p ?y FILTER(?y > 2026-11-01) }", "2026-11-01 is the number 2014; a date is written"),
        ("ASK { ?x :p ?y FILTER(?y > NOW() - 'P7D'^^xsd:duration) }", "NOW() - … have no value"),
        ("ASK { ?x :p ?y FILTER(?y + 'P1D'^^xsd:dayTimeDuration > 1) }", "has no value"),
        (
            """ASK { ?x :p ?y FILTER(ft:contains(?y, '"rail" ftor "counc*" using wildcards')) }""",
            "* in the pattern counc* means itself, which no word contains; any characters are .*",
        ),
        ("""ASK { ?x :p ?y FILTER(ft:contains(?y, '"a.*?" using wildcards')) }""", "? in the pattern a.*? means"),
        ("ASK { 'a' :p ?y }", '"a" as a subject matches nothing'),
        ("ASK { ?x a 'http://example.org/C' }", 'a "http://example.org/C" asks for a string'),
        (
            "ASK { ?x :p ?y FILTER(LCASE(?y) = 'Rail') }",
            """LCASE(…) gives lower case and so never "Rail"; write 'rail'""",
        ),
        ("ASK { ?x :p ?y FILTER('rail'@en = UCASE(?y)) }", "UCASE(…) gives upper case"),
        ("ASK { ?x :p ?y FILTER(CONTAINS(LCASE(STR(?y)), 'Rail')) }", "LCASE(…) gives lower case"),
        ("ASK { ?x <http://purl.org/dc/termstitle> ?y }", "is not in dcterms: <http://purl.org/dc/terms/>"),
        ("ASK { ?x <http://www.w3.org/ns/dcat/byteSize> ?y }", "is not in dcat: <http://www.w3.org/ns/dcat#>"),
        ("ASK { ?x <http://www.w3.org/1999/02/22-rdf-syntax-n#type> ?y }", "is not in rdf: "),
        ("ASK { ?x :p ?y FILTER(1 = 2) }", "is never true, whatever is published"),
        ("ASK { ?x :p ?y FILTER(?y > 1 && 'a' < 5) }", '"a" < "5"^^'),
        ("ASK { ?x :p ?t FILTER(?t = 'a' && ?t = 'b') }", '?t = "a" && ?t = "b" is never true: nothing equals both'),
        ("ASK { ?x :p ?t OPTIONAL { ?t :q ?u FILTER(:a = ?u && ?u = :b) } }", "is never true: nothing equals both"),
        ("""ASK { ?s :p ?t FILTER(ft:contains(?s, '"rail"')) }""", "?s is a subject or predicate, so no text"),
        ("ASK { ?x a <https://xmlns.com/foaf/0.1/Person> }", "is not in foaf: <http://xmlns.com/foaf/0.1/>"),
    ],
)
def test_what_is_said(text: str, said: str) -> None:
    (doubt,) = warnings_of(text)
    assert said in doubt


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x ?y { ?x :p ?y FILTER(?y > 3 && ?y != 'a'@en && ?x != 'a') }",
        # a variable may be bound in another part, by BIND, VALUES, GRAPH, an aggregate or inside EXISTS
        "SELECT * { ?x :p 1 OPTIONAL { ?x :q ?y } FILTER(?y > 1) BIND(1 AS ?z) FILTER(?z = 1) }",
        "SELECT ?g { GRAPH ?g { ?x :p 1 } VALUES ?v { 1 } FILTER(?v = 1) }",
        "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING(COUNT(*) > 1) ORDER BY ?n",
        "ASK { ?x :p 1 FILTER EXISTS { ?x :q ?y FILTER(?y > 1) } }",
        # a subject in one alternative, or only in OPTIONAL, may be a literal
        "SELECT ?x { { ?x :p 1 } UNION { :a :q ?x } FILTER(?x = 'b') }",
        "SELECT ?x { :a :q ?x OPTIONAL { ?x :p 1 } FILTER(?x = 'b') }",
        # a datatype that nobody knows has literals that equal themselves
        "SELECT ?x { ?x :p ?y FILTER(?y = 'POINT(1 1)'^^geo:wktLiteral || ?y = 'a'^^xsd:anyURI) }",
        "SELECT ?x { ?x :p ?y FILTER(?y = '10' || ?y > 'm') }",
        "ASK { 'a' ^:p ?y ; :q* ?z }",
        "ASK { ?x :p ?y FILTER(1 = 1.0 && 1 < 2 && ?y = 1 && ?y = 1.0 && ?y = 1e0 && (?y = 2 || ?y = 3)) }",
        "ASK { ?x :p ?y FILTER(?y = 0.1 && ?y = '0.1'^^xsd:float && ?x = :a && ?y != 'b') }",
        """ASK { { ?s :p ?t } UNION { :a :q ?s } FILTER(ft:contains(?s, '"rail"')) }""",
        "ASK { ?x :p ?y FILTER(LCASE(?y) = 'straße' && LCASE(?y) != 'Rail' && CONTAINS(UCASE(?y), '10 %')) }",
        "ASK { ?x dcterms:issued ?y ; dc:date ?z FILTER(?y > '2026-11-01'^^xsd:date && ?z = '2026-11-01'^^xsd:date) }",
        "ASK { ?x :p ?y FILTER(?y > 2026-13-01 || ?y > 2026-1-1 || ?y + 1 > 99999999999999999999 - 1.5e0) }",
        "ASK { ?x skos:broadMatch ?y ; rss:pubDate ?z ; rdf:_1 ?w ; foaf:Person ?v }",
        "ASK { ?x dc:title ?y ; dcterms:issued ?z ; schema:name ?n ; a rss:item, :Item, <http://example.org/a> }",
        "ASK { ?x <http://www.w3.org/ns/dcat> ?y ; <http://purl.org/dc/dcmitype/Text> 1 }",
    ],
)
def test_nothing_is_said_of_what_may_be_meant(text: str) -> None:
    assert warnings_of(text) == ()


def test_no_sample_subscription_is_doubted() -> None:
    samples = sorted(SAMPLES.rglob("*.rq"))
    assert len(samples) > 20
    assert {path.name: warnings_of(path.read_text()) for path in samples} == {path.name: () for path in samples}


def test_doubts_follow_the_constants_of_one_template() -> None:
    assert warnings_of("ASK { ?x :p ?y FILTER(?y < '10') }") != ()
    assert warnings_of("ASK { ?x :p ?y FILTER(?y < 'ten') }") == ()


def test_a_subscription_is_told_its_doubts_and_not_too_many() -> None:
    found = admit(Subscription("a", "SELECT ?titel { ?x dc:title ?title }"))
    assert found.warnings[-1].endswith("was ?title meant?")
    many = " ".join(f"?{letter}" for letter in "abcdefghijkl")
    assert len(warnings_of(f"SELECT {many} {{ ?x :p :o }}")) == WARNINGS_LIMIT


@pytest.mark.parametrize(
    ("prefix", "hint"),
    [
        ("terms", "write dcterms: or add PREFIX terms: <http://purl.org/dc/terms/>"),
        ("scheam", "write schema: or add PREFIX scheam: <…>"),
        ("media", "declared; add PREFIX media: <http://search.yahoo.com/mrss/>"),
        ("zzz", "declared; add PREFIX zzz: <…>"),
    ],
)
def test_an_undeclared_prefix_suggests_what_was_meant(prefix: str, hint: str) -> None:
    with pytest.raises(QuerySyntaxError, match="is not declared") as fault:
        parse_template(f"ASK {{ ?x {prefix}:title ?y }}")
    assert fault.value.message.endswith(hint)


@pytest.mark.parametrize("literal", ['"200"^^xsd:byte', '"maybe"^^xsd:boolean', "0.1234567890123456789"])
def test_a_literal_without_a_value_still_equals_itself(literal: str) -> None:
    """What a warning states is true: the query matches the identical term, and an order of it nothing."""
    with Engine() as engine:
        same = engine.subscribe(
            f"PREFIX : <https://example.org/> SELECT ?x {{ ?x :p ?n FILTER(?n = {literal}) }}", id="same"
        )
        less = engine.subscribe(
            f"PREFIX : <https://example.org/> SELECT ?x {{ ?x :p ?n FILTER(?n <= {literal}) }}", id="less"
        )
        assert "compares the literal itself" in " ".join(same.warnings)
        assert "is never true" in " ".join(less.warnings)
        data = f"PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> <urn:a> <https://example.org/p> {literal} ."
        assert [match.subscription for match in engine.publish(data, "text/turtle").matches] == ["same"]
