"""The rule language: how it is read, what is refused where, and how templates share."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template
from triplecast.languages.rule_binding import bind_rule, is_bound_by_outline, outline_of
from triplecast.languages.rule_given import as_written, given_of
from triplecast.model.subscription import Subscription
from triplecast.schema import NO_SCHEMA, RdfSchema, read_schema

PREFIX = "prefix : <http://x/>\n"
RDFS, XSD, MDV = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2001/XMLSchema#", "urn:triplecast:mdv:"


def schema(*rows: str) -> RdfSchema:
    words = {"domain": f"<{RDFS}domain>", "range": f"<{RDFS}range>", "sub": f"<{RDFS}subClassOf>",
             "set": f"<{MDV}setValued>", "true": f'"true"^^<{XSD}boolean>', "a": f"<{RDFS[:-19]}>"}  # fmt: skip
    names = (row.split() for row in rows)
    texts = (
        [words.get(n) or (f"<{XSD}{n[4:]}>" if n[:4] == "xsd:" else f"<http://x/{n}>") for n in row] for row in names
    )
    return read_schema(["".join(f"{' '.join(row)} .\n" for row in texts).encode()])


MACHINES = schema(
    "part domain Machine", "part range Part", "part set true", "host domain Machine", "host range xsd:string",
    "info range Info", "memory domain Info", "memory range xsd:integer", "size domain Part", "size range xsd:decimal",
    "since domain Machine", "since range xsd:date", "on domain Machine", "on range xsd:boolean",
    "Lathe sub Machine", "Info sub Thing", "Part sub Thing",
)  # fmt: skip


def bound(text: str, known: RdfSchema = MACHINES, name: str | None = None, **rules: Subscription) -> str:
    return bind_rule(PREFIX + text, name, known, rules.get)


def rule(text: str, known: RdfSchema = MACHINES, **rules: Subscription) -> Subscription:
    return Subscription("a", bound(text, known, **rules), "rule")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("search Machine m", "2:17", "the query ends too early"),
        ("search Machine m register x", "2:27", "x is not searched"),
        ("search Machine m register m where x.host = 1", "2:35", "x is not searched"),
        ("search Machine m, Info m register m", "2:19", "m is searched twice"),
        ("search Machine my-m register my-m", "2:16", "my-m is no name of a variable"),
        ("search Machine m register m where 1 = 2", "2:37", "two constants are compared"),
        ("search Machine m register m where m.host == 'a'", "2:42", "unexpected =="),
        ("search Machine m register m where m.host = 'a", "2:44", "string"),
        ("search Machine m register m where m.nope:p = 1", "2:37", "the prefix nope: is not declared"),
        ("search Machine m register m where m.host % 2", "2:42", "unexpected %"),
        ("search Machine m register m where (m.host = 'a'", "2:48", "the query ends too early"),
    ],
)
def test_a_syntax_error_has_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        bound(text)
    error = caught.value
    assert f"{error.line}:{error.column}" == place, error
    assert message in str(error)
    assert str(error).splitlines()[2].index("^") == error.column + 1


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("m.hots = 'a'", "no property <http://x/hots>; was <http://x/host> meant?"),
        ("m.memory = 1", "<http://x/Machine> has no property memory; it is one of <http://x/Info>"),
        ("m.info.host = 'a'", "<http://x/Info> has no property host"),
        ("m.part = <http://x/p>", "write part? for any of them"),
        ("m.host.size = 1", "host holds xsd:string, which has no properties"),
        ("m.info = 'a'", "m.info is a resource; compare it with a path or an IRI"),
        ("m = 'a'", "m is a resource"),
        ("m < <http://x/a>", "resources have no order"),
        ("m.info.memory contains 'a'", "contains is about strings, and m.info.memory holds xsd:integer"),
        ("m contains 'a'", "contains is about strings, and m is a resource"),
        ("m.host contains 5", "contains is about strings, and 5 is xsd:integer"),
        ("m.info.memory > 'many'", "'many' is no number, and the property holds xsd:integer"),
        ("m.info.memory > true", "true is no number"),
        ("m.host = 5", 'the property holds strings; write "5"'),
        ("m.since > 'soon'", "'soon' is no xsd:date"),
        ("m.since > 5", "5 is not of the property's datatype, xsd:date; write it in quotes"),
        ("m.on = 'maybe'", "'maybe' is no xsd:boolean"),
        ("m.host = m.info.memory", "they are never comparable"),
        ("m.host = <http://x/a>", "<http://x/a> is an IRI, and the property holds xsd:string"),
    ],
)
def test_types_are_checked_against_the_schema(condition: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        bound(f"search Machine m register m where {condition}")
    assert message in caught.value.message
    assert caught.value.line == 2


def test_a_class_is_of_the_schema_or_a_rule() -> None:
    with pytest.raises(QuerySyntaxError, match="no class <http://x/Machin>; was <http://x/Machine> meant"):
        bound("search Machin m register m")
    with pytest.raises(QuerySyntaxError, match="there is no rule 'lathes'"):
        bound("search 'lathes' m register m")
    with pytest.raises(QuerySyntaxError, match="no rule Machine, and no `prefix :`"):
        bind_rule("search Machine m register m", None, NO_SCHEMA, lambda id: None)
    with pytest.raises(QuerySyntaxError, match="written in sparql; it is no rule"):
        bound("search 'q' m register m", q=Subscription("q", "ASK {}"))
    with pytest.raises(QuerySyntaxError, match='Machine is a rule and a class; write "Machine" for the rule'):
        bound("search Machine m register m", Machine=rule("search Lathe m register m"))
    bound('search "Machine" m register m', Machine=rule("search Lathe m register m"))


@pytest.mark.parametrize(
    "condition",
    [
        "m.host contains 'a' and m.info.memory > 64",
        "64 < m.info.memory or m.since >= '2026-01-01'",
        "m.part?.size <= 2.5 and (m.on = true)",
        'm = <http://x/1> and m.<http://x/host> != "b" and m.:info = <http://x/i>',
    ],
)
def test_the_template_with_its_constants_is_the_query(condition: str) -> None:
    for known in (MACHINES, NO_SCHEMA):
        text = bound(f"search Machine m register m where {condition}", known)
        template, constants = parse_template(text, "rule")
        assert fill(template.query, constants) == parse_query(text, "rule")
        assert parse_template(text, "rule") == (template, constants)
        assert [each.name for each in template.query.variables] == ["m"]


def test_rules_that_differ_in_strings_and_numbers_share_a_template() -> None:
    def key(condition: str) -> str:
        return parse_template(bound(f"search Machine m register m where {condition}"), "rule")[0].key

    assert key("m.host = 'a' and m.info.memory > 1") == key("m.host = 'b' and m.info.memory > 700")
    assert key("m.host = 'a'") != key("m.host != 'a'")
    assert key("m.part?.size > 1 and m.part?.size < 3") != key("m.info.memory > 1 and m.info.memory < 3")
    unbound = parse_template(f"{PREFIX}search Machine m register m where m.host = 'a'", "rule")[0].key
    assert key("m.host = 'a'") != unbound, "subclasses are part of what is asked"


def test_what_a_rule_is_bound_to_follows_its_text() -> None:
    text = bound("search Machine m register m where m.part?.size > 1 and m.info.memory > 2")
    assert as_written(text) == f"{PREFIX}search Machine m register m where m.part?.size > 1 and m.info.memory > 2"
    given = given_of(text)
    assert given.classes == {"<http://x/Machine>": ["<http://x/Lathe>", "<http://x/Machine>"]}
    assert set(given.ranges) == {"<http://x/size>", "<http://x/memory>"}
    assert set(given.references) == {"<http://x/part>", "<http://x/info>"}
    assert bind_rule(text, None, MACHINES, lambda id: None) == text, "bound again, it stays"
    assert bind_rule(text, None, NO_SCHEMA, lambda id: None) == as_written(text)


def test_a_searched_rule_is_written_out_as_it_is_now() -> None:
    inner = rule("search Lathe m, Info i register m where m.info = i and i.memory > 5")
    text = bound("search lathes x register x where x.host = 'a'", lathes=inner)
    query = repr(parse_query(text, "rule"))
    assert "Lathe" in query
    assert "memory" in query
    deeper = Subscription("b", text, "rule")
    assert "memory" in repr(parse_query(bound("search more y register y", more=deeper), "rule"))
    with pytest.raises(QuerySyntaxError, match="rules search each other: a searches b, which searches a"):
        bind_rule(f"{PREFIX}search b y register y", "a", NO_SCHEMA, {"b": rule("search a x register x", a=inner)}.get)


def test_alternatives_are_bounded() -> None:
    either = " or ".join(f"m.host = '{number}'" for number in range(9))
    with pytest.raises(QueryRefused, match="so many alternatives"):
        bound(f"search Machine m register m where ({either}) and ({either})")
    bound(f"search Machine m register m where {either}")


def test_any_escape_and_comment_is_kept() -> None:
    written = f"{PREFIX}# a comment\nsearch Machine m register m where m.host = '\\u0041\\n\"' # at the end"
    text = bind_rule(written, None, MACHINES, lambda id: None)
    assert as_written(text) == written
    outer = bind_rule(
        f"{PREFIX}search inner x register x", None, MACHINES, {"inner": Subscription("i", text, "rule")}.get
    )
    assert given_of(outer).rules["inner"].text == written
    assert repr(Literal('A\n"')) in repr(parse_query(outer, "rule"))
    unlike = f"{PREFIX}search Machine m register m # a\n#given names\n where m.host = 'a'"
    assert as_written(bind_rule(unlike, None, MACHINES, lambda id: None)) == unlike


def test_an_outline_leaves_out_what_binding_does_not_depend_on() -> None:
    one, two = (f"{PREFIX}search Machine m register m where m.info.memory > {number}" for number in (1, 27))
    assert outline_of(one) == outline_of(two) != outline_of(two.replace("27", "'27'"))
    assert is_bound_by_outline(bind_rule(one, None, MACHINES, lambda id: None))
    dated = bound("search Machine m register m where m.since > '2026-01-01'")
    assert not is_bound_by_outline(dated), "another text may be no date"
