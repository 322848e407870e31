"""RDQL to the algebra: both notations, names, readings, faults, refusals, templates."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template, prefixes_of
from triplecast.languages.rdql import RDQL, sources
from triplecast.languages.refusals import MAX_CHARACTERS, MAX_DEPTH, MAX_NESTING, MAX_TOKENS
from triplecast.languages.template import TemplateCache
from triplecast.model.algebra import (
    BasicPattern,
    Call,
    Expression,
    Filter,
    Operation,
    Project,
    Query,
    TriplePattern,
    Variable,
)

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
XSD = "http://www.w3.org/2001/XMLSchema#"
ONE = "SELECT * WHERE (?x <urn:p> ?y)"


def read(text: str) -> Query:
    return parse_query(text, "rdql")


def condition(constraint: str) -> Expression:
    """The constraint over ``(?x, ?p, ?y), (?x, ?p, ?z)``: `x` is a resource, `y` and `z` may be literals."""
    pattern = read(f"SELECT ?x WHERE (?x, ?p, ?y), (?x, ?p, ?z) AND {constraint}").pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, Filter)
    return pattern.pattern.condition


def number(expression: Expression) -> Call:
    return Call("NUMBER", (expression,))


def text(expression: Expression) -> Call:
    return Call("TEXT", (expression,))


def speaks(language: Expression) -> Operation:
    return Operation("&&", (Call("ISLITERAL", (Y,)), language))


def integer(lexical: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + "integer"))


def test_patterns_constraints_and_columns() -> None:
    query = read("SELECT ?y, ?x ?y WHERE (?x, <urn:p>, ?y) AND ?y > 3, ?x eq <urn:a> USING p FOR <urn:>")
    pattern = BasicPattern((TriplePattern(X, NamedNode("urn:p"), Y),))
    both = Operation("&&", (Operation(">", (number(Y), integer("3"))), Operation("=", (X, NamedNode("urn:a")))))
    assert query == Query("select", Project(Filter(both, pattern), (Y, X)), (Y, X))


def test_all_columns_stand_in_order_of_appearance() -> None:
    assert read("SELECT * WHERE (?y ?x ?y) (?z, ?x, 5)").variables == (Y, X, Z)
    assert read("SELECT * WHERE (<urn:a> <urn:b> 'c')").variables == ()


def test_a_star_is_any_term() -> None:
    query = read("SELECT * WHERE (?y, *, *) (* <urn:p> ?x) (?x <urn:q> *) AND ?y * 2 > 3, (?y * ?x) < 5")
    any1, any2, any3, any4 = [Variable(f"_:a{number}") for number in range(1, 5)]
    pattern = query.pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, Filter)
    triples = ((Y, any1, any2), (any3, NamedNode("urn:p"), X), (X, NamedNode("urn:q"), any4))
    assert pattern.pattern.pattern == BasicPattern(tuple(TriplePattern(*triple) for triple in triples))
    assert query.variables == (Y, X)


PAPER = """SELECT * FROM Publications WHERE
(?x,<urn:p>,?y) AND (?y,<urn:q>,<urn:a>) AND ((?y,<urn:r>,?z) SUCHTHAT (?z > 2003))"""


@pytest.mark.parametrize(
    "other",
    [
        "SELECT * WHERE (?x <urn:p> ?y), (?y <urn:q> <urn:a>) (?y <urn:r> ?z) AND ?z > 2003",
        "select * from <urn:d> where (?x <urn:p> ?y) and ((?y <urn:q> <urn:a>), (?y <urn:r> ?z)) and (?z > 2003)",
        "SELECT * SOURCE <urn:d>, <urn:e> WHERE ((?x p:p ?y) AND (?y p:q p:a) AND (?y <p:r> ?z) SUCHTHAT (?z > 2003))"
        " USING p FOR <urn:>",
        "SELECT * WHERE (?x <urn:p> ?y) // one\n /* two */ (?y,<urn:q>,<urn:a>) # three\n"
        "(?y <urn:r> ?z)SUCHTHAT ?z>2003",
    ],
)
def test_the_papers_notation_and_jenas_mean_the_same(other: str) -> None:
    assert read(other) == read(PAPER)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("<http://e/a>", "http://e/a"),
        ("http://e/a", "http://e/a"),
        ("dc:title", "http://purl.org/dc/elements/1.1/title"),
        ("<dc:title>", "http://purl.org/dc/elements/1.1/title"),
        ("e:a", "http://e/a"),
        ("<e:/a>", "http://e//a"),
        ("\\u0065:a", "http://e/a"),
        ("é:a", "urn:é:a"),
        ("for:a", "urn:for:a"),
        ("<mailto:a@e>", "mailto:a@e"),
        ("<geo:1,2>", "geo:1,2"),
        ("geo:asWKT", "http://www.opengis.net/ont/geosparql#asWKT"),
    ],
)
def test_names_stand_with_and_without_brackets(written: str, meant: str) -> None:
    query = read(f"SELECT ?x WHERE (?x {written} ?y) USING e FOR <http://e/>, é FOR <urn:é:> for FOR <urn:for:>")
    assert query.pattern == Project(BasicPattern((TriplePattern(X, NamedNode(meant), Y),)), (X,))


def test_a_declared_prefix_wins_over_a_scheme_and_over_the_known_ones() -> None:
    query = read("SELECT ?x WHERE (?x <geo:a> dc:b) USING geo FOR <urn:g:> dc FOR <urn:d:>")
    assert query.pattern == Project(BasicPattern((TriplePattern(X, NamedNode("urn:g:a"), NamedNode("urn:d:b")),)), (X,))
    assert prefixes_of("SELECT ?x WHERE (?x ?y ?z) USING dc FOR <urn:d:>", "rdql")["dc"] == "urn:d:"
    assert "dc" in prefixes_of("SELECT ?x WHERE (?x ?y ?z)", "rdql")
    twice = "SELECT ?x WHERE (?x ?y ?z) USING e FOR <urn:1> f FOR <urn:2>, e FOR <urn:3>"
    assert prefixes_of(twice, "rdql")["e"] == "urn:3"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'a'", Literal("a")),
        ('"a\\"b"', Literal('a"b')),
        ("'a'@EN", Literal("a", language="en")),
        ("'a'^^<xsd:date>", Literal("a", datatype=NamedNode(XSD + "date"))),
        ("'5'^^xsd:int", Literal("5", datatype=NamedNode(XSD + "int"))),
        ("'5'@en ^^ xsd:int", Literal("5", datatype=NamedNode(XSD + "int"))),
        ("'v-1\\-1'", Literal("v-1-1")),
        ('"\\q\\n\\\\\\(\\u0041\\u00"', Literal("q\n\\(Au00")),
        ("-05", integer("-05")),
        ("5.7", Literal("5.7", datatype=NamedNode(XSD + "decimal"))),
        ("5e1", Literal("5e1", datatype=NamedNode(XSD + "double"))),
        ("TRUE", Literal("true", datatype=NamedNode(XSD + "boolean"))),
    ],
)
def test_literals_are_terms_as_written(written: str, meant: Literal) -> None:
    query = read(f"SELECT ?x WHERE (?x ?y {written})")
    assert query.pattern == Project(BasicPattern((TriplePattern(X, Y, meant),)), (X,))


@pytest.mark.parametrize(
    ("constraint", "meant"),
    [
        ("?y == 24", Operation("=", (number(Y), integer("24")))),
        ("24 <= ?y", Operation("<=", (integer("24"), number(Y)))),
        ('?y != "24"', Operation("!=", (number(Y), number(Literal("24"))))),
        ('?y < "a24"', Operation("<", (number(Y), Literal("a24")))),
        ("?y == '2'^^xsd:string", Operation("=", (number(Y), number(Literal("2"))))),
        ("?y == '2'@en", Operation("=", (number(Y), Literal("2", language="en")))),
        ("?x != <urn:a>", Operation("!=", (X, NamedNode("urn:a")))),
        ("?y == ?z", Operation("=", (number(Y), number(Z)))),
        ("?y eq ?x", Operation("=", (text(Y), text(X)))),
        ("?x NE ?x", Operation("!=", (X, X))),
        ("?y eq 'a'", Operation("=", (text(Y), Literal("a")))),
        ("?x eq 'urn:a'", Operation("=", (text(X), Literal("urn:a")))),
        ("?y ne <urn:a>", Operation("!=", (text(Y), text(NamedNode("urn:a"))))),
        ("?y eq 5", Operation("=", (text(Y), text(integer("5"))))),
        ("?y eq 'a'^^xsd:string", Operation("=", (text(Y), text(Literal("a"))))),
        ("?y eq 'a'@EN", Call("SAMETERM", (Y, Literal("a", language="en")))),
        ("'5'^^xsd:int ne ?y + 1", Operation("!", (Call("SAMETERM", (
            Literal("5", datatype=NamedNode(XSD + "int")), Operation("+", (number(Y), integer("1"))))),))),
        ("?y langeq 'EN'", speaks(Call("LANGMATCHES", (Call("LANG", (Y,)), Literal("en"))))),
        ("?y LANGEQ 'en-GB'", speaks(Operation("=", (Call("LANG", (Y,)), Literal("en-gb"))))),
        ("?y langeq ''", speaks(Operation("=", (Call("LANG", (Y,)), Literal(""))))),
        ("?y = 24", Operation("=", (number(Y), integer("24")))),
        ("?y ≠ 24", Operation("!=", (number(Y), integer("24")))),
        ("?y ~~ /p\\-1$/", Call("REGEX", (text(Y), Literal("p\\-1$"), Literal("")))),
        ("~?x", Operation("!", (X,))),
        ("~ !?x", Operation("!", (Operation("!", (X,)),))),
        ("?y -1 > 2", Operation(">", (Operation("+", (number(Y), integer("-1"))), integer("2")))),
        ("?y - 1 > 2", Operation(">", (Operation("-", (number(Y), integer("1"))), integer("2")))),
        ("?y * 2 / -?z > 2", Operation(">", (
            Operation("/", (Operation("*", (number(Y), integer("2"))), Operation("u-", (number(Z),)))), integer("2")))),
        ("?y", number(Y)),
        ("!?y && ?x", Operation("&&", (Operation("!", (number(Y),)), X))),
        ("?y =~ /a\\/b c/i", Call("REGEX", (text(Y), Literal("a\\/b c"), Literal("i")))),
        ("?y =~ m!a/b!i && ?y !~ m%a\\%b% ", Operation("&&", (
            Call("REGEX", (text(Y), Literal("a/b"), Literal("i"))),
            Operation("!", (Call("REGEX", (text(Y), Literal("a\\%b"), Literal(""))),))))),
        ("?y =~m/a/", Call("REGEX", (text(Y), Literal("a"), Literal("")))),
        ("?y !~ 'a\\\\d'", Operation("!", (Call("REGEX", (text(Y), Literal("a\\d"), Literal(""))),))),
        ("(?y == 1) == true", Operation("=", (
            Operation("=", (number(Y), integer("1"))), Literal("true", datatype=NamedNode(XSD + "boolean"))))),
    ],
)  # fmt: skip
def test_where_an_operator_reads_a_number_and_where_a_text(constraint: str, meant: Expression) -> None:
    assert condition(constraint) == meant


def test_operators_bind_as_in_jenas_grammar() -> None:
    assert condition("?y == 1 || ?y eq 'a' && !?y == 2 || ?z > 1 + 2 * 3") == condition(
        "(?y == 1) || ((?y eq 'a') && ((!?y) == 2)) || (?z > (1 + (2 * 3)))"
    )
    assert condition("?y eq ?z == 1") == condition("?y eq (?z == 1)")


def test_sources_are_noted() -> None:
    assert sources("SELECT ?from FROM <a> , x:y Publications WHERE (?x ?from <from>)") == ("<a>", "x:y", "Publications")
    assert sources("SELECT ?x // FROM <a>\nSOURCE <a> WHERE (?x ?y ?z)") == ("<a>",)
    assert sources("SELECT ?x WHERE (?x ?y ?z) AND ?x ne 'FROM'") == ()


# ---- faults and refusals


@pytest.mark.parametrize(
    ("wrong", "line", "column", "message", "expected"),
    [
        ("SELECT ?x\nWHERE { ?x ?y ?z }", 2, 7, "unexpected {", "("),
        ("SELECT ?x", 1, 10, "the query ends too early", "WHERE"),
        ("SELECT ?x WHERE (?x ?y ?z) AND ?z 5", 1, 35, "unexpected 5", "== or !="),
        (
            "SELECT ?x WHERE (?x title ?z)",
            1,
            21,
            "title has no prefix; write it with one, like dc:title, or as <…>",
            "",
        ),
        ("SELECT ?x WHERE (HomePage#325,project,RSS Filter)", 1, 18, "HomePage has no prefix", ""),
        ("SELECT ?x WHERE (?x ?y * ?z)", 1, 24, "unexpected *", ""),
        ("SELECT ?x WHERE (?x ?y ?z) AND ?z langeq ?y", 1, 42, "unexpected ?y", "a string"),
        ("SELECT ?x WHERE (?x ?y ?z) AND ?z langeq 'a'@en", 1, 42, "unexpected 'a'@en", "a string"),
        ("SELECT ?x WHERE ('a' ?y ?z)", 1, 18, "unexpected 'a'", "a variable like ?x"),
        ("SELECT ?x WHERE (?x ?y ?z) AND ('a' ?y ?z)", 1, 37, "unexpected ?y", ")"),
        ("SELECT ?x WHERE (?x ?y 'a", 1, 24, "this string does not end", "a closing quotation mark"),
        ("SELECT ?x /* WHERE (?x ?y ?z)", 1, 11, "this comment does not end", "*/"),
        ("SELECT ?x WHERE (?x e:a ?z)", 1, 21, "the prefix e: is not declared; add USING e FOR <…>", ""),
        ("SELECT ?x WHERE (?x <a> ?z)", 1, 21, "<a> is relative", ""),
        ("SELECT ?x WHERE (?x ?y ?z) USING e <urn:e>", 1, 36, "unexpected <urn:e>", "FOR"),
        ("SELECT ?x WHERE (?x ?y ?z) USING <urn:e>", 1, 34, "unexpected <urn:e>", "a name"),
        ("SELECT ?x WHERE (?x ?y ?z) USING e FOR f:g", 1, 40, "f:g is no IRI in angle brackets", "an IRI in angle"),
        ("SELECT ?x WHERE (?x ?y ?z) AND ?x =~ ?z", 1, 38, "unexpected ?z", "a string"),
        ("SELECT ?x WHERE (?x ?y 'a'^^xsd:int@en)", 1, 36, "unexpected @", ")"),
        ("SELECT ?x WHERE (?x ?y ?z) AND ?z > 5, (?x ?y ?z)", 1, 44, "unexpected ?y", ")"),
    ],
)
def test_a_fault_says_where_and_what_was_expected(
    wrong: str, line: int, column: int, message: str, expected: str
) -> None:
    for parse in (parse_query, parse_template):
        with pytest.raises((QuerySyntaxError, QueryRefused)) as caught:
            parse(wrong, "rdql", "a.rdql")
        fault = caught.value
        assert (fault.line, fault.column, fault.name) == (line, column, "a.rdql")
        assert message in str(fault)
        if isinstance(fault, QuerySyntaxError):
            assert any(part.startswith(expected) for part in fault.expected or ("",))
            assert str(fault).count("^") >= 1


@pytest.mark.parametrize(
    ("sign", "operand"), [(sign, "1") for sign in ("%", "&", "|", "<<", ">>", ">>>")] + [("==", "null")]
)
def test_what_rdf_has_no_meaning_for_is_refused_by_name(sign: str, operand: str) -> None:
    refused = operand if operand == "null" else sign
    with pytest.raises(QueryRefused) as caught:
        condition(f"?y {sign} {operand}")
    assert caught.value.construct == refused
    assert caught.value.line == 1


def test_limits() -> None:
    with pytest.raises(QueryRefused, match="nesting"):
        condition("(" * (MAX_NESTING + 1) + "?y" + ")" * (MAX_NESTING + 1))
    with pytest.raises(QueryRefused, match="levels"):
        condition("!" * (MAX_DEPTH + 1) + "?y")
    with pytest.raises(QueryRefused, match="tokens"):
        condition("?y " + "&& ?y " * MAX_TOKENS)
    with pytest.raises(QueryRefused, match="characters"):
        read(ONE + " " * MAX_CHARACTERS)
    for hostile in ('"' + "\\a" * 20_000, "/*" + "*" * 20_000, "?y =~ /" + "\\a" * 20_000, "a" * 20_000 + "." * 20_000):
        with pytest.raises(QuerySyntaxError):
            condition(hostile)


# ---- templates


def test_a_template_serves_all_constants_of_a_kind() -> None:
    cache = TemplateCache(RDQL)
    one = "SELECT ?x WHERE (?x, <e:p>, 'a b') AND ?x ne <e:q> USING e FOR <urn:e:>"
    two = 'select ?x // so\nwhere ( ?x dc:title "c" ) and ?x ne <urn:z>'
    first, constants = cache.read(one)
    second, others = cache.read(two)
    assert first is second
    assert constants == ("<urn:e:q>", "<urn:e:p>", '"a b"')
    assert others == ("<urn:z>", "<http://purl.org/dc/elements/1.1/title>", '"c"')
    assert fill(second.query, others) == read(two)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{ONE} AND ?y == '24'", f"{ONE} AND ?y == '24x'"),
        (f"{ONE} AND ?y == '24'^^xsd:string", f"{ONE} AND ?y == '24'^^xsd:token"),
        (f"{ONE} AND ?y =~ /a b/", f"{ONE} AND ?y =~ /a  b/"),
        (f"{ONE} AND ?y =~ /a b/", f"{ONE} AND ?y =~ /a\\32;b/"),
        (f"{ONE} AND ?y =~ /a/", f"{ONE} AND ?y =~ /a/i"),
        (f"{ONE} AND ?y =~ m#a/b#", f"{ONE} AND ?y =~ m#a/c#"),
        (f"{ONE} AND ?y =~ 'a'", f"{ONE} AND ?y =~ 'b'"),
        (f"{ONE} AND ?y =~ 'a'", f"{ONE} AND ?y !~ 'a'"),
        (f"{ONE} AND ?y langeq 'a'", f"{ONE} AND ?y langeq 'a-b'"),
        (f"{ONE} AND ?y eq 'a'@en", f"{ONE} AND ?y eq 'a'"),
        (f"{ONE} AND ?y == '2\\4'", f"{ONE} AND ?y == 'a'"),
        (f"{ONE} AND ?y eq 'a'", f"{ONE} AND ?y == 'a'"),
        (ONE, "SELECT ?x WHERE (?x <urn:p> ?y)"),
    ],
)
def test_what_the_algebra_depends_on_makes_another_template(one: str, other: str) -> None:
    cache = TemplateCache(RDQL)
    seen = []
    for text_ in (one, other, one):
        template, constants = cache.read(text_)
        assert fill(template.query, constants) == read(text_)
        seen.append(template.key)
    assert seen[0] == seen[2] != seen[1]


def test_a_template_is_shared_with_sparql() -> None:
    rdql, _ = parse_template("SELECT ?x WHERE (?x dc:title 'a') AND ?x eq <urn:e>", "rdql")
    sparql, _ = parse_template("SELECT ?x { ?x dc:title 'b' FILTER(?x = <urn:f>) }")
    assert rdql.key == sparql.key
