"""Operators in queries: calls in expressions, and triples whose predicate is an operator (property functions).

``op:f(?x)`` in an expression takes the bound arguments; its value is the free one, or whether the operator holds.
``?x op:f ?y`` and ``(?a ?b) op:f (?c ?d)`` take all arguments, the subject's before the object's; such a triple is
applied to the solutions of the triples around it and of what precedes them in its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.context import Translation
from triplecast.languages.fulltext import MAGIC, path_slots
from triplecast.languages.refusals import OPERATORS, refuse_operator
from triplecast.model.algebra import Call, Expression, Node, PathExpression, Pattern, Produce, Slot, Variable
from triplecast.model.entailment import BEFORE
from triplecast.model.operators import BOUND, FREE, Operator, OperatorSet


class Production(NamedTuple):
    """A triple whose predicate is an operator."""

    declared: Operator
    arguments: tuple[Node, ...]
    token: Token

    def given(self) -> Iterator[Variable]:
        """The variables among its bound arguments."""
        return (node for node, free in self._kinds() if not free and isinstance(node, Variable))

    def gives(self) -> Iterator[Variable]:
        """The variables among its free arguments."""
        return (node for node, free in self._kinds() if free and isinstance(node, Variable))

    def variables(self) -> Iterator[Variable]:
        return (node for node in self.arguments if isinstance(node, Variable))

    def _kinds(self) -> Iterator[tuple[Node, bool]]:
        return ((node, kind == FREE) for node, kind in zip(self.arguments, self.declared.arguments, strict=False))


def is_magic(iri: str, operators: OperatorSet) -> bool:
    """Whether texts that name it have templates of their own: a triple with this predicate is a search or an operator,
    or must be refused; or constants beside it are pinned."""
    return iri in MAGIC or iri == BEFORE or iri.startswith(OPERATORS) or operators.find(iri) is not None


def operator_call(
    translation: Translation, token: Token, declared: Operator, arguments: tuple[Expression, ...]
) -> Call:
    """Raises `QuerySyntaxError` for a wrong number of arguments, and for an operator that has no single value."""
    if declared.free > 1:
        raise translation.fault(
            token,
            f"{token} gives {declared.free} terms at once, so it has no value in an expression",
            _as_triple(translation, declared, token),
        )
    if len(arguments) != declared.bound:
        value = "its value is the free one" if declared.free else "its value is whether it holds"
        raise translation.fault(
            token,
            f"the operator {token} takes {_arguments(declared.bound)} as a function ({value}) and got {len(arguments)}",
            (_as_function(declared, token), *_as_triple(translation, declared, token)),
        )
    return Call(declared.iri, arguments, declared.free)


def find_property_function(translation: Translation, verb: object) -> Operator | None:
    """The operator that a predicate names, which is then part of the template. Raises `QueryRefused` for one that is
    not known in the namespace that holds operators only."""
    if not isinstance(verb, Slot):
        return None
    iri = translation.resolve(translation.tokens[verb.index])
    declared = translation.operators.find(iri.value) if isinstance(iri, NamedNode) else None
    if declared is not None:
        translation.pin(verb)
    elif isinstance(iri, NamedNode) and iri.value.startswith(OPERATORS):
        raise translation.refusal(translation.tokens[verb.index], *refuse_operator(iri.value, translation.operators))
    return declared


def refuse_operator_in_path(translation: Translation, path: PathExpression) -> None:
    """Refuse an operator in a path; raises `QueryRefused`."""
    for slot in path_slots(path):
        if find_property_function(translation, slot) is not None:
            token = translation.tokens[slot.index]
            raise translation.refusal(
                token, f"{token} in a path", "an operator is no step of a path", "make it a triple of its own"
            )


def read_productions(translation: Translation) -> tuple[list[Expression], list[Production]]:
    """Read the operators since the last block of triples: conditions of their group, and those that bind.

    Raises `QuerySyntaxError` for a wrong number of arguments.
    """
    found, translation.productions = translation.productions, []
    filters: list[Expression] = []
    productions: list[Production] = []
    for production in found:
        declared, token = production.declared, production.token
        if len(production.arguments) != len(declared.arguments):
            raise translation.fault(
                token,
                f"the operator {token} takes {_arguments(len(declared.arguments))} as a predicate and got "
                f"{len(production.arguments)}",
                _as_triple(translation, declared, token) or (_as_function(declared, token),),
            )
        if declared.free:
            productions.append(production)
        else:
            filters.append(Call(declared.iri, production.arguments, declared.free))
    return filters, productions


def order_productions(productions: list[Production]) -> list[Production]:
    """Order operators so that each follows those that bind its arguments; ties and circles as written."""
    ordered: list[Production] = []
    waiting = list(productions)
    while waiting:
        following = next((each for each in waiting if _is_ready(each, waiting)), waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _is_ready(production: Production, waiting: list[Production]) -> bool:
    later = {variable for other in waiting if other is not production for variable in other.gives()}
    return later.isdisjoint(production.given())


def produce(production: Production, pattern: Pattern) -> Produce:
    free = tuple(kind == FREE for kind in production.declared.arguments)
    return Produce(pattern, production.declared.iri, production.arguments, free)


def _arguments(count: int) -> str:
    return f"{count} argument" if count == 1 else f"{count} arguments"


def _as_function(declared: Operator, token: Token) -> str:
    return f"{token}({', '.join(f'?{BOUND}{place}' for place in range(1, declared.bound + 1))})"


def _as_triple(translation: Translation, declared: Operator, token: Token) -> tuple[str, ...]:
    """How it is written as a predicate, in words; empty where the language at hand has no way to."""
    notation = translation.namespace.notation
    names = [f"?{kind}{place}" for place, kind in enumerate(declared.arguments, 1)]
    if len(names) == 2:
        subject, end = names
    elif notation.lists:
        subject, end = f"({' '.join(names[: declared.bound])})", f"({' '.join(names[declared.bound :])})"
    else:
        return ()
    return (f"a triple with it as predicate: {notation.triple.format(subject, token, end)}",)
