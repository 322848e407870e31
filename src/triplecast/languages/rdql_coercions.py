"""RDQL's coercions (semantics 7.1): its own operators become SPARQL's, around variables read as number or text."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pyoxigraph import Literal

from triplecast.languages.context import Translation
from triplecast.languages.tokens import unescape_string
from triplecast.model.algebra import Call, Expression, Operation, Slot, Variable
from triplecast.terms.casts import reads_as_number
from triplecast.terms.values import XSD

_TEXTUAL = {"eq": "=", "ne": "!="}


def spells_number(token: str) -> bool:
    """Whether the text of a string token reads as a number."""
    return reads_as_number(unescape_string(token, loose=True))


class Coercions(NamedTuple):
    """Makes RDQL's operators SPARQL's. Recurses two frames a node; expressions are within `MAX_DEPTH`."""

    translation: Translation
    resources: frozenset[Variable]
    """Variables that are an IRI or a blank node wherever the pattern holds."""

    def value(self, expression: Expression) -> Expression:
        if isinstance(expression, Variable):
            return expression if expression in self.resources else Call("NUMBER", (expression,))
        if isinstance(expression, Slot):
            return Call("NUMBER", (expression,)) if self._is_plain_number(expression) else expression
        if isinstance(expression, Call):
            called = self._called(expression)
            return Call("NUMBER", (called,)) if called.free else called
        if not isinstance(expression, Operation):
            return expression
        operator, arguments = expression.operator, expression.arguments
        if operator == "langeq":
            return self._language(self._argument(arguments[0]), arguments[1])
        if operator in _TEXTUAL and any(self._is_exact(argument) for argument in arguments):
            same = Call("SAMETERM", tuple([self._argument(argument) for argument in arguments]))
            return same if operator == "eq" else Operation("!", (same,))
        if operator in _TEXTUAL:
            return Operation(_TEXTUAL[operator], self._texts(arguments))
        if operator in ("=~", "!~"):
            matched = Call("REGEX", (self.text(arguments[0]), *arguments[1:]))
            return matched if operator == "=~" else Operation("!", (matched,))
        return Operation("=" if operator == "==" else operator, tuple([self.value(part) for part in arguments]))

    def text(self, expression: Expression) -> Expression:
        if isinstance(expression, Slot):
            plain = self.translation.tokens[expression.index].type == "STRING"
            return expression if plain else Call("TEXT", (expression,))
        return Call("TEXT", (self._argument(expression),))

    def _language(self, subject: Expression, wanted: Expression) -> Operation:
        """Whether a literal is tagged ``en``, in any variety, or exactly ``en-gb``; false for no literal."""
        assert isinstance(wanted, Literal)
        tag = Call("LANG", (subject,))
        text = wanted.value.lower()
        if text.isalnum():
            found: Expression = Call("LANGMATCHES", (tag, Literal(text)))
        else:
            found = Operation("=", (tag, Literal(text)))
        return Operation("&&", (Call("ISLITERAL", (subject,)), found))

    def _called(self, call: Call) -> Call:
        return replace(call, arguments=tuple([self._argument(argument) for argument in call.arguments]))

    def _argument(self, expression: Expression) -> Expression:
        """An argument that is taken as a term, without coercion."""
        if isinstance(expression, Call):
            return self._called(expression)
        return expression if isinstance(expression, Variable | Slot) else self.value(expression)

    def _texts(self, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
        if all(self._is_resource(argument) for argument in arguments):
            return arguments
        return tuple([self.text(argument) for argument in arguments])

    def _is_resource(self, expression: Expression) -> bool:
        if isinstance(expression, Slot):
            return self.translation.tokens[expression.index].type == "IRI"
        return expression in self.resources

    def _is_exact(self, expression: Expression) -> bool:
        """Whether a constant is written with a tag or a datatype; ``^^xsd:string`` says nothing."""
        if not isinstance(expression, Slot) or self.translation.tokens[expression.index].type != "LITERAL":
            return False
        return not self._is_string(expression)

    def _is_string(self, slot: Slot) -> bool:
        term = self.translation.resolve(self.translation.tokens[slot.index])
        return isinstance(term, Literal) and term.language is None and term.datatype.value == XSD + "string"

    def _is_plain_number(self, slot: Slot) -> bool:
        """Whether the text of a string reads as a number; one with ``^^xsd:string`` may, for all that its kind says."""
        token = self.translation.tokens[slot.index]
        return (
            spells_number(str(token)) if token.type == "STRING" else token.type == "LITERAL" and self._is_string(slot)
        )
