"""Comparison of two terms by value, effective boolean values (semantics 3.3 to 3.7), and the order of ORDER BY.

A type error is a `ValueFault`; the evaluator makes it three-valued logic. Values compare within a family: numbers,
booleans (false < true), strings (code points), dateTime, date, time, gYear, gYearMonth, yearMonthDuration,
dayTimeDuration (so ``"P0M" = "PT0S"`` is false). Language-tagged strings have ``=`` and ``!=`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.temporal import ZONE_SPAN, Instant
from triplecast.terms.values import (
    INTEGER_BOUNDS,
    NUMERIC_TYPES,
    XSD_BOOLEAN,
    Value,
    ValueClass,
    to_double,
    to_single,
    value_of,
)


class ValueFault(Exception):
    """SPARQL's type error: the expression has no value."""


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
)
_NUMBERS = (ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE)
_WORDS = {
    ValueClass.IRI: "an IRI",
    ValueClass.BLANK: "a blank node",
    ValueClass.ILL: "an ill-typed literal",
    ValueClass.LANG: "a string with a language",
    ValueClass.STRING: "a string",
    ValueClass.BOOLEAN: "a boolean",
    ValueClass.EXACT: "a number",
    ValueClass.DATETIME: "an xsd:dateTime",
    ValueClass.DATE: "an xsd:date",
    ValueClass.TIME: "an xsd:time",
    ValueClass.GYEAR: "an xsd:gYear",
    ValueClass.GYEARMONTH: "an xsd:gYearMonth",
    ValueClass.YEARMONTHDURATION: "an xsd:yearMonthDuration",
    ValueClass.DAYTIMEDURATION: "an xsd:dayTimeDuration",
}
"""How error messages name a family of values."""
_UNORDERED = (ValueClass.IRI, ValueClass.BLANK, ValueClass.LANG, ValueClass.ILL)


def compare(operator: str, left: Term, right: Term) -> bool:
    """Return ``left operator right`` for ``= != < <= > >=``. Raises `ValueFault` for a type error."""
    return compare_values(operator, value_of(left), value_of(right), left == right)


def compare_values(operator: str, left: Value, right: Value, same: bool) -> bool:
    """Compare two values as `compare` does; `same`: the two terms are one term."""
    holds = COMPARISONS[operator]
    left_kind, right_kind = left.kind, right.kind
    if left_kind in _NUMBERS and right_kind in _NUMBERS:
        return holds(*promoted(left, right))
    if left_kind == right_kind and left_kind not in _UNORDERED:
        return holds(left.exact, right.exact)
    if family(left_kind) == family(right_kind) and left_kind >= ValueClass.DATETIME:
        return _compare_across_zones(holds, left, right)
    if operator not in ("=", "!="):
        raise ValueFault(f"{_WORDS[family(left_kind)]} and {_WORDS[family(right_kind)]} have no order")
    if same:
        return operator == "="
    if ValueClass.ILL in (left_kind, right_kind) and min(left_kind, right_kind) >= ValueClass.ILL:
        other = left_kind if right_kind == ValueClass.ILL else right_kind
        if other != ValueClass.LANG:
            raise ValueFault("an ill-typed literal or one of an unrecognised datatype can be compared only with itself")
    return operator == "!="


def family(kind: ValueClass) -> ValueClass:
    """Return the class that represents a family: EXACT for all numbers, the zoned class for dates and times."""
    if kind in _NUMBERS:
        return ValueClass.EXACT
    if ValueClass.DATETIME <= kind <= ValueClass.GYEARMONTH_LOCAL:
        return ValueClass(kind - (kind - ValueClass.DATETIME) % 2)
    return kind


def promoted(left: Value, right: Value) -> tuple[int | Decimal | float, int | Decimal | float]:
    """Promote two numbers to one type: exact, else double if either is one, else float (through the nearest double)."""
    first, second = left.exact, right.exact
    assert isinstance(first, int | Decimal | float)
    assert isinstance(second, int | Decimal | float)
    if left.kind == right.kind:
        return first, second
    if ValueClass.DOUBLE in (left.kind, right.kind):
        return as_double(first), as_double(second)
    return to_single(as_double(first)), to_single(as_double(second))


def as_double(number: int | Decimal | float) -> float:
    return number if isinstance(number, float) else to_double(number)


def effective_boolean(term: Term) -> bool:
    """Return a term's truth (SPARQL 17.2.2): of booleans, numbers (not zero or NaN) and strings (not empty).

    An ill-typed number or boolean is false. Anything else raises `ValueFault`.
    """
    kind, exact = value_of(term)
    if kind == ValueClass.BOOLEAN or kind == ValueClass.STRING:
        return bool(exact)
    if kind in _NUMBERS:
        return bool(exact) and exact == exact
    if kind == ValueClass.LANG:
        return isinstance(term, Literal) and term.value != ""
    if kind == ValueClass.ILL and isinstance(term, Literal) and has_boolean_value(term.datatype.value):
        return False
    raise ValueFault(f"{term} has no boolean value")


def has_boolean_value(datatype: str) -> bool:
    """Whether ill-typed literals of this datatype count as false."""
    return datatype == XSD_BOOLEAN or datatype in NUMERIC_TYPES or datatype in INTEGER_BOUNDS


def _compare_across_zones(holds: Callable[[Any, Any], bool], left: Value, right: Value) -> bool:
    """Compare a time with a zone and one without: decided only if every zone gives the same (XSD 1.1 part 2, 3.3.7)."""
    assert isinstance(left.exact, Instant)
    assert isinstance(right.exact, Instant)
    if left.exact < right.exact.shifted(-ZONE_SPAN):
        return holds(0, 1)
    if left.exact > right.exact.shifted(ZONE_SPAN):
        return holds(1, 0)
    raise ValueFault("a time with a zone and one without are less than 14 hours apart")


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
