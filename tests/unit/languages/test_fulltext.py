"""Full text in SPARQL: functions, ftcontains, and other stores' searches."""

from __future__ import annotations

import pytest

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template
from triplecast.languages.template import TemplateCache
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

PREFIXES = "PREFIX text: <http://jena.apache.org/text#> PREFIX bds: <http://www.bigdata.com/rdf/search#> "
STARDOG = "<tag:stardog:api:property:textMatch>"


def _asked(pattern: str) -> str:
    return f"{PREFIXES}SELECT ?s {{ ?s dc:title ?t . {pattern} }}"


@pytest.mark.parametrize(
    ("pattern", "selection"),
    [
        ('FILTER ftcontains(?t, "olympic" ftAND "games")', '"olympic" ftand "games"'),
        ('FILTER ftcontains(?t, "a" ftOR ftNOT ("b" ftNEAR[0,2] "c d"))', '"a" ftor ftnot ("b" ftnear[0,2] "c d")'),
        ("?t bif:contains \"'olympic games' AND rio\"", '"olympic games" ftand "rio"'),
        ('FILTER(bif:contains(?t, "rio"))', '"rio"'),
        (f'?t {STARDOG} "mac -book"', '"mac" ftand ftnot "book"'),
        ('?t bds:search "dog cat"', '"dog" ftor "cat"'),
        ('?t bds:search "dog cat" ; bds:matchAllTerms "true"', '"dog" ftand "cat"'),
        ('?t bds:search "dog cat" ; bds:matchExact "true"', '"dog cat"'),
    ],
)
def test_foreign_forms_are_translated_and_shown(pattern: str, selection: str) -> None:
    text = _asked(pattern)
    wanted = parse_query(_asked(f"FILTER(ft:contains(?t, '{selection}'))"))
    assert parse_query(text) == wanted
    for _ in range(2):
        template, constants = parse_template(text)
        assert fill(template.query, constants) == wanted
    (note,) = (warning for warning in admit(Subscription("s", text)).warnings if "is read as" in warning)
    assert note.endswith(f"ft:contains(?t, '{selection}')")


def test_jena_names_a_property() -> None:
    query = parse_query(PREFIXES + 'SELECT ?s { ?s text:query (dc:title "rail AND road") }')
    assert "http://purl.org/dc/elements/1.1/title" in repr(query)
    assert '"rail" ftand "road"' in repr(query)


def test_a_filter_on_a_search_holds_for_its_group() -> None:
    """As FILTER does, wherever it stands in the group."""
    before = parse_query('SELECT ?s { ?t bif:contains "a" . ?s dc:title ?t }')
    assert before == parse_query('SELECT ?s { ?s dc:title ?t . ?t bif:contains "a" }')


@pytest.mark.parametrize(
    ("pattern", "column", "construct"),
    [
        ("FILTER(ft:contains(?t, ?u))", 7, "ft:contains with a text that is no constant string"),
        ("FILTER(ft:contains(?t, \"'a'\"@en))", 7, "ft:contains with a text that is no constant string"),
        ('FILTER(ft:contains(?t, \'("a" ftand ftnot "b") ordered\'))', 35, "ftnot under distance, window or ordered"),
        ('?s text:query "rail"', 3, "text:query without a property"),
        ('?s text:query (dc:title "rail" 10)', 3, "text:query with other arguments than a property and a query"),
        (f'(?t ?x) {STARDOG} "mac"', 8, f"{STARDOG} on something other than a variable"),
        (f'?t {STARDOG} ("mac" 0.5)', 3, f"{STARDOG} with a list"),
        (f'?t {STARDOG} "title:mac"', 41, "a field of a Lucene query"),
        ('?t bds:search "a" ; bds:rank ?r', 20, "bds:rank"),
        ('?t bds:matchAllTerms "true"', 3, "bds:matchAllTerms without bds:search"),
        ('?t bif:contains "a NEAR b"', 19, "NEAR of bif:contains"),
        ("?s (dc:title/bif:contains) ?t", 13, "bif:contains in a path"),
        ('?t bif:xcontains "a"', 3, "bif:xcontains"),
        ("?s ^bif:contains ?t", 4, "bif:contains in a path"),
        ("FILTER(ft:near(?t, 'a'))", 7, "function <urn:triplecast:ft:near>"),
        (f"?t bif:contains '{' AND '.join(['a'] * 201)}'", 16, "a selection of more words"),
    ],
)
def test_refused_by_name_and_place(pattern: str, column: int, construct: str) -> None:
    text = _asked(pattern)
    with pytest.raises(QueryRefused) as refused:
        parse_template(text)
    assert refused.value.construct == construct
    assert refused.value.column == text.index(pattern) + 1 + column


@pytest.mark.parametrize(
    ("call", "place", "said"),
    [
        ("ft:contains(?t, '\"a\" ftand')", 26, "ends too early"),
        ("ft:contains(?t, '''\"a\" ftand b''')", 29, "the word b is not in quotes"),
        (r"ft:contains(?t, '\"a\" ftand b')", 29, "the word b is not in quotes"),
        ("ft:score(?t, '…') > 0", 14, "no word in these terms"),
        ("ft:contains(?t)", 0, "got 1 arguments"),
        ('ftcontains(?t, "…")', 15, "no word in this string"),
        ("ftcontains(?t, ftAND)", 15, "unexpected ftAND"),
    ],
)
def test_syntax_faults_point_into_the_text(call: str, place: int, said: str) -> None:
    text = _asked(f"FILTER({call})")
    for cache in (TemplateCache(), _knowing(_asked("FILTER(ft:contains(?t, '\"a\"'))"))):
        with pytest.raises(QuerySyntaxError) as fault:
            cache.read(text)
        assert said in fault.value.message
        assert fault.value.column == text.index(call) + 1 + place


def _knowing(text: str) -> TemplateCache:
    cache = TemplateCache()
    cache.read(text)
    return cache


def test_selections_share_a_template() -> None:
    asked = [
        _asked(f"FILTER(ft:contains(?t, '{selection}'))") for selection in ('"a"', '"a" ftor "b"', '"c d" ordered')
    ]
    assert len({parse_template(text)[0].key for text in asked}) == 1
