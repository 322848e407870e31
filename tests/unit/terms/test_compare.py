"""Comparisons and boolean values across classes (semantics 3.3 to 3.7)."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.compare import COMPARISONS, ValueFault, compare, compare_values, effective_boolean
from triplecast.terms.values import XSD, Value, ValueClass


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def ask(operator: str, left: Term, right: Term) -> bool | None:
    """None is a type error."""
    try:
        return compare(operator, left, right)
    except ValueFault:
        return None


IRI = NamedNode("urn:a")
NODE = BlankNode("a")
ILL = typed("200", "byte")
MINE = Literal("x", datatype=NamedNode("urn:mine"))
TAGGED = Literal("a", language="en")
NAN = typed("NaN", "double")


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (typed("1", "integer"), typed("01", "integer"), True),
        (typed("1", "integer"), typed("1.0", "decimal"), True),
        (typed("1", "byte"), typed("1e0", "float"), True),
        (typed("0.1", "float"), typed("0.1", "decimal"), True),
        (typed("0.1", "float"), typed("0.1", "double"), False),
        (typed("0.1", "decimal"), typed("0.1", "double"), True),
        (typed("-0.0", "double"), typed("0", "integer"), True),
        (NAN, NAN, False),
        (NAN, typed("1", "integer"), False),
        (typed("true", "boolean"), typed("1", "boolean"), True),
        (typed("true", "boolean"), typed("1", "integer"), False),
        (Literal("1"), typed("1", "integer"), False),
        (Literal("a"), TAGGED, False),
        (TAGGED, Literal("a", language="en"), True),
        (TAGGED, Literal("a", language="en-gb"), False),
        (IRI, NamedNode("urn:a"), True),
        (IRI, NODE, False),
        (IRI, Literal("urn:a"), False),
        (ILL, typed("200", "byte"), True),
        (MINE, Literal("x", datatype=NamedNode("urn:mine")), True),
        (ILL, typed("200", "integer"), None),
        (ILL, MINE, None),
        (MINE, Literal("x"), None),
        (ILL, TAGGED, False),
        (ILL, IRI, False),
        (MINE, NODE, False),
        (typed("2020-01-01", "date"), typed("2020-01-01T00:00:00", "dateTime"), False),
        (typed("2020-01-01Z", "date"), typed("2020-01-01+00:00", "date"), True),
        (typed("2020-01-01T00:00:00Z", "dateTime"), typed("2020-01-01T01:00:00+01:00", "dateTime"), True),
        (typed("P1Y", "yearMonthDuration"), typed("P12M", "yearMonthDuration"), True),
        (typed("P0M", "yearMonthDuration"), typed("PT0S", "dayTimeDuration"), False),
        (typed("P1D", "dayTimeDuration"), typed("PT24H", "dayTimeDuration"), True),
        (typed("9007199254740993", "integer"), typed("9007199254740992", "double"), True),
        (typed("9007199254740993", "integer"), typed("9007199254740992", "integer"), False),
    ],
)
def test_equality(left: Term, right: Term, equal: bool | None) -> None:
    for first, second in ((left, right), (right, left)):
        assert ask("=", first, second) is equal
        assert ask("!=", first, second) is (None if equal is None else not equal)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (typed("2", "integer"), typed("10", "integer")),
        (typed("2", "integer"), typed("2.5", "decimal")),
        (typed("-INF", "float"), typed("0", "integer")),
        (Literal("B"), Literal("a")),
        (Literal(""), Literal("a")),
        (Literal("z"), Literal("é")),
        (Literal("\uffff"), Literal("\U00010000")),
        (typed("false", "boolean"), typed("1", "boolean")),
        (typed("2020", "gYear"), typed("2021", "gYear")),
        (typed("12:00:00Z", "time"), typed("12:00:00-01:00", "time")),
        (typed("-P1M", "yearMonthDuration"), typed("P0M", "yearMonthDuration")),
    ],
)
def test_order(smaller: Term, larger: Term) -> None:
    assert [ask(operator, smaller, larger) for operator in COMPARISONS] == [False, True, True, True, False, False]
    assert [ask(operator, larger, smaller) for operator in COMPARISONS] == [False, True, False, False, True, True]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (TAGGED, TAGGED),
        (IRI, IRI),
        (NODE, NODE),
        (ILL, ILL),
        (IRI, Literal("x")),
        (Literal("1"), typed("1", "integer")),
        (typed("true", "boolean"), typed("1", "integer")),
        (MINE, MINE),
    ],
)
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_no_order_outside_a_family(operator: str, left: Term, right: Term) -> None:
    assert ask(operator, left, right) is None


def test_not_a_number_orders_with_nothing() -> None:
    for operator in ("<", "<=", ">", ">="):
        assert ask(operator, NAN, typed("1", "integer")) is False


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (typed("true", "boolean"), True),
        (typed("0", "boolean"), False),
        (typed("yes", "boolean"), False),
        (typed("0.0", "decimal"), False),
        (typed("-1", "integer"), True),
        (typed("200", "byte"), False),
        (typed("abc", "integer"), False),
        (typed("1e", "double"), False),
        (NAN, False),
        (Literal(""), False),
        (Literal("false"), True),
        (Literal("", language="en"), False),
        (TAGGED, True),
    ],
)
def test_boolean_value(term: Term, expected: bool) -> None:
    assert effective_boolean(term) is expected


@pytest.mark.parametrize("term", [IRI, NODE, MINE, typed("2020-01-01", "date"), typed("x", "date")])
def test_no_boolean_value(term: Term) -> None:
    with pytest.raises(ValueFault):
        effective_boolean(term)


def test_what_has_no_order_is_told_in_words_of_the_data() -> None:
    day, moment = typed("2026-11-01", "date"), typed("2026-11-01T00:00:00Z", "dateTime")
    with pytest.raises(ValueFault, match=r"^an xsd:dateTime and an xsd:date have no order$"):
        compare("<", moment, day)
    for kind in ValueClass:
        if kind is not ValueClass.PENDING:
            with pytest.raises(ValueFault, match=r"^an? .* and an IRI have no order$"):
                compare_values("<", Value(kind, None), Value(ValueClass.IRI, None), False)
