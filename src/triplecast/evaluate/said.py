"""What operators said of the rows that an explanation shows, and which version of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.rows import Row
from triplecast.evaluate.trace import SHOWN
from triplecast.evaluate.unknown import NO_ANSWERS, Answers
from triplecast.evaluate.wording import Wording
from triplecast.model.algebra import Call, Expression, Node, Operation, Produce, Term, Variable, subexpressions
from triplecast.model.terms import to_ntriples
from triplecast.operators.answers import Found, GroundCall
from triplecast.operators.declaration import Operator
from triplecast.operators.operator_set import NO_OPERATORS, OperatorSet


class Said(NamedTuple):
    """What operators said, for an explanation."""

    answers: Answers = NO_ANSWERS
    kept: frozenset[GroundCall] = frozenset()
    """Of the answers, those that were kept when the publication was matched; the others were asked for since."""
    operators: OperatorSet = NO_OPERATORS


NOTHING_SAID = Said()


def describe_said(part: Expression | Produce, row: Row, said: Said, words: Wording) -> Iterator[str]:
    """A line for each operator that is called in an expression, or gives a pattern's rows, with what it is given in
    `row`; none for one that is given what an expression calculates."""
    for operator, given in _calls(part):
        declared = said.operators.find(operator)
        terms = [row.get(node.name) if isinstance(node, Variable) else node for node in given]
        ground = [term for term in terms if term is not None and not isinstance(term, Call | Operation)]
        if declared is None or len(ground) < len(terms):
            continue
        call = GroundCall(operator, tuple(to_ntriples(term) for term in ground))  # type: ignore[arg-type]
        answer = said.answers.get(call)
        if isinstance(answer, Found):
            name = words.node(NamedNode(operator))
            shown = ", ".join(words.node(term) for term in ground)  # type: ignore[arg-type]
            yield f"{name}({shown}) gives {_result(declared, answer, words)} ({_source(declared, call in said.kept)})"


def _calls(part: Expression | Produce) -> Iterator[tuple[str, list[Node | Expression]]]:
    if isinstance(part, Produce):
        yield part.operator, [node for node, free in zip(part.arguments, part.free, strict=True) if not free]
        return
    for each in subexpressions(part):
        if isinstance(each, Call) and ":" in each.function:
            yield each.function, list(each.arguments)


def _result(declared: Operator, found: Found, words: Wording) -> str:
    if not declared.free:
        return "true" if found.rows else "false"
    shown = [_row(row, words) for row in islice(found.rows, SHOWN)]
    more = f" and {len(found.rows) - SHOWN:,} more" if len(found.rows) > SHOWN else ""
    return ", ".join(shown) + more if shown else "nothing"


def _row(row: tuple[Term, ...], words: Wording) -> str:
    terms = " ".join(map(words.node, row))
    return terms if len(row) == 1 else f"({terms})"


def _source(declared: Operator, kept: bool) -> str:
    version = f"version {declared.version}"
    if declared.pure:
        return version
    if kept:
        return f"{version}, as it was told: it is not pure, and this is what it said then"
    return f"{version}, asked anew: it is not pure, and may have told another thing before"
