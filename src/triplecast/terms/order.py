"""The total order of ORDER BY, MIN and MAX (SPARQL 15.1, made total)."""

from __future__ import annotations

from typing import Any

from pyoxigraph import BlankNode, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.compare import family
from triplecast.terms.values import ValueClass, value_of


def sort_key(term: Term | None) -> tuple[Any, ...]:
    """Return a key whose order is total and never contradicts ``<``.

    Order: unbound, blank nodes (by label), IRIs (by code point), literals. Literals by family (ill-typed and
    unrecognised ones, tagged strings, strings, booleans, numbers, dateTime, date, time, gYear, gYearMonth, durations),
    then by value, then by N-Triples text. Numbers are in exact mathematical order, NaN first; every promoted ``<`` is
    coarser. Times without a zone count as UTC, which refines XSD's partial order.
    """
    if term is None:
        return (0,)
    if isinstance(term, BlankNode):
        return 1, term.value
    if isinstance(term, NamedNode):
        return 2, term.value
    kind, exact = value_of(term)
    rank = int(family(kind))
    if kind == ValueClass.ILL:
        return 3, rank, str(term)
    if kind == ValueClass.LANG:
        return 3, rank, exact, str(term)
    if exact != exact:
        return 3, rank, 0, 0, str(term)
    return 3, rank, 1, exact, str(term)


def value_key(term: Term | None) -> tuple[Any, ...]:
    """The key of ORDER BY: `sort_key` without the text of literals that compare by value, so that equal values tie."""
    key = sort_key(term)
    return key[:4] if len(key) == 5 else key
