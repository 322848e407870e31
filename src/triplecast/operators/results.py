"""Results of operators' functions, read as rows of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.model.algebra import Term, to_ntriples
from triplecast.model.answers import Found
from triplecast.model.operators import Operator
from triplecast.model.printable import shortened

MOST_ROWS = 10_000
"""Rows that one call may give."""
_MOST_BITS = 4_096
"""Of an int; Python refuses to write much longer ones."""
_DECIMAL = NamedNode("http://www.w3.org/2001/XMLSchema#decimal")
_TRUE = Literal(True)
_BOOLEANS = (_TRUE, Literal(False))


class WrongResult(TypeError):
    """An operator gave what its declaration does not allow."""


class Unanswerable(ValueError):
    """Raised by an operator (or given in a batch's list, for one call of it) for what it cannot say anything of: text
    that is no geometry, a picture that is not there. The pair is undecided with its message, which says how to fix it;
    the operator itself has done nothing wrong, so this counts nothing towards its quarantine."""


def read_result(declared: Operator, result: object) -> Found:
    """What a function gave, as rows. Raises `WrongResult`; iterates no further than `MOST_ROWS` allows."""
    result = _plain(result)
    if declared.free == 0:
        if isinstance(result, bool) or result in _BOOLEANS:
            return Found(((),) if result is True or result == _TRUE else ())
        raise WrongResult(f"it filters, so it has to give a bool, and gave {_shown(result)}")
    if result is None:
        return Found(())
    rows: dict[tuple[str, ...], tuple[Term, ...]] = {}
    for row in _rows(declared, result):
        terms = tuple(_term(declared, value) for value in row)
        rows[tuple(map(to_ntriples, terms))] = terms
        if len(rows) > MOST_ROWS:
            raise WrongResult(f"it gave more than {MOST_ROWS:,} results")
    return Found(tuple(rows[key] for key in sorted(rows)))


def _rows(declared: Operator, result: object) -> Iterable[Sequence[object]]:
    free = declared.free
    if _is_value(result):
        if free > 1:
            raise WrongResult(f"it has {free} free arguments, so it has to give tuples, and gave {_shown(result)}")
        yield (result,)
        return
    if isinstance(result, tuple) and len(result) == free > 1 and all(map(_is_value, result)):
        yield result
        return
    if isinstance(result, dict | bytes | Triple) or not isinstance(result, Iterable):
        wanted = "a term, None, or terms" if free == 1 else "tuples of terms"
        raise WrongResult(f"it has to give {wanted}, and gave {_shown(result)}")
    for count, row in enumerate(result, 1):
        if count > 10 * MOST_ROWS:
            raise WrongResult(f"it gave more than {10 * MOST_ROWS:,} results, equal ones counted")
        if free == 1 and not isinstance(row, tuple):
            yield (row,)
        elif isinstance(row, tuple) and len(row) == free:
            yield row
        else:
            raise WrongResult(f"each of its results has {free} terms, and one is {_shown(row)}")


def _is_value(value: object) -> bool:
    return isinstance(_plain(value), NamedNode | BlankNode | Literal | bool | int | float | Decimal | str)


def _term(declared: Operator, value: object) -> Term:
    value = _plain(value)
    if isinstance(value, NamedNode | BlankNode):
        return value
    if isinstance(value, Literal):
        tag = value.language
        return value if tag is None or tag == tag.lower() else Literal(value.value, language=tag.lower())
    if isinstance(value, Decimal) and value.is_finite():
        return Literal(f"{value:f}", datatype=_DECIMAL)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise WrongResult(f"it gave an int of {value.bit_length():,} bits, {_MOST_BITS:,} at most can be written")
    if isinstance(value, bool | int | float):
        return Literal(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise WrongResult(f"it gave text with half a character: {_shown(value)}") from None
        return Literal(value)
    raise WrongResult(f"a result is a term, bool, int, float, Decimal or str, and it gave {_shown(value)}")


def _plain(value: object) -> object:
    """A scalar of numpy as Python's own."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return value.item()  # type: ignore[attr-defined]
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {shortened(text, 80)}"
