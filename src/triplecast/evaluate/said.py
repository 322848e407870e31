"""What operators said of the rows that an explanation shows, and which version of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pyoxigraph import NamedNode

from triplecast.evaluate.rows import Row
from triplecast.evaluate.trace import SHOWN
from triplecast.evaluate.unknown import Answers
from triplecast.evaluate.wording import Wording
from triplecast.model.algebra import Call, Expression, Node, Operation, Produce, Term, Variable, subexpressions
from triplecast.model.terms import to_ntriples
from triplecast.operators import Operator, find_operator
from triplecast.operators.answers import Found, GroundCall


def describe_said(part: Expression | Produce, row: Row, answers: Answers, words: Wording) -> Iterator[str]:
    """A line for each operator that is called in an expression, or gives a pattern's rows, with what it is given in
    `row`; none for one that is given what an expression calculates."""
    for operator, given in _calls(part):
        declared = find_operator(operator)
        terms = [row.get(node.name) if isinstance(node, Variable) else node for node in given]
        ground = [term for term in terms if term is not None and not isinstance(term, Call | Operation)]
        if declared is None or len(ground) < len(terms):
            continue
        answer = answers.get(GroundCall(operator, tuple(to_ntriples(term) for term in ground)))  # type: ignore[arg-type]
        if isinstance(answer, Found):
            name = words.node(NamedNode(operator))
            shown = ", ".join(words.node(term) for term in ground)  # type: ignore[arg-type]
            yield f"{name}({shown}) gives {_result(declared, answer, words)} ({_source(declared)})"


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


def _source(declared: Operator) -> str:
    told = f"version {declared.version}"
    return told if declared.pure else f"{told}, asked anew: it is not pure, and may have told another thing before"
