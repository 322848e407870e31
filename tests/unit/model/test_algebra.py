from __future__ import annotations

from pyoxigraph import Literal

from triplecast.model.algebra import (
    BasicPattern,
    Call,
    Exists,
    Expression,
    Filter,
    Operation,
    Variable,
    subexpressions,
    variables_in,
)

A, B, C, HIDDEN = (Variable(name) for name in ("a", "b", "c", "hidden"))
ONE = Literal("1")
INSIDE = Exists(Filter(Operation("=", (HIDDEN, ONE)), BasicPattern(())), negated=False)
SUM = Operation("+", (B, ONE))
CALL = Call("STRLEN", (SUM,))
WHOLE = Operation("&&", (A, CALL, INSIDE, C))


def test_each_part_comes_before_what_is_in_it_and_from_left_to_right() -> None:
    assert list(subexpressions(WHOLE)) == [WHOLE, A, CALL, SUM, B, ONE, INSIDE, C]


def test_variables_inside_exists_are_left_out() -> None:
    assert list(variables_in(WHOLE)) == [A, B, C]


def test_a_deep_expression_needs_no_stack() -> None:
    expression: Expression = A
    for _ in range(100_000):
        expression = Operation("!", (expression,))
    assert sum(1 for _ in subexpressions(expression)) == 100_001
    assert list(variables_in(expression)) == [A]
