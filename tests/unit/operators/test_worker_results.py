"""What functions give, as rows; and what is no result."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.model.answers import Failed, Found, format_answer, parse_answer
from triplecast.model.operators import Operator
from triplecast.operators.worker import MOST_ROWS, WrongResult, read_result

XSD = "http://www.w3.org/2001/XMLSchema#"


def declared(free: int) -> Operator:
    return Operator("urn:op", "1", ("bound", *["free"] * free), 1.0, False, True, 1.0, 1, "m", "n")


@pytest.mark.parametrize(
    ("free", "result", "rows"),
    [
        (0, True, [()]),
        (0, False, []),
        (0, np.bool_(True), [()]),
        (0, Literal(False), []),
        (1, None, []),
        (1, 3, [(Literal(3),)]),
        (1, np.int64(3), [(Literal(3),)]),
        (1, 2.5, [(Literal(2.5),)]),
        (1, True, [(Literal(True),)]),
        (1, Decimal("1.50"), [(Literal("1.50", datatype=NamedNode(XSD + "decimal")),)]),
        (1, "text", [(Literal("text"),)]),
        (1, Literal("a", language="EN"), [(Literal("a", language="en"),)]),
        (1, BlankNode("b"), [(BlankNode("b"),)]),
        (1, ["b", "a", "b"], [(Literal("a"),), (Literal("b"),)]),
        (1, [("a",)], [(Literal("a"),)]),
        (1, iter(()), []),
        (2, ("a", 1), [(Literal("a"), Literal(1))]),
        (2, [("b", 1), ("a", 2)], [(Literal("a"), Literal(2)), (Literal("b"), Literal(1))]),
        (2, None, []),
    ],
)
def test_results_are_rows_sorted_and_each_once(free: int, result: object, rows: list[tuple[object, ...]]) -> None:
    found = read_result(declared(free), result)
    assert found == Found(tuple(rows))  # type: ignore[arg-type]
    assert parse_answer(format_answer(found)) == found


@pytest.mark.parametrize(
    ("free", "result", "told"),
    [
        (0, 1, "has to give a bool, and gave int 1"),
        (0, None, "has to give a bool"),
        (1, b"x", "bytes"),
        (1, {"a": 1}, "dict"),
        (1, [object()], "and it gave object"),
        (1, [("a", "b")], "each of its results has 1 terms"),
        (1, "\ud800", "half a character"),
        (1, Decimal("NaN"), "Decimal"),
        (1, Triple(NamedNode("x:s"), NamedNode("x:p"), NamedNode("x:o")), "and gave Triple"),
        (1, [Triple(NamedNode("x:s"), NamedNode("x:p"), NamedNode("x:o"))], "and it gave Triple"),
        (1, [10**5000], "an int of 16,610 bits"),
        (2, "a", "2 free arguments"),
        (2, ["ab"], "each of its results has 2 terms"),
        (2, [("a", "b", "c")], "each of its results has 2 terms"),
        (1, itertools.count(), f"more than {MOST_ROWS:,} results"),
        (1, itertools.repeat(1), "equal ones counted"),
    ],
)
def test_what_is_no_result(free: int, result: object, told: str) -> None:
    with pytest.raises(WrongResult, match=told):
        read_result(declared(free), result)


def test_failures_and_nonsense() -> None:
    assert parse_answer(format_answer(Failed("why"))) == Failed("why")
    assert parse_answer(format_answer(Failed("\ud800" + "x" * 3_000))) == Failed("?" + "x" * 1_998 + "…")
    for written in (b"{}", b"[]", b'{"rows": 1}', b"nonsense", b'{"rows": [["no term"]]}'):
        with pytest.raises(ValueError):  # noqa: PT011
            parse_answer(written)
