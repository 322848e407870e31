"""What operators returned for the rows that an explanation shows, and which version of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.rows import Row
from triplecast.evaluate.unknown import NO_ANSWERS, Answers
from triplecast.explain.trace import SHOWN
from triplecast.explain.wording import Wording
from triplecast.model.algebra import Call, Expression, Node, Operation, Produce, Variable, subexpressions, to_ntriples
from triplecast.model.answers import Found, GroundCall
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet


class ExplainedAnswers(NamedTuple):
    """Operator results of one publication, and where they come from."""

    answers: Answers = NO_ANSWERS
    stored: frozenset[GroundCall] = frozenset()
    """The calls whose results were recorded when the publication was matched; the others were made for explaining."""
    operators: OperatorSet = NO_OPERATORS


def describe_operators(
    part: Expression | Produce, row: Row, explained: ExplainedAnswers, words: Wording
) -> Iterator[str]:
    """Yield one line for each operator call in `part` that has ground arguments in `row` and a result."""
    for operator, arguments in _calls(part):
        declared = explained.operators.find(operator)
        terms = [row.get(node.name) if isinstance(node, Variable) else node for node in arguments]
        ground = [term for term in terms if term is not None and not isinstance(term, Call | Operation)]
        if declared is None or len(ground) < len(terms):
            continue
        call = GroundCall(operator, tuple(to_ntriples(term) for term in ground))  # type: ignore[arg-type]
        answer = explained.answers.get(call)
        if isinstance(answer, Found):
            called = f"{words.node(NamedNode(operator))}({', '.join(map(words.node, ground))})"  # type: ignore[arg-type]
            origin = _origin(declared, call in explained.stored)
            yield f"{called} returns {_result(declared, answer, words)} ({origin})"


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
    rows = (" ".join(map(words.node, row)) for row in islice(found.rows, SHOWN))
    shown = ", ".join(row if declared.free == 1 else f"({row})" for row in rows)
    more = f" and {len(found.rows) - SHOWN:,} more" if len(found.rows) > SHOWN else ""
    return shown + more or "nothing"


def _origin(declared: Operator, stored: bool) -> str:
    version = f"version {declared.version}"
    if declared.pure:
        return version
    return f"{version}, not pure: {'the stored result' if stored else 'called for this explanation, may differ'}"
