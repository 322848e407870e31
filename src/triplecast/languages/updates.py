"""Conditions of an update (semantics 10.6): a FILTER that calls ``tc:before(?price)``, of the rows as they are told.

They are no part of the query, whose answer is that without them.
"""

from __future__ import annotations

from typing import Any

from lark.lexer import Token
from pyoxigraph import Literal, NamedNode

from triplecast.languages.context import Translation
from triplecast.languages.rewriting import replace_constants
from triplecast.model.algebra import (
    Call,
    Exists,
    Expression,
    Operation,
    Query,
    Slot,
    Variable,
    subexpressions,
    variables_in,
)
from triplecast.model.entailment import FUNCTION_MARKS

_NAME = "before"
_PLACE = "it compares a row with the one that it takes the place of"
_FILTER = "write it in a FILTER of the outermost group of a SELECT"
_ELSEWHERE = frozenset({"NOW", "BNODE", *FUNCTION_MARKS})
"""Functions that need more than a row."""


def before_call(translation: Translation, token: Token, arguments: tuple[Expression, ...]) -> Variable:
    """A hidden variable for what the earlier row binds."""
    if len(arguments) != 1 or not isinstance(arguments[0], Variable) or arguments[0] in translation.aggregates:
        raise translation.fault(token, "tc:before takes a variable that the query selects", ("a variable",))
    if _NAME not in translation.source.written:
        raise translation.fault(token, "this is tc:before; write its name out", ("tc:before",))
    variable = translation.fresh("u")
    translation.befores[variable] = arguments[0], token
    return variable


def is_of_update(translation: Translation, condition: Expression) -> bool:
    """Whether it calls ``tc:before``."""
    return bool(translation.befores) and not translation.befores.keys().isdisjoint(variables_in(condition))


def read_updates(translation: Translation, query: Query) -> tuple[Expression, ...]:
    """The conditions of the whole query, constants pinned; in them what the earlier row binds to ``?price`` is
    ``?before price``. Raises `QueryRefused` for a call elsewhere."""
    placed = {variable for condition in translation.updates for variable in variables_in(condition)}
    for hidden, (_, token) in translation.befores.items():
        if hidden not in placed or query.form != "select":
            raise translation.refusal(token, "tc:before in this place", _PLACE, _FILTER)
    return tuple([_settled(translation, query, condition) for condition in translation.updates])


def _settled(translation: Translation, query: Query, condition: Expression) -> Expression:
    token = next(translation.befores[each][1] for each in variables_in(condition) if each in translation.befores)
    for part in subexpressions(condition):
        of_operator = isinstance(part, Call) and (part.of_operator or part.function in _ELSEWHERE)
        if of_operator or isinstance(part, Exists):
            what = "EXISTS" if isinstance(part, Exists) else getattr(part, "function", "")
            raise translation.refusal(
                token, f"{what} beside tc:before", "the condition is of two rows alone", "write it in another FILTER"
            )
        if isinstance(part, Variable):
            name = translation.befores.get(part, (part, token))[0]
            if name not in query.variables:
                reason = f"?{name.name} is not selected, so the rows that are compared lack it"
                raise translation.refusal(token, "tc:before", reason, f"select ?{name.name} too")

    def pinned(constant: NamedNode | Literal | Slot) -> Any:
        if not isinstance(constant, Slot):
            return constant
        term = translation.pin(constant)
        is_tag = constant.index in translation.lowered and isinstance(term, Literal)
        return Literal(term.value.lower()) if is_tag else term

    return _renamed(translation, replace_constants(condition, pinned))


def _renamed(translation: Translation, expression: Expression) -> Expression:
    if isinstance(expression, Variable):
        found = translation.befores.get(expression)
        return expression if found is None else Variable(earlier_name(found[0].name))
    if isinstance(expression, Operation):
        return Operation(expression.operator, tuple([_renamed(translation, each) for each in expression.arguments]))
    if isinstance(expression, Call):
        return Call(expression.function, tuple([_renamed(translation, each) for each in expression.arguments]))
    return expression


def earlier_name(name: str) -> str:
    """What conditions call the earlier row's value of a variable; no variable of a query is called so."""
    return f"{_NAME} {name}"
