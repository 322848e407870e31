"""Arithmetic of SPARQL 17.3 on terms, with the promotion integer, decimal, float, double (semantics 3.3 and 3.4).

Results are exact or an error: an integer beyond 64 bits and a decimal of more than 18 digits on either side of its
point raise `ValueFault`. Only the quotient of exact numbers is rounded, to 18 digits after the point (half to even).
Floats and doubles follow IEEE 754; a float's result is rounded from the double's. Date arithmetic, no part of SPARQL
1.1, is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from operator import add, mul, sub
from types import MappingProxyType
from typing import Any, TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.compare import ValueFault, as_double
from triplecast.terms.values import (
    LARGEST_INTEGER,
    MOST_DIGITS,
    SMALLEST_INTEGER,
    WIDE,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    ValueClass,
    to_single,
    value_of,
)

Number: TypeAlias = int | Decimal | float
_INTEGER = NamedNode(XSD_INTEGER)
_DECIMAL = NamedNode(XSD_DECIMAL)
_FLOAT = NamedNode(XSD_FLOAT)
_DOUBLE = NamedNode(XSD_DOUBLE)
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({"+": add, "-": sub, "*": mul})
_EXACT_OPERATIONS = MappingProxyType({"+": WIDE.add, "-": WIDE.subtract, "*": WIDE.multiply})


def calculate(operator: str, left: Term, right: Term) -> Literal:
    """Return ``left operator right`` for ``+ - * /``. Raises `ValueFault`."""
    (first, first_kind), (second, second_kind) = number_of(left), number_of(right)
    if first_kind == second_kind == ValueClass.EXACT:
        return _calculate_exactly(operator, first, second)
    x, y = as_double(first), as_double(second)
    single = ValueClass.DOUBLE not in (first_kind, second_kind)
    if single:
        x, y = to_single(x), to_single(y)
    answer = _divide_floating(x, y) if operator == "/" else _OPERATIONS[operator](x, y)
    return float_term(answer) if single else double_term(answer)


def negate(term: Term) -> Literal:
    number, kind = number_of(term)
    return like(kind, -number if isinstance(number, int | float) else number.copy_negate())


def number_of(term: Term) -> tuple[Number, ValueClass]:
    """Return a term's number and its class. Raises `ValueFault` for anything but a well-typed number."""
    kind, exact = value_of(term)
    if ValueClass.EXACT <= kind <= ValueClass.DOUBLE and isinstance(exact, int | Decimal | float):
        return exact, kind
    raise ValueFault(f"{term} is not a number")


def round_number(function: str, term: Term) -> Literal:
    """Apply ``ABS CEIL FLOOR ROUND``; the type is kept (a derived integer type becomes xsd:integer), halves go up."""
    number, kind = number_of(term)
    if function == "ABS":
        return like(kind, abs(number) if isinstance(number, int | float) else number.copy_abs())
    if isinstance(number, int) or (isinstance(number, float) and not math.isfinite(number)):
        return like(kind, number)
    if isinstance(number, float):
        whole = _round_float(function, number)
        return like(kind, math.copysign(whole, number))
    if number == number.to_integral_value():
        return like(kind, number)
    if function == "ROUND":
        floor = number.to_integral_value(ROUND_FLOOR)
        return like(kind, floor if number < floor + Decimal("0.5") else floor + 1)
    return like(kind, number.to_integral_value(ROUND_CEILING if function == "CEIL" else ROUND_FLOOR))


def like(kind: ValueClass, number: Number) -> Literal:
    """Return a literal of the widest type of a numeric class."""
    if isinstance(number, int):
        return integer_term(number)
    if isinstance(number, Decimal):
        return decimal_term(number)
    return float_term(number) if kind == ValueClass.FLOAT else double_term(number)


def integer_term(number: int) -> Literal:
    """Return an xsd:integer. Raises `ValueFault` beyond 64 bits."""
    if not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
        raise ValueFault("an integer result exceeds 64 bits")
    return Literal(str(number), datatype=_INTEGER)


def decimal_term(number: Decimal) -> Literal:
    """Return an xsd:decimal in XSD 1.1's canonical form. Raises `ValueFault` beyond 18 digits on either side."""
    normal = number.normalize(WIDE)
    exponent = normal.as_tuple().exponent
    if normal.adjusted() >= MOST_DIGITS or not isinstance(exponent, int) or exponent < -MOST_DIGITS:
        raise ValueFault("a decimal result has more than 18 digits on one side of its point")
    return Literal(decimal_text(normal), datatype=_DECIMAL)


def rounded_decimal(number: Fraction) -> Literal:
    """Return the xsd:decimal of 18 digits after the point that is nearest, of two the even one. Raises `ValueFault`."""
    return decimal_term(WIDE.scaleb(round(number * 10**MOST_DIGITS), -MOST_DIGITS))


def decimal_text(number: Decimal) -> str:
    if not number:
        return "0"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def double_term(number: float) -> Literal:
    return Literal(float_text(number), datatype=_DOUBLE)


def float_term(number: float) -> Literal:
    """Return an xsd:float of a double, rounded to float32."""
    single = to_single(number)
    return Literal(float_text(single, shortest_single(single)), datatype=_FLOAT)


def shortest_single(number: float) -> str:
    """Return the shortest decimal that reads back as this float32."""
    if not math.isfinite(number):
        return repr(number)
    return next(text for digits in range(1, 10) if to_single(float(text := f"{number:.{digits}g}")) == number)


def float_text(number: float, shortest: str | None = None) -> str:
    """Return XSD's canonical form of a float or double, e.g. ``1.5E0``."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    if number == 0:
        return "-0.0E0" if math.copysign(1, number) < 0 else "0.0E0"
    sign, digits, exponent = Decimal(shortest or repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent + len(text) - 1}"


def _calculate_exactly(operator: str, first: Number, second: Number) -> Literal:
    if operator == "/":
        return _divide_exactly(first, second)
    if isinstance(first, int) and isinstance(second, int):
        return integer_term(_OPERATIONS[operator](first, second))
    return decimal_term(_EXACT_OPERATIONS[operator](Decimal(first), Decimal(second)))


def _divide_exactly(first: Number, second: Number) -> Literal:
    if second == 0:
        raise ValueFault("division by zero")
    return rounded_decimal(Fraction(first) / Fraction(second))


def _divide_floating(x: float, y: float) -> float:
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1, y)


def _round_float(function: str, number: float) -> float:
    if function == "CEIL":
        return float(math.ceil(number))
    floor = math.floor(number)
    return float(floor if function == "FLOOR" or number - floor < 0.5 else floor + 1)
