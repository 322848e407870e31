"""The built-in functions of SPARQL 17.4 that are functions of their arguments' terms alone.

Each takes terms and gives a term or raises `ValueFault`. "String literal" is a plain or language-tagged string.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.evaluate import regex
from triplecast.evaluate.budget import BYTES_A_STEP, Budget
from triplecast.model.algebra import Term
from triplecast.terms.arithmetic import decimal_term, double_term, integer_term, number_of, round_number
from triplecast.terms.casts import CASTS, boolean_term, coerce_to_number, coerce_to_text
from triplecast.terms.compare import ValueFault
from triplecast.terms.temporal import ClockTime, read_clock
from triplecast.terms.values import XSD, XSD_DATETIME, XSD_STRING, ValueClass, value_of
from triplecast.text import CONTAINS, SCORE, TextFault, holds, parse_selection, score
from triplecast.text.matching import CHARACTERS_A_STEP

_LANG_STRING = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")
_DAY_TIME_DURATION = NamedNode(XSD + "dayTimeDuration")


class Builtin(NamedTuple):
    least: int
    most: int | None
    """Numbers of arguments; None: any."""
    apply: Callable[[Sequence[Term], Budget], Term]


def call_function(name: str, arguments: Sequence[Term], budget: Budget) -> Term:
    """``name(arguments)`` for a keyword, a reading or a cast's IRI; raises `ValueFault`, also for a wrong number of
    arguments.

    The caller has spent what reading the arguments takes; what is written, or read more than once, is spent here.
    """
    cast = CASTS.get(name) or COERCIONS.get(name)
    if cast is not None:
        if len(arguments) != 1:
            raise ValueFault(f"{name} takes one argument")
        return cast(arguments[0])
    builtin = BUILTINS.get(name)
    if builtin is None:
        raise ValueFault(f"there is no function {name}")
    if len(arguments) < builtin.least or (builtin.most is not None and len(arguments) > builtin.most):
        raise ValueFault(f"{name} does not take {len(arguments)} arguments")
    return builtin.apply(arguments, budget)


def text_of(term: Term) -> str:
    """The text of a string literal."""
    if isinstance(term, Literal) and (term.language is not None or term.datatype.value == XSD_STRING):
        return term.value
    raise ValueFault(f"{term} is not a string")


def plain_text_of(term: Term) -> str:
    """The text of a string without language tag."""
    if isinstance(term, Literal) and term.language is None and term.datatype.value == XSD_STRING:
        return term.value
    raise ValueFault(f"{term} is not a string without language tag")


def string_of(term: Term) -> str:
    """STR(): the lexical form of a literal, the text of an IRI."""
    if isinstance(term, BlankNode):
        raise ValueFault("a blank node has no string")
    return term.value


def tagged_like(text: str, term: Term) -> Literal:
    return Literal(text, language=term.language if isinstance(term, Literal) else None)


def compatible_texts(first: Term, second: Term) -> tuple[str, str]:
    """SPARQL 17.4.3.1.2: the second has no tag, or the first's."""
    texts = text_of(first), text_of(second)
    assert isinstance(first, Literal)
    assert isinstance(second, Literal)
    if second.language is not None and second.language != first.language:
        raise ValueFault(f"the language tags of {first} and {second} differ")
    return texts


def language_matches(tag: str, wanted: str) -> bool:
    """Basic filtering of RFC 4647, section 3.3.1."""
    tag, wanted = tag.lower(), wanted.lower()
    return tag != "" if wanted == "*" else tag == wanted or tag.startswith(f"{wanted}-")


def clock_of(term: Term) -> ClockTime:
    if isinstance(term, Literal) and term.datatype.value == XSD_DATETIME:
        clock = read_clock(term.value)
        if clock is not None:
            return clock
    raise ValueFault(f"{term} is not a dateTime")


def _language(term: Term) -> Literal:
    if not isinstance(term, Literal):
        raise ValueFault(f"{term} is not a literal")
    return Literal(term.language or "")


def _datatype(term: Term) -> NamedNode:
    if not isinstance(term, Literal):
        raise ValueFault(f"{term} is not a literal")
    return term.datatype if term.language is None else _LANG_STRING


def _typed(arguments: Sequence[Term], budget: Budget) -> Literal:
    text, datatype = plain_text_of(arguments[0]), arguments[1]
    if not isinstance(datatype, NamedNode):
        raise ValueFault("the datatype is not an IRI")
    if datatype == _LANG_STRING:
        raise ValueFault("rdf:langString needs a language tag")
    try:
        typed = Literal(text, datatype=datatype)
    except ValueError as error:
        raise ValueFault(f"no literal can be made with the datatype {datatype}") from error
    budget.note(typed)
    return typed


def _tagged(arguments: Sequence[Term], _: Budget) -> Literal:
    text, tag = plain_text_of(arguments[0]), plain_text_of(arguments[1])
    try:
        return Literal(text, language=tag)
    except ValueError as error:
        raise ValueFault(f"{tag!r} is no language tag") from error


def _concat(arguments: Sequence[Term], budget: Budget) -> Literal:
    texts: list[str] = []
    for term in arguments:
        texts.append(text_of(term))
        budget.spend(len(texts[-1]) // BYTES_A_STEP)
    tags = {term.language for term in arguments if isinstance(term, Literal)}
    return Literal("".join(texts), language=tags.pop() if len(tags) == 1 else None)


def _substring(arguments: Sequence[Term], budget: Budget) -> Literal:
    """fn:substring: characters at positions p with round(start) <= p < round(start) + round(length)."""
    text = text_of(arguments[0])
    budget.spend_text(len(text))
    bounds = [_position(term) for term in arguments[1:]]
    first = bounds[0]
    end = first + bounds[1] if len(bounds) > 1 else math.inf
    if math.isnan(first) or math.isnan(end):
        return tagged_like("", arguments[0])
    low = int(min(max(first, 1), len(text) + 1))
    high = int(min(max(end, 1), len(text) + 1))
    return tagged_like(text[low - 1 : high - 1], arguments[0])


def _position(term: Term) -> float:
    number = number_of(term)[0]
    if isinstance(number, float) and not math.isfinite(number):
        return number
    return float(number_of(round_number("ROUND", term))[0])


def _part(arguments: Sequence[Term], budget: Budget, after: bool) -> Literal:
    """The text before or after the first separator; empty and without tag where there is none."""
    text, separator = compatible_texts(arguments[0], arguments[1])
    budget.spend_text(len(text))
    before, found, rest = text.partition(separator) if separator else ("", True, text)
    return tagged_like(rest if after else before, arguments[0]) if found else Literal("")


def _replace(arguments: Sequence[Term], budget: Budget) -> Literal:
    flags = plain_text_of(arguments[3]) if len(arguments) > 3 else ""
    pattern, replacement = plain_text_of(arguments[1]), plain_text_of(arguments[2])
    return tagged_like(regex.replace(text_of(arguments[0]), pattern, replacement, flags, budget), arguments[0])


def _regex(arguments: Sequence[Term], budget: Budget) -> Literal:
    flags = plain_text_of(arguments[2]) if len(arguments) > 2 else ""
    return boolean_term(regex.matches(text_of(arguments[0]), plain_text_of(arguments[1]), flags, budget))


def _contains(arguments: Sequence[Term], budget: Budget) -> Literal:
    """``ft:contains`` of one literal (semantics 5)."""
    literal, selection = _read_selection(arguments)
    try:
        parsed = parse_selection(selection)
    except TextFault as fault:
        raise ValueFault(f"no full-text selection: {fault.message}") from fault
    return boolean_term(holds(parsed, literal.value, literal.language, budget.spend))


def _score(arguments: Sequence[Term], budget: Budget) -> Literal:
    """``ft:score`` of one literal (semantics 5)."""
    literal, terms = _read_selection(arguments)
    budget.spend(1 + (len(literal.value) + len(terms)) // CHARACTERS_A_STEP)
    return double_term(score(literal.value, terms))


def _read_selection(arguments: Sequence[Term]) -> tuple[Literal, str]:
    literal, text = arguments
    if not isinstance(literal, Literal) or (literal.language is None and literal.datatype.value != XSD_STRING):
        raise ValueFault(f"{literal} is no string, so it has no words")
    if not isinstance(text, Literal):
        raise ValueFault(f"{text} is no text")
    return literal, text.value


def _seconds(clock: ClockTime) -> Literal:
    return decimal_term(Decimal(clock.seconds))


def _timezone(clock: ClockTime) -> Literal:
    if clock.zone is None:
        raise ValueFault("a dateTime without a zone")
    hours, minutes = (0, 0) if clock.zone == "Z" else (int(clock.zone[1:3]), int(clock.zone[4:6]))
    if not hours and not minutes:
        return Literal("PT0S", datatype=_DAY_TIME_DURATION)
    text = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return Literal(f"{'-' if clock.zone[0] == '-' else ''}PT{text}", datatype=_DAY_TIME_DURATION)


def _is_numeric(term: Term) -> bool:
    return ValueClass.EXACT <= value_of(term).kind <= ValueClass.DOUBLE


def _one(function: Callable[[Term], Term]) -> Builtin:
    return Builtin(1, 1, lambda arguments, _: function(arguments[0]))


def _test(function: Callable[[Term], bool]) -> Builtin:
    return Builtin(1, 1, lambda arguments, _: boolean_term(function(arguments[0])))


def _text(function: Callable[[str], str]) -> Builtin:
    """A function of the text alone, which keeps the tag and may make the text three times as long."""

    def apply(arguments: Sequence[Term], budget: Budget) -> Term:
        text = text_of(arguments[0])
        budget.spend_text(4 * len(text))
        return tagged_like(function(text), arguments[0])

    return Builtin(1, 1, apply)


def _search(function: Callable[[str, str], bool]) -> Builtin:
    def apply(arguments: Sequence[Term], budget: Budget) -> Term:
        texts = compatible_texts(arguments[0], arguments[1])
        budget.spend_text(len(texts[0]))
        return boolean_term(function(*texts))

    return Builtin(2, 2, apply)


def _digest(algorithm: str) -> Builtin:
    def apply(arguments: Sequence[Term], budget: Budget) -> Term:
        text = plain_text_of(arguments[0])
        budget.spend_text(len(text))
        return Literal(hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest())

    return Builtin(1, 1, apply)


def _rounding(name: str) -> Builtin:
    return _one(lambda term: round_number(name, term))


def _field(read: Callable[[ClockTime], int]) -> Builtin:
    return _one(lambda term: integer_term(read(clock_of(term))))


def _encode(arguments: Sequence[Term], budget: Budget) -> Literal:
    text = text_of(arguments[0])
    budget.spend_text(9 * len(text))
    return Literal(quote(text, safe="~"))


BUILTINS: Mapping[str, Builtin] = MappingProxyType(
    {
        "STR": _one(lambda term: Literal(string_of(term))),
        "LANG": _one(_language),
        "LANGMATCHES": Builtin(
            2, 2, lambda arguments, _: boolean_term(language_matches(*map(plain_text_of, arguments)))
        ),
        "DATATYPE": _one(_datatype),
        "STRDT": Builtin(2, 2, _typed),
        "STRLANG": Builtin(2, 2, _tagged),
        **{name: _rounding(name) for name in ("ABS", "CEIL", "FLOOR", "ROUND")},
        "CONCAT": Builtin(0, None, _concat),
        "STRLEN": _one(lambda term: integer_term(len(text_of(term)))),
        "SUBSTR": Builtin(2, 3, _substring),
        "UCASE": _text(str.upper),
        "LCASE": _text(str.lower),
        "ENCODE_FOR_URI": Builtin(1, 1, _encode),
        "CONTAINS": _search(lambda text, part: part in text),
        "STRSTARTS": _search(str.startswith),
        "STRENDS": _search(str.endswith),
        "STRBEFORE": Builtin(2, 2, lambda arguments, budget: _part(arguments, budget, after=False)),
        "STRAFTER": Builtin(2, 2, lambda arguments, budget: _part(arguments, budget, after=True)),
        "REGEX": Builtin(2, 3, _regex),
        "REPLACE": Builtin(3, 4, _replace),
        **{name: _field(attrgetter(name.lower())) for name in ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES")},
        "SECONDS": _one(lambda term: _seconds(clock_of(term))),
        "TIMEZONE": _one(lambda term: _timezone(clock_of(term))),
        "TZ": _one(lambda term: Literal(clock_of(term).zone or "")),
        **{name: _digest(name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
        "SAMETERM": Builtin(2, 2, lambda arguments, _: boolean_term(arguments[0] == arguments[1])),
        **{name: _test(lambda term: isinstance(term, NamedNode)) for name in ("ISIRI", "ISURI")},
        "ISBLANK": _test(lambda term: isinstance(term, BlankNode)),
        "ISLITERAL": _test(lambda term: isinstance(term, Literal)),
        "ISNUMERIC": _test(_is_numeric),
        CONTAINS: Builtin(2, 2, _contains),
        SCORE: Builtin(2, 2, _score),
    }
)
"""By upper-case keyword, full text by IRI."""

COERCIONS: Mapping[str, Callable[[Term], Term]] = MappingProxyType(
    {"NUMBER": coerce_to_number, "TEXT": lambda term: Literal(coerce_to_text(term))}
)
"""RDQL's coercions of a term, which no query can name."""
