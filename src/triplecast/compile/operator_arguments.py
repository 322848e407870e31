"""The arguments of operators: a variable that nothing binds there is refused, since the operator would never be
called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import children, expressions_of, parts_of, visible_names
from triplecast.languages import Template, place_of_argument
from triplecast.languages.rewriting import calls_in
from triplecast.model.algebra import Call, Exists, Pattern, Produce, Variable, subexpressions
from triplecast.model.operators import Operator, OperatorSet
from triplecast.terms.nearness import nearest_names

TEMPLATES_LIMIT = 20_000
"""Templates whose checks a process caches."""


def refuse_unbound(template: Template, text: str, language: str, operators: OperatorSet) -> None:
    """Refuse a template whose operators have unbound arguments, with the place in `text`; raises `QueryRefused`."""
    found = _first_unbound(template)
    if found is None:
        return
    operator, variable, visible = found
    near = nearest_names(variable, sorted(visible), 1)
    hint = f"was ?{near[0]} meant?" if near else "bind it in a triple pattern of the same group"
    line, column = place_of_argument(text, language, operator, Variable(variable), operators) or (None, None)
    reason = f"its argument ?{variable} is unbound"
    raise QueryRefused(f"operator <{operator}>", reason, hint, line, column)


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _first_unbound(template: Template) -> tuple[str, str, frozenset[str]] | None:
    return next(_unbound(template.query.pattern, frozenset()), None)


def operators_of(templates: Iterable[Template], operators: OperatorSet) -> list[Operator]:
    """The operators that queries of these templates call, ordered by IRI."""
    if not operators:
        return []
    distinct = {template.key: template for template in templates}
    called = {iri for template in distinct.values() for iri in called_operators(template)}
    return [declared for declared in map(operators.find, sorted(called)) if declared is not None]


@lru_cache(maxsize=TEMPLATES_LIMIT)
def called_operators(template: Template) -> frozenset[str]:
    """Return the IRIs of the operators that a query of this template calls."""
    pattern = template.query.pattern
    produced = (part.operator for part in parts_of(pattern) if isinstance(part, Produce))
    called = (call.function for call in calls_in(pattern) if call.of_operator)
    return frozenset((*produced, *called))


def _unbound(pattern: Pattern, outer: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield operator, variable and the variables in scope for each argument that is never bound; `outer` are variables
    that EXISTS replaces."""
    inside = frozenset(name for part in children(pattern) for name in visible_names(part)) | outer
    if isinstance(pattern, Produce):
        for node, free in zip(pattern.arguments, pattern.free, strict=True):
            if not free and isinstance(node, Variable) and not _is_bound(node, inside):
                yield pattern.operator, node.name, inside
    for expression in expressions_of(pattern):
        for part in subexpressions(expression):
            if isinstance(part, Exists):
                yield from _unbound(part.pattern, inside)
            elif isinstance(part, Call) and part.of_operator:
                for argument in part.arguments:
                    if isinstance(argument, Variable) and not _is_bound(argument, inside):
                        yield part.function, argument.name, inside
    for child in children(pattern):
        yield from _unbound(child, outer)


def _is_bound(variable: Variable, names: frozenset[str]) -> bool:
    """Whether a variable is in scope; blank nodes are, in the triples that contain them."""
    return variable.hidden or variable.name in names
