"""Every function on awkward terms of every kind gives a term or a type error, never another exception."""

from __future__ import annotations

import random

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.evaluate.aggregates import aggregate
from triplecast.evaluate.budget import Budget
from triplecast.evaluate.expressions import to_iri
from triplecast.evaluate.functions import BUILTINS, call_function
from triplecast.evaluate.rows import Numbering
from triplecast.model.algebra import Aggregate, Term
from triplecast.terms.arithmetic import calculate, negate
from triplecast.terms.casts import CASTS
from triplecast.terms.compare import COMPARISONS, ValueFault, compare, effective_boolean, sort_key
from triplecast.terms.values import INTEGER_BOUNDS, XSD, order_key, place, value_of

LEXICAL = (
    *(
        "",
        " ",
        "0",
        "-0",
        "01",
        "+1.0",
        "5",
        "-5",
        "200",
        "1e0",
        "1e400",
        "-1e400",
        "1e-400",
        "0.5",
        "-2.5",
        ".5",
        "5.",
    ),
    *(
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "123456789012345678",
        "9" * 30,
        "9" * 5_000,
    ),
    *(
        "0." + "0" * 5_000 + "1",
        "1" + "0" * 5_000,
        "NaN",
        "INF",
        "-INF",
        "true",
        "1",
        "false",
        "x",
        "Ünï",
        "\U0001f600",
    ),
    *("2020-01-01T00:00:00", "2020-01-01T00:00:00.000000000000000000000000001Z", "2020-02-30T00:00:00", "24:00:00"),
    *("-0001-12-31T24:00:00-14:00", "9" * 18 + "-01-01T00:00:00Z", "2020-01-01", "2020Z", "2020-01+14:00", "12:00:00Z"),
    *(
        "P1Y",
        "-P12M",
        "PT0.000000000000000001S",
        "P999999999999999999D",
        "PT",
        "a" * 1_000,
        "(",
        "[a",
        "\\",
        "$9",
        "\\d",
    ),
    *(
        "http://example.org/",
        "rel/ative",
        "urn:x y",
        "en",
        "en-GB",
        "a\nb\t\r\x00\x7f\u2028",
        "i",
        "smx",
        "%",
        "\ufffe",
    ),
)
DATETIMES = ("2020-02-29T24:00:00-08:30", "-0001-12-31T00:00:00.5", "2020-01-01T00:00:00Z")
TYPES = (
    *sorted(INTEGER_BOUNDS),
    *(XSD + name for name in ("decimal", "float", "double", "boolean", "dateTime", "date")),
)
MORE_TYPES = (
    *(XSD + name for name in ("time", "gYear", "gYearMonth", "dayTimeDuration", "yearMonthDuration")),
    "urn:t",
)


def any_term(source: random.Random) -> Term:
    kind = source.random()
    if kind < 0.08:
        return NamedNode(source.choice(("urn:a", "http://example.org/ä", XSD + "integer", XSD + "string")))
    if kind < 0.12:
        return BlankNode("b")
    lexical = source.choice(LEXICAL)
    if kind < 0.45:
        return Literal(lexical)
    if kind < 0.5:
        return Literal(source.choice(DATETIMES), datatype=NamedNode(XSD + "dateTime"))
    if kind < 0.58:
        return Literal(lexical, language=source.choice(("en", "de-at")))
    return Literal(lexical, datatype=NamedNode(source.choice((*TYPES, *MORE_TYPES))))


def test_functions_and_casts(seed: int) -> None:
    source = random.Random(seed)
    names = sorted({*BUILTINS, *CASTS})
    gave: dict[str, int] = dict.fromkeys(names, 0)
    for _ in range(12_000):
        name = source.choice(names)
        arguments = [any_term(source) for _ in range(source.randint(1, 3))]
        try:
            answer = call_function(name, arguments, Budget())
        except ValueFault:
            continue
        assert isinstance(answer, NamedNode | BlankNode | Literal), (name, arguments)
        gave[name] += 1
    assert sum(count > 0 for count in gave.values()) > 0.9 * len(names)


def test_operators_and_orders(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(6_000):
        left, right = any_term(source), any_term(source)
        assert place(value_of(left))[0] == order_key(str(left))[0], left
        sort_key(left)
        for attempt in (
            lambda a=left, b=right: calculate(source.choice("+-*/"), a, b),
            lambda a=left: negate(a),
            lambda a=left: effective_boolean(a),
            lambda a=left: to_iri([a]),
            lambda a=left, b=right: compare(source.choice(list(COMPARISONS)), a, b),
        ):
            try:
                attempt()
            except ValueFault:
                continue


def test_aggregates(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(600):
        what = Aggregate(
            source.choice(("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")), None, source.random() < 0.5
        )
        values = [any_term(source) if source.random() < 0.9 else None for _ in range(source.randint(0, 5))]
        try:
            assert aggregate(what, values, Numbering(Budget())) is not None
        except ValueFault:
            continue
