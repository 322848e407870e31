"""Templates: filling gives the query back, keys hold what plans depend on, the fast path agrees with the slow one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template
from triplecast.languages.template import TemplateCache
from triplecast.languages.tokens import FUNCTIONS, TOKEN, find_tokens
from triplecast.model.algebra import Slot
from triplecast.terms.values import ValueClass

DOCUMENT = "PREFIX : <urn:e:> SELECT ?s {{ ?s a :{0} ; :price ?v ; :name {1} FILTER(?v > {2}) }}"


def key(text: str) -> str:
    return TemplateCache().read(text)[0].key


def test_constants_are_lifted_and_filled_back() -> None:
    text = DOCUMENT.format("Book", "'x'@en", "1.5")
    template, constants = parse_template(text)
    assert template.slots == len(template.kinds) == len(constants) == 6
    assert sorted(constants) == sorted(
        [
            "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
            "<urn:e:Book>",
            "<urn:e:price>",
            "<urn:e:name>",
            '"x"@en',
            '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
        ]
    )
    assert fill(template.query, constants) == parse_query(text)


def test_one_template_whatever_the_constants_of_one_kind() -> None:
    cache = TemplateCache()
    first, one = cache.read(DOCUMENT.format("Book", "'x'@en", "1"))
    second, two = cache.read(DOCUMENT.format("Disc", "'y'@de", "234"))
    assert first is second
    assert [(a, b) for a, b in zip(one, two, strict=True) if a != b] == [
        ('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"234"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ("<urn:e:Book>", "<urn:e:Disc>"),
        ('"x"@en', '"y"@de'),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s{?s a <urn:e:Book>;<urn:e:price> ?v;<urn:e:name> 'x'@en FILTER(?v>1)}",
        'prefix e: <urn:e:>\nselect ?s where { ?s rdf:type e:Book ; e:price ?v . # note\n $s e:name "x"@EN '
        "filter(?v > 1) }",
        "PREFIX p: <urn:e:pri> SELECT ?s { ?s a <urn:x> ; p:ce ?v . FILTER(?v > 01) ?s p:x 'y'@fr }",
    ],
)
def test_layout_prefixes_and_letter_case_do_not_make_another_template(text: str) -> None:
    assert key(text) == key(DOCUMENT.format("Book", "'x'@en", "1"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DOCUMENT.format("A", "'x'@en", "1"), DOCUMENT.format("A", "'x'", "1")),
        (DOCUMENT.format("A", "'x'", "1"), DOCUMENT.format("A", "<urn:x>", "1")),
        (DOCUMENT.format("A", "'x'", "1"), DOCUMENT.format("A", "'x'", "1.0")),
        (DOCUMENT.format("A", "'x'", "1"), DOCUMENT.format("A", "'x'", "'1'^^xsd:byte")),
        (DOCUMENT.format("A", "'x'", "'1'^^xsd:byte"), DOCUMENT.format("A", "'x'", "'200'^^xsd:byte")),
        (DOCUMENT.format("A", "'x'", "1"), DOCUMENT.format("A", "'x'", "1234567890123456789")),
        ("ASK { ?s ?p ?o } LIMIT 1", "ASK { ?s ?p ?o } LIMIT 2"),
        ("ASK { ?s ?p ?o } OFFSET 1", "ASK { ?s ?p ?o } LIMIT 1"),
        ("ASK { ?s ?p ?o FILTER REGEX(?o, 'a') }", "ASK { ?s ?p ?o FILTER REGEX(?o, 'b') }"),
        ("ASK { ?s ?p ?o FILTER REGEX(?o, 'a', 'i') }", "ASK { ?s ?p ?o FILTER REGEX(?o, 'a', 's') }"),
        ("ASK { FILTER xsd:integer(?o) }", "ASK { FILTER xsd:double(?o) }"),
        (
            "ASK { FILTER xsd:integer(1) }",
            "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#d> ASK { FILTER xsd:ouble(1) }",
        ),
        (
            "SELECT (GROUP_CONCAT(?o; SEPARATOR='a') AS ?x) { ?s ?p ?o }",
            "SELECT (GROUP_CONCAT(?o; SEPARATOR='b') AS ?x) { ?s ?p ?o }",
        ),
        ("ASK { GRAPH <urn:a> { } GRAPH <urn:a> { } }", "ASK { GRAPH <urn:a> { } GRAPH <urn:b> { } }"),
        ("ASK { ?s ?p ?o }", "ASK { ?s ?p ?x }"),
        ("ASK { _:a ?p ?o }", "ASK { _:a ?p _:a }"),
        ("SELECT ?s { ?s ?p ?o }", "SELECT DISTINCT ?s { ?s ?p ?o }"),
    ],
)
def test_what_a_plan_depends_on_makes_another_template(one: str, other: str) -> None:
    cache = TemplateCache()
    seen = []
    for text in (one, other, one):
        template, constants = cache.read(text)
        assert fill(template.query, constants) == parse_query(text)
        seen.append(template.key)
    assert seen[0] == seen[2] != seen[1]


def test_kinds_say_class_datatype_and_whether_the_number_is_exact() -> None:
    template, constants = parse_template("ASK { <urn:s> ?p 1234567890123456789, 'a', 'a'@en, '1'^^<urn:t> }")
    kinds = dict(zip(constants, template.kinds, strict=True))
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    found = {text[:5]: (kind.datatype, kind.value_class, kind.exact) for text, kind in kinds.items()}
    assert found == {
        "<urn:": (None, ValueClass.IRI, True),
        '"1"^^': ("urn:t", ValueClass.ILL, True),
        '"1234': (integer, ValueClass.EXACT, False),
        '"a"': ("http://www.w3.org/2001/XMLSchema#string", ValueClass.STRING, True),
        '"a"@e': (None, ValueClass.LANG, True),
    }


def test_comparisons_with_lang_are_lower_case_on_the_fast_path_too() -> None:
    cache = TemplateCache()
    for tag in ("EN", "De-CH", "\\u0046R"):
        text = f"ASK {{ ?s ?p ?o, 'EN' FILTER(LANG(?o) = '{tag}' || ?o = '{tag}') }}"
        template, constants = cache.read(text)
        assert fill(template.query, constants) == parse_query(text)
    assert len(cache._entries) == 1


def test_a_known_shape_does_not_let_a_bad_constant_through() -> None:
    cache = TemplateCache()
    good = "ASK { ?s <urn:p> 'a'@en . FILTER(?s < 1) } LIMIT 1"
    cache.read(good)
    for bad in (
        good.replace("<urn:p>", "<p>"),
        good.replace("<urn:p>", "no:p"),
        good.replace("<urn:p>", "<urn:%zz>"),
        good.replace("@en", "@abcdefghijkl"),
        good.replace("'a'@en", "'a\\q'"),
        good.replace("LIMIT 1", "LIMIT 1.5"),
        good.replace("LIMIT 1", "LIMIT +1"),
        good.replace("LIMIT 1", "§ LIMIT 1"),
        good.replace("ASK", "PREFIX a: <b> ASK"),
    ):
        with pytest.raises(QuerySyntaxError) as fast:
            cache.read(bad, "name")
        with pytest.raises(QuerySyntaxError) as slow:
            parse_query(bad, name="name")
        assert str(fast.value) == str(slow.value)


def test_full_tables_are_emptied_and_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("_ENTRIES", "_WORDS", "_PROLOGUES"):
        monkeypatch.setattr(f"triplecast.languages.template.{bound}", 2)
    cache = TemplateCache()
    texts = [
        f"PREFIX p{n % 5}: <urn:{n % 5}:> ASK {{ ?s{n % 7} p{n % 5}:x {n}, 'a{n}' }} LIMIT {n % 3}" for n in range(60)
    ]
    for text in texts + texts:
        template, constants = cache.read(text)
        assert fill(template.query, constants) == parse_query(text)
    assert len(cache._entries) <= 2
    assert len(cache._templates) <= 2


def test_every_slot_of_a_template_is_used_once_in_order() -> None:
    template, _ = parse_template(DOCUMENT.format("A", "'x'", "1"))
    text = repr(template.query)
    assert [text.count(repr(Slot(number))) for number in range(template.slots)] == [1] * template.slots


def test_random_constants_fill_back_through_one_cache(seed: int) -> None:
    """Shapes met before with other constants: what `TemplateCache` lifts is what a whole parse finds."""
    chance = random.Random(seed)
    constants = [
        "<urn:e:a>", ":a", "dc:title", "'x'", "'x'@EN", '"1"^^xsd:integer', "1", "-1", "+2.50", "1e3", "true", "'a\\n'",
        "'''b'''", "_:n", "[]", "()", "(1 2)", "?x", "'200'^^xsd:byte", "12345678901234567890", ".5", "'\\u00e9'",
    ]  # fmt: skip
    numbers = ["1", "-1", "'a'", "<urn:x>", "true"]
    shapes = [
        "PREFIX : <urn:e:> SELECT * {{ ?s :p {0} ; :q {1} , {2} }}",
        "PREFIX : <urn:f:> ASK {{ {0} :p {1} . ?s :q {2} FILTER(?s = {3}) }}",
        "PREFIX : <urn:e:> CONSTRUCT {{ ?s :p {0} }} WHERE {{ ?s :q {1} . ?s :r {2} }} # {0}",
        "# about {0}\nPREFIX : <urn:e:> SELECT ?s {{ VALUES ?v {{ 1 2 }} ?s :p {0}, {1}, {2} FILTER(?v < 3) }} LIMIT 3",
    ]
    cache = TemplateCache()
    for _ in range(600):
        text = chance.choice(shapes).format(*chance.choices(constants, k=3), chance.choice(numbers))
        template, lifted = cache.read(text)
        assert fill(template.query, lifted) == parse_query(text), text
        assert template == TemplateCache().read(text)[0], text


def test_chunks_give_what_tokens_give(seed: int) -> None:
    """Whatever was read before: the quickest path answers as the one over tokens does, or leaves the text to it."""
    chance = random.Random(seed)
    heads = [
        "", "PREFIX : <urn:e:>\n", "PREFIX : <urn:f:> ", "prefix p: <urn:p/> PREFIX : <urn:e:>", "BASE <urn:b/> ",
        "PREFIX : <urn:e:> # {\n", "PREFIX : <urn:e:> #", "PREFIXa: <urn:a> ", "PREFIX p: <urn:p/> ", "\n\n", "é",
    ]  # fmt: skip
    forms = ["SELECT * {", "select ?s where {", "ASK{", "SELECT*{", "PREFIX", "CONSTRUCT { ?s :p 1 } {", "ASK # {\n {"]
    constants = [
        "<urn:a>",
        ":a",
        ":b-1",
        "p:c",
        "1",
        "-2",
        "2.5",
        "1e3",
        "true",
        "<r>",
        "?x",
        "'q'",
        "zz:a",
        "a",
        "\\u0061",
    ]
    bodies = ["?s :p {0} .", "?s {0} {1} ;{2} {0} .", "GRAPH {0} { ?s ?p {1} }", "VALUES ?s { {0} {1} }", "?s a {0}"]
    tails = ["}", " }", "FILTER(?x > {2})}", "FILTER ( ?x > {2} ) } LIMIT {2}", "} LIMIT 1", "} #", ""]
    cache, quick = TemplateCache(), 0

    def told(read: Callable[[str], object]) -> object:
        try:
            return read(text)
        except (ValueError, QuerySyntaxError, QueryRefused) as error:
            return str(error)

    usual = [(heads[chance.randrange(1, 5)], forms[chance.randrange(4)], chance.choice(bodies), "}") for _ in range(6)]
    for _ in range(1_500):
        parts = chance.choice(usual) if chance.random() < 0.7 else map(chance.choice, (heads, forms, bodies, tails))
        text = " ".join(parts) if chance.random() < 0.8 else "".join(parts)
        for number in range(3):
            text = text.replace(f"{{{number}}}", chance.choice(constants))
        quick += cache._chunked.read(text) is not None
        assert told(cache.read) == told(TemplateCache().read), repr(text)
    assert quick > 20, f"seed {seed}"


def test_tokens_between_spaces_are_those_of_the_whole(seed: int) -> None:
    """`find_tokens` may cut at white space only where no token goes on behind it."""
    source = random.Random(seed)
    pieces = [
        "(",
        ")",
        "( )",
        "[",
        "]",
        "[ ]",
        " ",
        "  ",
        "\n",
        "\t",
        "#x",
        "# c d\n",
        "<a>",
        "<a#b>",
        "<",
        " < ",
        "?x",
    ]
    pieces += [
        "b:c",
        "a:b-c",
        ".",
        ";",
        '"a b"',
        "'c'",
        "@en",
        "^^",
        "1.5",
        "-2",
        "&&",
        "||",
        "{",
        "}",
        "{|",
        "|}",
        ">>",
    ]
    pieces += ["FILTER", "\x1c", "\x0b", "\u00a0", "é", "_:b", "a", "*", "%", "\\"]
    for _ in range(3_000):
        text = "".join(source.choices(pieces, k=source.randint(0, 12)))
        start = source.randint(0, len(text))
        assert find_tokens(text, start) == TOKEN.findall(text[start:].rstrip()), repr(text)


def test_names_that_make_no_iri_are_told_whatever_was_read_before() -> None:
    """Names are joined unread only behind a namespace whose end takes any of them: this one ends in a port."""
    cache, text = TemplateCache(), "PREFIX p: <http://e:80> PREFIX q: <http://e/> ASK {{ ?s ?p {} }}"
    for name, iri in (
        ("p:1", "http://e:801"),
        ("q:x-1", "http://e/x-1"),
        ("q:é", "http://e/é"),
        ("p:2", "http://e:802"),
    ):
        assert cache.read(text.format(name))[1] == (f"<{iri}>",)
    with pytest.raises(QuerySyntaxError):
        cache.read(text.format("p:x"))


@pytest.mark.parametrize("function", [name for name, (fewest, _) in FUNCTIONS.items() if fewest])
@pytest.mark.parametrize("quote", ["", " FILTER(?o != 'a b')"])
def test_filter_needs_no_space_before_a_call(function: str, quote: str) -> None:
    """SPARQL 19.8 takes the longest token; with a quotation mark in the text, tokens are found another way."""
    call = f"{function.lower()}({', '.join(['?o'] * FUNCTIONS[function][0])})"
    near, apart = (f"ASK {{ ?s ?p ?o FILTER{space}{call}{quote} }}" for space in ("", " "))
    assert parse_query(near) == parse_query(apart)
    template, constants = parse_template(near)
    assert fill(template.query, constants) == parse_query(apart)


def test_a_name_that_begins_with_filter_is_a_name() -> None:
    text = "PREFIX FILTERstr: <urn:e:> ASK { ?s FILTERstr:a ?o }"
    assert parse_query(text) == parse_query(text.replace("FILTERstr:", "e:"))
