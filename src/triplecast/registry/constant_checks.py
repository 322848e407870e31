"""Constants that operators are given: those that can never be answered are refused, with their place."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import Constant, constant_text
from triplecast.compile.operator_arguments import TEMPLATES_LIMIT
from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import parts_of
from triplecast.languages import Template, place_of_argument
from triplecast.languages.rewriting import calls_in
from triplecast.model.algebra import Produce, Slot
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.terms import from_ntriples
from triplecast.operators.asking.argument_checks import shared_checker


class _Given(NamedTuple):
    """What an operator is given somewhere in a query: a constant, or None for what a publication tells."""

    operator: str
    arguments: tuple[Constant | None, ...]


def refuse_unanswerable(
    template: Template, constants: tuple[str, ...], text: str, language: str, operators: OperatorSet
) -> None:
    """Raises `QueryRefused` for the `text` of a template with these constants where an operator's own check says that
    a constant is nothing that it can answer."""
    for operator, given in _given(template):
        declared = operators.find(operator)
        if declared is None or not declared.check:
            continue
        arguments = tuple(None if each is None else constant_text(each, constants) for each in given)
        told = shared_checker().objection(declared, arguments)
        if told is not None:
            at = from_ntriples(_culprit(declared, arguments))
            reason, _, hint = told.rpartition("; ") if "; " in told else (told, "", "give it something else")
            line, column = place_of_argument(text, language, operator, at, operators) or (None, None)
            raise QueryRefused(f"operator <{operator}>", f"it can never answer: {reason}", hint, line, column)


def _culprit(declared: Operator, arguments: tuple[str | None, ...]) -> str:
    """The argument that is at fault by itself, or the first one."""
    places = [place for place, each in enumerate(arguments) if each is not None]
    for place in places if len(places) > 1 else ():
        alone = tuple(each if at == place else None for at, each in enumerate(arguments))
        if shared_checker().objection(declared, alone) is not None:
            return str(arguments[place])
    return str(arguments[places[0]])


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _given(template: Template) -> tuple[_Given, ...]:
    """Return what operators are given where any of it is a constant."""
    pattern = template.query.pattern
    found: list[_Given] = []
    for part in parts_of(pattern):
        if isinstance(part, Produce):
            bound = (node for node, free in zip(part.arguments, part.free, strict=True) if not free)
            found.append(_Given(part.operator, tuple(map(_constant, bound))))
    for call in calls_in(pattern):
        if call.of_operator:
            found.append(_Given(call.function, tuple(map(_constant, call.arguments))))
    return tuple(each for each in dict.fromkeys(found) if set(each.arguments) != {None})


def _constant(node: object) -> Constant | None:
    return node if isinstance(node, NamedNode | Literal | Slot) else None
