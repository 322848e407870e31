"""Predicates that may have been meant as operators and are none: a slip in the name, or a module that was not given.

Any IRI may be a predicate of the data, so such a query is taken; that nobody declares the operator is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from triplecast.languages.refusals import GEOF
from triplecast.model.operators import OperatorSet
from triplecast.terms.nearness import likeness_of, nearest_names, one_apart, split_name

HOW_TO_DECLARE = "name the module that declares it (`--operators MODULE`; in Python, import it first)"
_SHOWN = 3
_OPERATOR_FOLDERS = frozenset({"op", "ops", "operator", "operators"})
"""Last parts of namespaces that hold operators by their name."""
_ALIKE = 0.8
"""Likeness of two names in namespaces that differ by little."""


@lru_cache(maxsize=16_384)
def doubt_predicate(iri: str, operators: OperatorSet) -> str | None:
    """Warn of a predicate whose name looks like an operator's and that no operator has; None for nearly all."""
    if operators.find(iri) is not None:
        return None
    declared = _declared(operators)
    namespace, local = split_name(iri)
    beside = declared.get(namespace, ())
    told = f"<{iri}> is asked as a predicate of the data, for no operator of this name is declared"
    near = nearest_names(iri, beside, 1) or _in_like_namespaces(namespace, local, declared)
    if near:
        return f"{told}; was the operator <{near[0]}> meant?"
    if beside:
        names = ", ".join(split_name(name)[1] for name in beside[:_SHOWN])
        more = f" and {len(beside) - _SHOWN} more" if len(beside) > _SHOWN else ""
        return f"{told}, though its namespace has {names}{more}; if it is an operator, {HOW_TO_DECLARE}"
    if namespace == GEOF or _folder(namespace) in _OPERATOR_FOLDERS:
        return f"{told}; if it is an operator, {HOW_TO_DECLARE}"
    return None


@lru_cache(maxsize=16)
def _declared(operators: OperatorSet) -> Mapping[str, Sequence[str]]:
    """Group the operators' IRIs by namespace."""
    found: dict[str, list[str]] = {}
    for each in operators:
        found.setdefault(split_name(each.iri)[0], []).append(each.iri)
    return found


def _in_like_namespaces(namespace: str, local: str, declared: Mapping[str, Sequence[str]]) -> list[str]:
    """An operator in a namespace that differs from this one by a sign, by its end, or by ``https``."""
    return [
        name
        for other, names in declared.items()
        if other != namespace and (_bare(other) == _bare(namespace) or one_apart(other, namespace))
        for name in names
        if likeness_of(split_name(name)[1], local) >= _ALIKE
    ][:1]


def _bare(namespace: str) -> str:
    return namespace.partition("://")[2].rstrip("/#").lower() or namespace


def _folder(namespace: str) -> str:
    """The last part of a namespace, without the sign at its end."""
    return split_name(namespace[:-1])[1].lower()
