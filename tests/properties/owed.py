"""Queries for the rows of the census that drafts fill too seldom: each gets its turn, whatever the seed.

They are small, and ask for the construct in a way that some publications of a world answer and others do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tests.properties.drafts import OPERATORS
from tests.reference import queries as q
from tests.reference.terms import XSD, Term, literal

if TYPE_CHECKING:
    from tests.properties.generate import World

TURNS_OF_A_ROUND = 4
SUBJECT, VALUE, COUNT = q.Var("s"), q.Var("o"), q.Var("n")


def owed_to(number: int, world: World) -> list[q.Query]:
    """The turns of round `number`; all have had one after ``len(_TURNS) / TURNS_OF_A_ROUND`` rounds."""
    first = number * TURNS_OF_A_ROUND
    return [_TURNS[(first + step) % len(_TURNS)](world) for step in range(TURNS_OF_A_ROUND)]


def _basic(world: World) -> q.Basic:
    return q.Basic((q.Step(SUBJECT, world.random.choice(world.predicates), VALUE),))


def _literal(world: World) -> Term:
    return world.random.choice([value for value in world.values if value[0] == "literal"] or [literal("a")])


def _tested(test: Callable[[World], q.Expression], world: World) -> q.Query:
    """The test, or its negation, of all that a predicate has."""
    condition = test(world)
    if world.random.random() < 0.5:
        condition = q.Not(condition)
    return q.Query("select", q.Select(q.Filter(condition, _basic(world))))


def _is(function: str, world: World) -> q.Expression:
    return q.Call(function, (VALUE,))


def _text(function: str, world: World) -> q.Expression:
    """Of the text of the value and the beginning or the end of a text of this world."""
    text = _literal(world)[1]
    size = world.random.randrange(1, 3)
    part = text[-size:] if function == "STRENDS" else text[:size]
    return q.Call(function, (q.Call("STR", (VALUE,)), q.Constant(literal(part))))


def _language(world: World) -> q.Expression:
    wanted = q.Constant(literal(world.random.choice((_literal(world)[3] or "en", "EN", "*", "de"))))
    return q.Call("LANGMATCHES", (q.Call("LANG", (VALUE,)), wanted))


def _mirrored(operator: str, world: World) -> q.Expression:
    return q.Compare(operator, q.Constant(_literal(world)), VALUE)


def _counted(world: World) -> q.Query:
    """An aggregate without GROUP BY, which has one group even of nothing."""
    number = q.Constant(literal(str(world.random.randrange(3)), XSD + "integer"))
    having = q.Compare(world.random.choice((">", "=", "<=")), COUNT, number)
    argument = world.random.choice((None, VALUE))
    return q.Query("select", q.Select(q.Group(_basic(world), (), (q.Count(COUNT, argument),), having), (COUNT,)))


def _cut(world: World) -> q.Query:
    """With an order that every value has: that of the subjects, which are names."""
    order = ((SUBJECT, world.random.random() < 0.5),) if world.random.random() < 0.5 else ()
    pattern = q.Filter(q.Call("ISIRI", (SUBJECT,)), _basic(world))
    limit = world.random.choice((None, 1, 2))
    return q.Query("select", q.Select(pattern, None, False, order, world.random.choice((1, 1, 2)), limit))


def _reached(path: Callable[[q.Link], q.Path], world: World) -> q.Query:
    """What is reached from a subject of this world, if not the subject itself."""
    start, link = world.random.choice(world.subjects[:3]), q.Link(world.random.choice(world.predicates))
    other = q.Not(q.Call("SAMETERM", (VALUE, q.Constant(start))))
    return q.Query("select", q.Select(q.Filter(other, q.Basic((q.Step(start, path(link), VALUE),)))))


def _two_steps(world: World) -> q.Query:
    """A path of two predicates of this world, the first of them as it stands or against its direction."""
    first, second = (q.Link(world.random.choice(world.predicates)) for _ in range(2))
    path = q.Chain(world.random.choice((first, q.Inverse(first))), second)
    return q.Query("select", q.Select(q.Basic((q.Step(SUBJECT, path, VALUE),))))


def _either_step(world: World) -> q.Query:
    """Two predicates as alternatives, of a subject of this world or of any."""
    path = q.Choice(*(q.Link(world.random.choice(world.predicates)) for _ in range(2)))
    start = world.random.choice((SUBJECT, *world.subjects[:3]))
    return q.Query("select", q.Select(q.Basic((q.Step(start, path, VALUE),))))


def _optional_under_a_test_of_the_left(world: World) -> q.Query:
    """What is optional depends on a value that it does not mention; it may have nothing else in common either."""
    random = world.random
    subject = random.choice((SUBJECT, SUBJECT, q.Var("t")))
    other = q.Basic((q.Step(subject, random.choice(world.predicates), q.Var("w")),))
    condition = q.Compare(random.choice(("=", "!=", "<", ">=")), VALUE, q.Constant(_literal(world)))
    return q.Query("select", q.Select(q.Optional(_basic(world), other, condition)))


_TURNS: tuple[Callable[[World], q.Query], ...] = (
    *(partial(_tested, partial(_is, name)) for name in ("ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC")),
    *(partial(_tested, partial(_text, name)) for name in ("STRSTARTS", "STRENDS", "CONTAINS")),
    partial(_tested, _language),
    *(partial(_tested, partial(_mirrored, operator)) for operator in OPERATORS),
    *(_counted, _cut),
    partial(_reached, lambda link: q.Repeat(link, 1, True)),
    partial(_reached, lambda link: q.Repeat(link, 0, False)),
    partial(_reached, q.Inverse),
    *(_two_steps, _either_step, _optional_under_a_test_of_the_left),
)
