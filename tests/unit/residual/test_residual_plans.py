"""What of a branch's residuals is beyond those that a row of another branch fulfils."""

from __future__ import annotations

import pytest

from triplecast.compile.combination import Combination, Part
from triplecast.compile.residual import Residual
from triplecast.model.algebra import Call, Operation, Variable
from triplecast.model.operators import NO_OPERATORS
from triplecast.residual import ResidualPlan, ResidualPlans

X, Y, V = map(Variable, "xyv")
OPS = "http://e/questions#"
TRUE_OF_X = Residual(None, Call(OPS + "true", (X,), 0), (X,))
TRUE_OF_Y = Residual(None, Call(OPS + "true", (Y,), 0), (Y,))
GIVES_V = Residual(None, Call(OPS + "gives", (X,), 1), (X,), (V,), (V,))
AGREES_WITH_Y = Residual(None, Call(OPS + "gives", (X,), 1), (X,), (Y,))
ASKS_V = Residual(None, Operation("=", (V, X)), (V, X))


@pytest.mark.parametrize(
    ("own", "branch", "names", "left"),
    [
        ((TRUE_OF_X,), (TRUE_OF_X, TRUE_OF_Y), "x", (TRUE_OF_Y,)),
        ((TRUE_OF_X, TRUE_OF_Y), (TRUE_OF_Y,), "x", None),
        ((), (TRUE_OF_X,), "x", None),
        ((AGREES_WITH_Y,), (AGREES_WITH_Y, TRUE_OF_Y), "x", None),
        ((AGREES_WITH_Y,), (AGREES_WITH_Y, TRUE_OF_Y), "xy", (TRUE_OF_Y,)),
        ((GIVES_V,), (GIVES_V, TRUE_OF_X), "x", (TRUE_OF_X,)),
        ((GIVES_V,), (GIVES_V, ASKS_V), "x", None),
    ],
    ids=["repeated", "of another variable", "its own", "agrees elsewhere", "agrees here", "given in vain", "given"],
)
def test_what_both_have_is_fulfilled_where_they_agree_and_nothing_depends_on_what_it_gave(
    own: tuple[Residual, ...], branch: tuple[Residual, ...], names: str, left: tuple[Residual, ...] | None
) -> None:
    columns = ("v", "x", "y")
    combination = Combination((columns, columns), (Part(0, ()),), columns, False, False, True)
    found = ResidualPlan(combination, (own, branch), ResidualPlans(NO_OPERATORS)).beyond(1, 0, tuple(names))
    assert found.residuals == (branch if left is None else left)
