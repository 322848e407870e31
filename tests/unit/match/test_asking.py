"""Rows by filters, each of which looks at a row once for all pairs, against rows residual by residual."""

from __future__ import annotations

from random import Random

from pyoxigraph import Literal, NamedNode

from triplecast.compile.residual import Residual
from triplecast.evaluate import DEFAULT_STEPS
from triplecast.evaluate.rowwise import Calculation
from triplecast.match.asking import solve_filters, solve_rows
from triplecast.match.conditions import Ground, Row
from triplecast.match.questions import Questions
from triplecast.model.algebra import Call, Operation, Variable
from triplecast.operators import Event, operator
from triplecast.operators.answers import Answer, Failed, Found, GroundCall
from triplecast.operators.operator_set import operator_set

OPS = "http://e/asking#"
X, Y = Variable("x"), Variable("y")
THINGS = [NamedNode("urn:a"), Literal("1"), Literal("two")]


@operator(OPS + "holds", version="1", arguments=("bound",))
def holds(event: Event, term: object) -> bool:
    """Never called: answers are given."""
    return True


OPERATORS = operator_set([holds])
CALLED = [Call(OPS + "holds", (each,), 0) for each in (X, Y)]
FILTERS = [
    *(Residual(None, call, (X, Y)) for call in CALLED),
    Residual(None, Operation("=", (X, Literal("1"))), (X,)),
    Residual(None, Operation("||", (CALLED[0], Operation("=", (Y, Literal("two"))))), (X, Y)),
    Residual(None, Operation("!", (CALLED[1],)), (Y,)),
]


def draw_answer(random: Random) -> Answer:
    return Failed("broken") if random.random() < 0.15 else Found(random.choice(((), ((),))))


def test_filters_tell_what_the_residuals_tell(seed: int) -> None:
    random, failed, waited = Random(seed), 0, 0
    for _ in range(300):
        residual = tuple(random.sample(FILTERS, random.randint(1, 4)))
        rows: list[Row] = [
            {name: random.choice(THINGS) for name in "xy" if random.random() < 0.9} for _ in range(random.randint(1, 4))
        ]
        known = [GroundCall(OPS + "holds", (str(each),)) for each in THINGS if random.random() < 0.5]
        answers = {call: draw_answer(random) for call in known}
        steps = Questions((residual,), {}, OPERATORS).steps(0, ("x", "y"))
        assert steps.filters is not None
        one, other = Ground(answers), Ground(answers)
        fast = solve_filters(rows, steps, one)
        slow = solve_rows(rows, steps, Calculation(DEFAULT_STEPS, answers), other)
        if fast is None:
            failed += 1
            continue
        assert fast.rows == slow.rows
        told = [
            [(each.row, sorted((ground.conditions[n].template, ground.conditions[n].values) for n in each.waiting))]
            for ground, solved in ((one, fast), (other, slow))
            for each in solved.open
        ]
        assert told[: len(fast.open)] == told[len(fast.open) :], seed
        assert not any(each.failures for each in slow.open)
        waited += len(fast.open)
    assert failed > 10
    assert waited > 100
