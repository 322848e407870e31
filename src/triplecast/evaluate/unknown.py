"""Unknown values: those that depend on operators that were not called yet, or that failed.

An expression whose value may depend on such an operator raises `Unknown`, which is no type error. One that is decided
without it has a value (semantics 8.1): ``||`` with a true argument, ``&&`` with a false one, a row that another
condition drops. A row that may come or go is omitted and noted in its `Place`; parts of a query whose rows depend on
such a row (the right side of OPTIONAL, GROUP BY, LIMIT, ...) note that in turn. So the rows of an evaluation are
certain, and its notes name the calls that would decide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from triplecast.model.algebra import Call, Expression, Node, Term, Variable, subexpressions, to_ntriples
from triplecast.model.answers import Answer, Failed, Found, GroundCall

Answers: TypeAlias = Mapping[GroundCall, Answer]
"""The operator results of one publication."""
Wanted: TypeAlias = tuple[GroundCall, ...]
"""The calls that one row needs: the first that does not hold drops it."""

NO_ANSWERS: Answers = MappingProxyType({})


class Unknown(Exception):
    """A value depends on `calls`, which were not made, or, without any, on operators that failed."""

    def __init__(self, calls: Wanted, failures: tuple[str, ...]) -> None:
        super().__init__(*(failures or calls))
        self.calls = calls
        self.failures = failures


class Unanswered(Exception):
    """A query has no answer yet. `rows` are the calls of each open row; without any, `failures` decide it."""

    def __init__(self, noted: Iterable[Unknown]) -> None:
        met = tuple(noted)
        super().__init__("operators have to be called")
        self.rows: tuple[Wanted, ...] = tuple(dict.fromkeys(each.calls for each in met if each.calls))
        self.failures: tuple[str, ...] = tuple(sorted({reason for each in met for reason in each.failures}))


def all_of(met: Sequence[Unknown]) -> Unknown:
    """Combine the unknowns of a conjunction, or of anything that needs every part."""
    if len(met) == 1:
        return met[0]
    calls = tuple(dict.fromkeys(call for each in met for call in each.calls))
    return Unknown(calls, tuple(dict.fromkeys(reason for each in met for reason in each.failures)))


def any_of(met: Sequence[Unknown]) -> Unknown:
    """Choose among the unknowns of a disjunction: the first with calls to make."""
    return next((each for each in met if each.calls), met[0])


def answer_of(answers: Answers, operator: str, arguments: Iterable[Term]) -> Found:
    """The result of an operator for these arguments. Raises `Unknown`."""
    return read_answer(answers, GroundCall(operator, tuple(map(to_ntriples, arguments))))


def read_answer(answers: Answers, call: GroundCall) -> Found:
    """The result of a call. Raises `Unknown` for one that was not made or failed."""
    answer = answers.get(call)
    if answer is None:
        raise Unknown((call,), ())
    if isinstance(answer, Failed):
        raise Unknown((), (answer.reason,))
    return answer


def extensions(found: Found, free: Sequence[Node], row: Mapping[str, Term]) -> Iterator[dict[str, Term]]:
    """Yield what each result row binds beside `row`, if it agrees with `row` and with the constants among `free`."""
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
    return any(isinstance(part, Call) and part.of_operator for part in subexpressions(expression))
