"""``ft:contains`` and ``ft:score`` of one literal (semantics 5)."""

from __future__ import annotations

from collections.abc import Sequence

from pyoxigraph import Literal

from triplecast.evaluate.budget import Budget
from triplecast.model.algebra import Term
from triplecast.terms.arithmetic import double_term
from triplecast.terms.casts import boolean_term
from triplecast.terms.compare import ValueFault
from triplecast.terms.values import XSD_STRING
from triplecast.text import TextFault, holds, parse_selection, score
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


def _read(arguments: Sequence[Term]) -> tuple[Literal, str]:
    literal, text = arguments
    if not isinstance(literal, Literal) or (literal.language is None and literal.datatype.value != XSD_STRING):
        raise ValueFault(f"{literal} is no string, so it has no words")
    if not isinstance(text, Literal):
        raise ValueFault(f"{text} is no text")
    return literal, text.value
