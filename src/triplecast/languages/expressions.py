"""Expressions (SPARQL 1.1 Query, sections 17 and 18.2.4.1): a function for each rule of the grammar, by its name."""

from __future__ import annotations

from typing import Any, NamedTuple

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.context import Translation
from triplecast.languages.fulltext import BIF, TEXT_FUNCTIONS, bif_call, text_call
from triplecast.languages.operators import operator_call
from triplecast.languages.refusals import refuse_function
from triplecast.languages.tokens import FUNCTIONS
from triplecast.languages.updates import before_call
from triplecast.model.algebra import Aggregate, Call, Expression, Operation, Slot, Variable, variables_in
from triplecast.model.entailment import BEFORE, FUNCTION_MARKS


class _Arguments(NamedTuple):
    values: tuple[Expression, ...]
    distinct: Token | None


def _flatten(operator: str, operands: list[Expression]) -> Operation:
    """Make one operation of a chain: ``&&`` and ``||`` are associative, errors included (section 17.2)."""
    flat: list[Expression] = []
    for operand in operands:
        if isinstance(operand, Operation) and operand.operator == operator:
            flat.extend(operand.arguments)
        else:
            flat.append(operand)
    return Operation(operator, tuple(flat))


def _disjunction(translation: Translation, children: list[Any]) -> Expression:
    return _flatten("||", [translation.node(child) for child in children])


def conjoin(conditions: list[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else _flatten("&&", conditions)


def _conjunction(translation: Translation, children: list[Any]) -> Expression:
    return conjoin([translation.node(child) for child in children])


def _comparison(translation: Translation, children: list[Any]) -> Expression:
    left, right = translation.node(children[0]), translation.node(children[2])
    operator = str(children[1])
    if operator in ("=", "!="):
        _lower(translation, left, [right])
        _lower(translation, right, [left])
    return Operation(operator, (left, right))


def _lower(translation: Translation, left: Expression, others: list[Expression]) -> None:
    """Language tags are lower case everywhere, so constants that are compared with one are too (semantics 3.1)."""
    if isinstance(left, Call) and left.function == "LANG":
        translation.lowered.update(other.index for other in others if isinstance(other, Slot))


def _membership(translation: Translation, children: list[Any], operator: str = "in") -> Expression:
    first = translation.node(children[0])
    others = children[1]
    _lower(translation, first, list(others))
    if isinstance(first, Slot) and others:
        for other in others:
            _lower(translation, other, [first])
    return Operation(operator, (first, *others))


def _exclusion(translation: Translation, children: list[Any]) -> Expression:
    return _membership(translation, children, "not in")


def _expressions(translation: Translation, children: list[Any]) -> tuple[Expression, ...]:
    if isinstance(children[0], Token) and children[0].type == "NIL":
        return ()
    return tuple([translation.node(child) for child in children])


def _sum(translation: Translation, children: list[Any]) -> Expression:
    result: Expression = translation.node(children[0])
    at = 1
    while at < len(children):
        child = children[at]
        if isinstance(child, Token) and child.type in ("PLUS", "MINUS"):
            result = Operation(str(child), (result, translation.node(children[at + 1])))
            at += 2
        else:
            result = Operation("+", (result, child))
            at += 1
    return result


def _product(translation: Translation, children: list[Any]) -> Expression:
    result: Expression = translation.node(children[0])
    for at in range(1, len(children), 2):
        result = Operation(str(children[at]), (result, translation.node(children[at + 1])))
    return result


_signed_product = _product


def _unary(translation: Translation, children: list[Any]) -> Expression:
    sign = str(children[0])
    return Operation(sign if sign == "!" else f"u{sign}", (translation.node(children[1]),))


def _arguments(translation: Translation, children: list[Any]) -> _Arguments:
    if isinstance(children[0], Token) and children[0].type == "NIL":
        return _Arguments((), None)
    return _Arguments(tuple([translation.node(child) for child in children[1:]]), children[0])


def _refuse_distinct(translation: Translation, arguments: _Arguments) -> None:
    if arguments.distinct is not None:
        raise translation.fault(arguments.distinct, "DISTINCT is allowed only in an aggregate", ("an expression",))


def _function(translation: Translation, children: list[Any]) -> Expression:
    token, arguments = children
    _refuse_distinct(translation, arguments)
    name = token.upper()
    fewest, most = FUNCTIONS[name]
    count = len(arguments.values)
    if count < fewest or (most is not None and count > most):
        wanted = str(fewest) if most == fewest else f"{fewest} to {most}" if most is not None else f"{fewest} or more"
        raise translation.fault(token, f"{name} takes {wanted} arguments and got {count}")
    values = arguments.values
    if name == "BOUND" and not (isinstance(values[0], Variable) and values[0] not in translation.aggregates):
        raise translation.fault(token, "BOUND takes a variable", ("a variable",))
    if name in ("REGEX", "REPLACE"):
        values = (values[0], *[translation.pin(value) if isinstance(value, Slot) else value for value in values[1:]])
    if name in ("IRI", "URI") and translation.namespace.base is not None:
        values = (*values, NamedNode(translation.namespace.base))
    return Call(name, values)


def _iri_call(translation: Translation, children: list[Any]) -> Expression:
    token, arguments = children
    _refuse_distinct(translation, arguments)
    iri = translation.pin(translation.slot(token)).value
    if iri in TEXT_FUNCTIONS:
        return text_call(translation, token, iri, arguments.values)
    if iri == BEFORE:
        return before_call(translation, token, arguments.values)
    if iri == BIF:
        return bif_call(translation, token, arguments.values)
    declared = translation.operators.find(iri)
    if declared is not None:
        return operator_call(translation, token, declared, arguments.values)
    refused = refuse_function(iri, translation.operators)
    if refused is not None:
        raise translation.refusal(token, *refused)
    count = len(arguments.values)
    if iri in FUNCTION_MARKS and count != 2:
        raise translation.fault(token, f"{token} takes 2 arguments, a node and a class, and got {count}")
    if iri not in FUNCTION_MARKS and count != 1:
        raise translation.fault(token, f"the cast {token} takes 1 argument and got {count}")
    return Call(iri, arguments.values)


def _aggregate(translation: Translation, children: list[Any]) -> Variable:
    """Register the aggregate, and return the hidden variable that replaces it."""
    token, distinct, argument = children[:3]
    function = token.upper()
    value = None if isinstance(argument, Token) and argument.type == "STAR" else translation.node(argument)
    if value is not None:
        forbid_aggregates(translation, value, "inside another aggregate")
    separator = None
    if function == "GROUP_CONCAT":
        separator = " "
        if children[-1] is not None:
            translation.keep(children[-1])
            separator = translation.resolve(children[-1]).value
    variable = translation.fresh("g")
    translation.aggregates[variable] = (Aggregate(function, value, distinct is not None, separator), token)
    return variable


def forbid_aggregates(translation: Translation, expression: Expression, place: str) -> None:
    for variable in variables_in(expression):
        if variable in translation.aggregates:
            token = translation.aggregates[variable][1]
            raise translation.fault(token, f"{token.upper()} is not allowed {place}", ("SELECT, HAVING or ORDER BY",))
