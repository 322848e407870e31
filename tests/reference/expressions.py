"""Expressions of SPARQL section 17, three-valued: a term, or a `TypeFault`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, TypeAlias

from tests.reference import queries as q
from tests.reference.fulltext import Selection, cosine, fulfils
from tests.reference.terms import STRING, XSD, Term, iri, literal
from tests.reference.values import (
    DOUBLE,
    EXACT,
    FLOAT,
    ILL,
    NUMERIC,
    TypeFault,
    compare,
    effective_boolean,
    equal,
    fits_decimal,
    promote,
    single,
    value_of,
)
from tests.reference.wording import stems_of, words_of

TRUE = literal("true", XSD + "boolean")
FALSE = literal("false", XSD + "boolean")

NO_FLAGS = literal("")
TAXONOMY = "tc:"
"""What the functions of semantics 6.3 begin with."""


class Around(Protocol):
    """The graph in which an expression stands."""

    def exists(self, pattern: q.Pattern, row: dict[str, Term]) -> bool: ...

    def is_kin(self, function: str, node: Term, other: Term) -> bool: ...


Scope: TypeAlias = Around | None
"""None: nowhere; then ``EXISTS`` and the functions of the taxonomy cannot be asked."""


def holds(expression: q.Expression, row: dict[str, Term], scope: Scope) -> bool:
    """Whether a filter keeps the row: an error drops it."""
    try:
        return truth(expression, row, scope)
    except TypeFault:
        return False


def truth(expression: q.Expression, row: dict[str, Term], scope: Scope) -> bool:
    """The effective boolean value. Raises `TypeFault`."""
    match expression:
        case q.Compare(operator, left, right):
            left, right = _tags_lowered(left, right)
            return compare(operator, evaluate(left, row, scope), evaluate(right, row, scope))
        case q.Logic(operator, arguments):
            return _logic(operator, arguments, row, scope)
        case q.Not(argument):
            return not truth(argument, row, scope)
        case q.Member(argument, choices, negated):
            return _member(argument, choices, row, scope) != negated
        case q.Exists(pattern, negated):
            return scope.exists(pattern, row) != negated
        case q.FullText(argument, selection):
            return _full_text(evaluate(argument, row, scope), selection)
    return effective_boolean(evaluate(expression, row, scope))


def _logic(operator: str, arguments: tuple[q.Expression, ...], row: dict[str, Term], scope: Scope) -> bool:
    """SPARQL 17.2: the deciding value wins over an error."""
    deciding, fault = operator == "||", None
    for argument in arguments:
        try:
            if truth(argument, row, scope) == deciding:
                return deciding
        except TypeFault as found:
            fault = found
    if fault is not None:
        raise fault
    return not deciding


def _member(argument: q.Expression, choices: tuple[q.Expression, ...], row: dict[str, Term], scope: Scope) -> bool:
    value, fault = evaluate(argument, row, scope), None
    _, *choices = _tags_lowered(argument, *choices)
    for choice in choices:
        try:
            if equal(value, evaluate(choice, row, scope)):
                return True
        except TypeFault as found:
            fault = found
    if fault is not None:
        raise fault
    return False


def _tags_lowered(*operands: q.Expression) -> tuple[q.Expression, ...]:
    """Constants compared with ``LANG(...)`` in lower case (semantics 3.1)."""
    if not any(isinstance(operand, q.Call) and operand.function == "LANG" for operand in operands):
        return operands
    return tuple(
        q.Constant(("literal", operand.term[1].lower(), *operand.term[2:]))
        if isinstance(operand, q.Constant) and operand.term[0] == "literal"
        else operand
        for operand in operands
    )


def evaluate(expression: q.Expression, row: dict[str, Term], scope: Scope) -> Term:
    """The term that the expression gives. Raises `TypeFault`."""
    match expression:
        case q.Var(name):
            if name not in row:
                raise TypeFault(f"?{name} is unbound")
            return row[name]
        case q.Constant(term):
            return term
        case q.Call(function, arguments):
            return _call(function, arguments, row, scope)
    return _boolean(truth(expression, row, scope))


def _boolean(value: bool) -> Term:
    return TRUE if value else FALSE


def _call(function: str, arguments: tuple[q.Expression, ...], row: dict[str, Term], scope: Scope) -> Term:
    if function == "BOUND":
        return _boolean(arguments[0].name in row)
    if function == "IF":
        chosen = 1 if truth(arguments[0], row, scope) else 2
        return evaluate(arguments[chosen], row, scope)
    if function == "COALESCE":
        for argument in arguments:
            try:
                return evaluate(argument, row, scope)
            except TypeFault:
                continue
        raise TypeFault("COALESCE without a value")
    given = [evaluate(argument, row, scope) for argument in arguments]
    if function.startswith(TAXONOMY):
        return _boolean(scope is not None and scope.is_kin(function.removeprefix(TAXONOMY), *given))
    return FUNCTIONS[function](*given)


# ---- functions of terms -----------------------------------------------------------------------------------


def _literal(term: Term) -> Term:
    if term[0] != "literal":
        raise TypeFault("expected a literal")
    return term


def _str(term: Term) -> Term:
    if term[0] == "blank":
        raise TypeFault("STR of a blank node")
    return literal(term[1])


def _lang_matches(tag: Term, wanted: Term) -> Term:
    """RFC 4647 basic filtering, of two strings without a tag (SPARQL 17.4.3.7)."""
    if tag[3:] != ("",) or wanted[3:] != ("",):
        raise TypeFault("expected strings without a language tag")
    one, two = _text(tag).lower(), _text(wanted).lower()
    return _boolean(bool(one) if two == "*" else one == two or one.startswith(two + "-"))


def _text(term: Term) -> str:
    """The text of a string or tagged literal."""
    if term[0] != "literal" or not (term[3] or term[2] == STRING):
        raise TypeFault("expected a string")
    return term[1]


def _full_text(term: Term, selection: Selection) -> bool:
    return fulfils(selection, words_of(_text(term)), stems_of(term[3], selection))


def _score(term: Term, terms: Term) -> Term:
    """``ft:score``, to 9 places (docs/language.md)."""
    return literal(repr(round(cosine(words_of(_text(term)), words_of(_text(terms))), 9)), XSD + "double")


def _strings(function: Callable[[str, str], bool]) -> Callable[[Term, Term], Term]:
    def called(one: Term, two: Term) -> Term:
        first, second = _text(one), _text(two)
        if two[3] and two[3] != one[3]:
            raise TypeFault("incompatible language tags")
        return _boolean(function(first, second))

    return called


def _regex(text: Term, pattern: Term, flags: Term = NO_FLAGS) -> Term:
    """Python's engine: enough for the constructs that the W3C cases and the generator use."""
    bits = 0
    for letter in _text(flags):
        bits |= {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE, "q": 0}[letter]
    wanted = re.escape(_text(pattern)) if "q" in flags[1] else _text(pattern)
    if "x" in flags[1]:
        wanted, bits = _without_space(wanted), bits & ~re.VERBOSE
    return _boolean(re.search(wanted, _text(text), bits) is not None)


def _without_space(pattern: str) -> str:
    """XPath's x flag: white space is dropped outside character classes."""
    parts = re.split(r"(\[[^\]]*\])", pattern)
    return "".join(part if part.startswith("[") else re.sub(r"\s+", "", part) for part in parts)


def _number(term: Term) -> Fraction | float:
    if term[0] != "literal" or value_of(term).family not in NUMERIC:
        raise TypeFault("expected a number")
    return value_of(term).number


def _arithmetic(sign: str) -> Callable[[Term, Term], Term]:
    def called(one: Term, two: Term) -> Term:
        a, b = _number(one), _number(two)
        families = (value_of(one).family, value_of(two).family)
        wide = DOUBLE if DOUBLE in families else FLOAT if FLOAT in families else EXACT
        if wide == EXACT:
            whole = one[2] != XSD + "decimal" and two[2] != XSD + "decimal"
            result = {"+": a + b, "-": a - b, "*": a * b}[sign]
            made = literal(str(int(result)), XSD + "integer") if whole else _decimal(result)
            if value_of(made).family == ILL:
                raise TypeFault("beyond 64 bits")
            return made
        a, b = promote(value_of(one), value_of(two))
        result = {"+": a + b, "-": a - b, "*": a * b}[sign]
        return literal(_floating_text(single(result) if wide == FLOAT else result), XSD + wide)

    return called


def _floating_text(value: float) -> str:
    """NaN and infinity as XSD writes them."""
    return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(repr(value), repr(value))


def _divided(one: Term, two: Term) -> Term:
    """Rounded to 18 digits after the point, halves to even. Raises ValueError for floating-point numbers."""
    a, b = _number(one), _number(two)
    if not isinstance(a, Fraction) or not isinstance(b, Fraction):
        raise ValueError("division of floating-point numbers is outside the reference")
    if b == 0:
        raise TypeFault("division by zero")
    return _decimal(Fraction(round(a / b * 10**18), 10**18))


def _decimal(value: Fraction) -> Term:
    """Raises `TypeFault` beyond 18 digits on either side of the point."""
    if not fits_decimal(value):
        raise TypeFault("beyond 18 digits")
    return literal(_decimal_text(value), XSD + "decimal")


def _decimal_text(value: Fraction) -> str:
    digits = 0
    while value * 10**digits % 1:
        digits += 1
    whole = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{whole[:-digits]}.{whole[-digits:]}" if digits else sign + whole


def _minus(term: Term) -> Term:
    return _arithmetic("-")(literal("0", XSD + "integer"), term)


def _absolute(term: Term) -> Term:
    return _minus(term) if _number(term) < 0 else term


def _cast(name: str) -> Callable[[Term], Term]:
    """Casts as the W3C cases need them: a lexical form that the type allows, or the true value of a number."""

    def called(term: Term) -> Term:
        if name == "string":
            return _str(term)
        if term[0] != "literal":
            raise TypeFault(f"no cast of {term[0]} to {name}")
        text = term[1].strip() if term[2] == STRING and not term[3] else _plain(term, name)
        made = literal(text, XSD + name)
        if value_of(made).family in ("ill-typed", "unrecognised"):
            raise TypeFault(f"no {name}: {text!r}")
        return made

    return called


def _plain(term: Term, name: str) -> str:
    value = value_of(term)
    if value.family in NUMERIC or value.family == "boolean":
        if name == "dateTime":
            raise TypeFault("a number is no dateTime")
        number = value.number
        if name == "boolean":
            return "true" if number and number == number else "false"
        if name in ("integer", "decimal"):
            if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
                raise TypeFault("no exact number")
            exact = Fraction(number)
            return str(int(exact)) if name == "integer" else _decimal_text(exact)
        return repr(float(number))
    if value.family == name:
        return term[1]
    raise TypeFault(f"no cast of {value.family} to {name}")


FUNCTIONS: dict[str, Callable[..., Term]] = {
    "SAMETERM": lambda one, two: _boolean(one == two),
    "STR": _str,
    "LANG": lambda term: literal(_literal(term)[3]),
    "DATATYPE": lambda term: iri(_literal(term)[2]),
    "LANGMATCHES": _lang_matches,
    "ISIRI": lambda term: _boolean(term[0] == "iri"),
    "ISBLANK": lambda term: _boolean(term[0] == "blank"),
    "ISLITERAL": lambda term: _boolean(term[0] == "literal"),
    "ISNUMERIC": lambda term: _boolean(term[0] == "literal" and value_of(term).family in NUMERIC),
    "IRI": lambda term: iri(_str(term)[1]),
    "STRLEN": lambda term: literal(str(len(_text(term))), XSD + "integer"),
    "CONTAINS": _strings(lambda one, two: two in one),
    "STRSTARTS": _strings(str.startswith),
    "STRENDS": _strings(str.endswith),
    "REGEX": _regex,
    "ft:score": _score,
    "+": _arithmetic("+"),
    "-": _arithmetic("-"),
    "*": _arithmetic("*"),
    "/": _divided,
    "u-": _minus,
    "u+": lambda term: _arithmetic("+")(literal("0", XSD + "integer"), term),
    "ABS": _absolute,
} | {XSD + name: _cast(name) for name in ("string", "boolean", "integer", "decimal", "float", "double", "dateTime")}
