"""Slips of the pen that the grammar takes: a date without quotes, a literal as subject, upper case beside ``LCASE``.

What a query says is read once for its template (`read_slips`); whether it is a slip depends on the constants
(`doubt_slips`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import ComparisonKind, Constant, constant_text, place_of
from triplecast.languages.vocabularies import RDF
from triplecast.model.algebra import Call, Expression, Operation, Slot, TriplePattern, from_ntriples, subexpressions
from triplecast.terms.values import NUMERIC_TYPES, ValueClass

_TYPE = f"<{RDF}type>"
_NUMBERS = (ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE)
_SEARCHES = frozenset({"CONTAINS", "STRSTARTS", "STRENDS"})
_CASES = frozenset({"LCASE", "UCASE"})


class Slips(NamedTuple):
    """What may be one, by kind."""

    operands: tuple[Constant, ...]
    """Constants that are calculated with."""
    sums: tuple[tuple[Constant, Constant, Constant], ...]
    """``a - b - c``, which is how a date without quotes is read."""
    cased: tuple[tuple[str, Constant], ...]
    """``LCASE`` or ``UCASE``, and the text that its result is asked for."""
    subjects: tuple[Constant, ...]
    classes: tuple[tuple[Constant, Constant], ...]
    """Predicate and object of triples where both are constants."""
    now: bool
    """Whether ``NOW()`` is calculated with."""


def read_slips(expressions: Iterable[Expression], triples: Sequence[TriplePattern]) -> Slips:
    parts = [part for expression in expressions for part in subexpressions(expression)]
    calculated = [part for part in parts if isinstance(part, Operation) and part.operator in ("+", "-", "*", "/")]
    operands = [operand for part in calculated for operand in part.arguments]
    return Slips(
        tuple(operand for operand in operands if isinstance(operand, NamedNode | Literal | Slot)),
        tuple(sums for part in calculated for sums in _sums(part)),
        tuple(pair for part in parts for pair in _cased(part)),
        tuple(triple.subject for triple in triples if isinstance(triple.subject, NamedNode | Literal | Slot)),
        tuple(
            (triple.predicate, triple.object)
            for triple in triples
            if isinstance(triple.predicate, NamedNode | Slot) and isinstance(triple.object, NamedNode | Literal | Slot)
        ),
        any(isinstance(operand, Call) and operand.function == "NOW" for operand in operands),
    )


def doubt_slips(slips: Slips, constants: tuple[str, ...]) -> Iterator[str]:
    """Sentences that say what is odd and what to write instead."""
    if slips.now:
        yield "NOW() + … and NOW() - … have no value: SPARQL 1.1 calculates with numbers alone; write the date itself"
    for year, month, day in slips.sums:
        found = _unquoted_date(*(constant_text(part, constants) for part in (year, month, day)))
        if found is not None:
            yield found
    for operand in () if slips.now else slips.operands:
        text = constant_text(operand, constants)
        if not _may_be_number(text):
            yield f"what is calculated with {text} has no value: SPARQL 1.1 calculates with numbers alone"
    for function, constant in slips.cased:
        text = constant_text(constant, constants)
        value = from_ntriples(text) if text[0] == '"' else None
        if isinstance(value, Literal) and _never_in(value.value, function):
            kept, other = ("lower", value.value.lower()) if function == "LCASE" else ("upper", value.value.upper())
            yield f"{function}(…) gives {kept} case and so never {text}; write {other!r}"
    for subject in slips.subjects:
        text = constant_text(subject, constants)
        if text[0] == '"':
            yield f"{text} as a subject matches nothing: a literal is none in RDF; write an IRI, <…>, or a variable"
    for predicate, value_of_type in slips.classes:
        text = constant_text(value_of_type, constants)
        if text[0] == '"' and constant_text(predicate, constants) == _TYPE:
            yield f"a {text} asks for a string, and classes are IRIs; write <…> or a name like rss:item"


def _sums(part: Operation) -> Iterator[tuple[Constant, Constant, Constant]]:
    left, *rest = part.arguments
    if isinstance(left, Operation) and left.operator == part.operator and part.operator in "+-" and len(rest) == 1:
        three = (*left.arguments, rest[0])
        if len(three) == 3 and all(isinstance(each, Literal | Slot) for each in three):
            yield three  # type: ignore[misc]


def _cased(part: Expression) -> Iterator[tuple[str, Constant]]:
    """``=`` and ``IN`` either way round; of ``!=`` the constant may stand there for good."""
    if isinstance(part, Operation) and part.operator in ("=", "in"):
        pairs = [(part.arguments[0], other) for other in part.arguments[1:]]
        pairs += [(other, mine) for mine, other in pairs] if part.operator == "=" else []
    elif isinstance(part, Call) and part.function in _SEARCHES:
        pairs = [(part.arguments[0], part.arguments[1])]
    else:
        return
    for text, wanted in pairs:
        if isinstance(text, Call) and text.function in _CASES and isinstance(wanted, Literal | Slot):
            yield text.function, wanted


def _never_in(text: str, function: str) -> bool:
    """Whether it holds a letter that the function changes, whatever stands around it."""
    return any((sign.lower() if function == "LCASE" else sign.upper()) != sign for sign in text)


def _may_be_number(text: str) -> bool:
    kind, _ = place_of(text)
    ill = kind == ValueClass.ILL and text[text.rindex("^^<") + 3 : -1] in NUMERIC_TYPES
    return ill or kind in _NUMBERS or kind >= ComparisonKind.NAN


def _unquoted_date(*texts: str) -> str | None:
    values = [from_ntriples(text) for text in texts]
    digits = [value.value.lstrip("-+") for value in values if isinstance(value, Literal)]
    if [len(part) for part in digits] != [4, 2, 2] or not all(part.isdigit() for part in digits):
        return None
    year, month, day = digits
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    number = int(year) - int(month) - int(day)
    return (
        f"{year}-{month}-{day} is the number {number}; a date is written "
        f'"{year}-{month}-{day}T00:00:00Z"^^xsd:dateTime or "{year}-{month}-{day}"^^xsd:date'
    )
