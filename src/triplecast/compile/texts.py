"""The words and phrases that full-text conditions need, as the index keeps them.

A word is filed like a triple: one whose predicate is `WORD` and whose object is ``" games"`` means that the literal at
its subject has the word games, and the matcher gives each publication such triples for its literals
(`kernels.wordbank`). Neither is a term of N-Triples, so nothing that is published can be mistaken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyoxigraph import Literal

from triplecast.compile.constants import Constant, constant_text, place_of
from triplecast.languages import text_of
from triplecast.languages.rewriting import nodes_within
from triplecast.model.algebra import Call, Expression, Operation, Pattern, Slot, Variable
from triplecast.model.comparison_codes import MIRRORED
from triplecast.terms.values import ValueClass
from triplecast.text import CONTAINS, SCORE
from triplecast.text.needed import Needed, needed_phrases, needed_terms

WORD = " "
"""The predicate of word triples; with the folded word or phrase behind it, their object."""
_ANYTHING = Needed(((),), False)


class NamedText(NamedTuple):
    """``ft:contains(variable, constant)``, or with a `threshold` ``ft:score(variable, constant)`` at least so much."""

    variable: Variable
    constant: Constant
    threshold: Constant | None = None
    strict: bool = False
    """Above the threshold."""

    def needed(self, constants: tuple[str, ...]) -> Needed:
        """What a literal needs to fulfil it, for a subscription's constants."""
        text = text_of(constant_text(self.constant, constants))
        if self.threshold is None:
            return needed_phrases(text)
        kind, number = place_of(constant_text(self.threshold, constants))
        numeric = ValueClass.EXACT <= kind <= ValueClass.DOUBLE
        return needed_terms(text) if numeric and (number > 0 or (self.strict and number == 0)) else _ANYTHING


class NeededWord(NamedTuple):
    """The phrase `number` of an alternative of what `text` needs, in the literal of its variable."""

    text: NamedText
    alternative: int
    number: int

    def term(self, constants: tuple[str, ...]) -> str:
        """As the index's dictionary has it."""
        return WORD + self.text.needed(constants).alternatives[self.alternative][self.number]


def read_text(expression: Expression) -> NamedText | None:
    """A full-text condition of one variable; None for any other expression."""
    if isinstance(expression, Call):
        match expression.function, expression.arguments:
            case (fn, (Variable() as variable, Literal() | Slot() as constant)) if fn == CONTAINS:
                return NamedText(variable, constant)
        return None
    if not isinstance(expression, Operation) or expression.operator not in MIRRORED:
        return None
    operator, (left, right) = expression.operator, expression.arguments
    if isinstance(right, Call):
        operator, left, right = MIRRORED[operator], right, left
    if operator not in (">", ">=") or not isinstance(left, Call) or not isinstance(right, Literal | Slot):
        return None
    match left.function, left.arguments:
        case (fn, (Variable() as variable, Literal() | Slot() as constant)) if fn == SCORE:
            return NamedText(variable, constant, right, operator == ">")
    return None


def texts_within(pattern: Pattern) -> Iterator[NamedText]:
    """Every full-text condition in a pattern, in order: a plan holds for constants that need alike in all of them."""
    for part in nodes_within(pattern):
        found = read_text(part) if isinstance(part, Call | Operation) else None
        if found is not None:
            yield found


def shape_of(needed: Needed) -> tuple[object, ...]:
    """What a plan depends on of what is needed."""
    return needed.exact, tuple(map(len, needed.alternatives))
