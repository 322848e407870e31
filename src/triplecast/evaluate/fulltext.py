"""``ft:contains`` and ``ft:score`` of one literal (semantics 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyoxigraph import Literal

from triplecast.evaluate.budget import Budget
from triplecast.model.algebra import Call, Expression, Term, Variable, subexpressions
from triplecast.terms.arithmetic import double_term
from triplecast.terms.casts import boolean_term
from triplecast.terms.compare import ValueFault
from triplecast.terms.values import XSD_STRING
from triplecast.text import CONTAINS, SCORE, TextFault, find_spans, holds, parse_selection, score, show_spans
from triplecast.text.matching import CHARACTERS_A_STEP


def contains(arguments: Sequence[Term], budget: Budget) -> Literal:
    literal, selection = _read(arguments)
    try:
        parsed = parse_selection(selection)
    except TextFault as fault:
        raise ValueFault(f"no full-text selection: {fault.message}") from fault
    return boolean_term(holds(parsed, literal.value, literal.language, budget.spend))


def score_of(arguments: Sequence[Term], budget: Budget) -> Literal:
    literal, terms = _read(arguments)
    budget.spend(1 + (len(literal.value) + len(terms)) // CHARACTERS_A_STEP)
    return double_term(score(literal.value, terms))


def describe_texts(condition: Expression, row: Mapping[str, Term]) -> list[str]:
    """For an explanation: where each text of a condition has the words asked for, or which score it has."""
    lines = []
    for part in subexpressions(condition):
        match part:
            case Call(function, (Variable(name), Literal() as asked)) if function in (CONTAINS, SCORE):
                text = row.get(name)
                if isinstance(text, Literal):
                    lines.append(f"?{name} has {_describe(function, text, asked.value)}")
    return lines


def _describe(function: str, text: Literal, asked: str) -> str:
    if function == SCORE:
        return f"the score {score(text.value, asked)}"
    spans = find_spans(parse_selection(asked), text.value, text.language, lambda steps: None)
    return show_spans(text.value, spans) or "none of the words"


def _read(arguments: Sequence[Term]) -> tuple[Literal, str]:
    literal, text = arguments
    if not isinstance(literal, Literal) or (literal.language is None and literal.datatype.value != XSD_STRING):
        raise ValueFault(f"{literal} is no string, so it has no words")
    if not isinstance(text, Literal):
        raise ValueFault(f"{text} is no text")
    return literal, text.value
