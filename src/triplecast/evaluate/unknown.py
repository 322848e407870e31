"""What an evaluation does not know yet: the answers of operators that were not asked, or that failed.

An expression whose value may depend on such an answer is *unknown*: it raises `Unknown`, which is no type error. One
that is decided without it is not (semantics 8.1): ``||`` with a true argument, ``&&`` with a false one, a row that
another condition drops. A row that may come or go by what is unknown is left out and noted in its `Place`; parts of a
query whose rows depend on such a row (the right side of OPTIONAL, GROUP BY, LIMIT, …) note that in turn. So what an
evaluation gives is certain, and what it noted says which answers would tell the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from triplecast.model.algebra import Call, Expression, Node, Term, Variable, subexpressions
from triplecast.model.answers import Answer, Failed, Found, GroundCall
from triplecast.model.terms import to_ntriples
from triplecast.operators import find_operator

Answers: TypeAlias = Mapping[GroundCall, Answer]
"""Of one publication."""
Wanted: TypeAlias = tuple[GroundCall, ...]
"""Calls that one row waits for: it goes as soon as one of them does not hold."""

NO_ANSWERS: Answers = MappingProxyType({})


class Unknown(Exception):
    """The value depends on `calls`, which have not been made; without any, on operators that failed."""

    def __init__(self, calls: Wanted, failures: tuple[str, ...]) -> None:
        super().__init__(*(failures or calls))
        self.calls = calls
        self.failures = failures


class Unanswered(Exception):
    """A query's answer is not known. `rows` are those that wait for calls; without any, what failed decides it."""

    def __init__(self, noted: Iterable[Unknown]) -> None:
        met = tuple(noted)
        super().__init__("operators have to be asked")
        self.rows: tuple[Wanted, ...] = tuple(dict.fromkeys(each.calls for each in met if each.calls))
        self.failures: tuple[str, ...] = tuple(sorted({told for each in met for told in each.failures}))


def all_of(met: Sequence[Unknown]) -> Unknown:
    """Of a conjunction, or of what needs every part."""
    if len(met) == 1:
        return met[0]
    calls = tuple(dict.fromkeys(call for each in met for call in each.calls))
    return Unknown(calls, tuple(dict.fromkeys(told for each in met for told in each.failures)))


def any_of(met: Sequence[Unknown]) -> Unknown:
    """Of what one part may decide: the first that can still be asked."""
    return next((each for each in met if each.calls), met[0])


def answer_of(answers: Answers, operator: str, arguments: Iterable[Term]) -> Found:
    """What an operator gave for these arguments. Raises `Unknown`."""
    return read_answer(answers, GroundCall(operator, tuple(map(to_ntriples, arguments))))


def read_answer(answers: Answers, call: GroundCall) -> Found:
    """Raises `Unknown` for a call that was not made, or that failed."""
    answer = answers.get(call)
    if answer is None:
        raise Unknown((call,), ())
    if isinstance(answer, Failed):
        raise Unknown((), (answer.reason,))
    return answer


def extensions(found: Found, free: Sequence[Node], row: Mapping[str, Term]) -> Iterator[dict[str, Term]]:
    """What each row of an answer binds beside `row`, where it agrees with it and with the constants among `free`."""
    for terms in found.rows:
        added: dict[str, Term] = {}
        for node, term in zip(free, terms, strict=True):
            known = row.get(node.name, added.get(node.name)) if isinstance(node, Variable) else node
            if known is None and isinstance(node, Variable):
                added[node.name] = term
            elif known != term:
                break
        else:
            yield added


def asks_operators(expression: Expression) -> bool:
    """Whether operators are called in an expression, outside EXISTS."""
    calls = (part.function for part in subexpressions(expression) if isinstance(part, Call) and ":" in part.function)
    return any(find_operator(function) is not None for function in calls)
