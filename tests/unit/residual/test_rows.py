"""Rows by filters, each of which looks at a row once for all pairs, against rows residual by residual."""

from __future__ import annotations

from random import Random

from pyoxigraph import Literal, NamedNode

from triplecast.compile.residual import Residual
from triplecast.evaluate import DEFAULT_STEPS
from triplecast.model.algebra import Call, Operation, Variable
from triplecast.model.answers import Answer, Failed, Found, GroundCall
from triplecast.operators import PublicationView, operator
from triplecast.operators.operator_set import operator_set
from triplecast.residual import UNBOUND, NumberedTerms, PublicationConditions, ResidualPlans, Row
from triplecast.residual.calculation import Calculation
from triplecast.residual.rows import solve_filters, solve_rows

OPS = "http://e/asking#"
X, Y = Variable("x"), Variable("y")
THINGS = [NamedNode("urn:a"), Literal("1"), Literal("two")]


@operator(OPS + "holds", version="1", arguments=("bound",))
def holds(event: PublicationView, term: object) -> bool:
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
    terms, plans = NumberedTerms(map(str, THINGS)), ResidualPlans(OPERATORS)
    for _ in range(300):
        residual = tuple(random.sample(FILTERS, random.randint(1, 4)))
        numbers = [UNBOUND, *range(len(THINGS))]
        rows: list[Row] = [
            (random.choices(numbers, (1, 3, 3, 3))[0], random.choices(numbers, (1, 3, 3, 3))[0])
            for _ in range(random.randint(1, 4))
        ]
        known = [GroundCall(OPS + "holds", (str(each),)) for each in THINGS if random.random() < 0.5]
        answers = {call: draw_answer(random) for call in known}
        steps = plans.steps(residual, ("x", "y"))
        assert steps.filters is not None
        one, other = (PublicationConditions(answers, terms, plans) for _ in range(2))
        fast = solve_filters(rows, steps, one)
        slow = solve_rows(rows, steps, Calculation(DEFAULT_STEPS, answers), other)
        if fast is None:
            failed += 1
            continue
        assert fast.rows == slow.rows
        told = [
            [(each.row, sorted(list(conditions.keys())[n] for n in each.waiting)) for each in solved.open]
            for conditions, solved in ((one, fast), (other, slow))
        ]
        assert told[0] == told[1], seed
        assert not any(each.failures for each in slow.open)
        waited += len(fast.open)
    assert failed > 10
    assert waited > 100
