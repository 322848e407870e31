"""The worker's side of operators: `answer` and `check` are the functions that sandboxes run. They call an operator's
function and read what it returns as rows of terms; the sandbox reports what it raises."""

from __future__ import annotations

import inspect
import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.model.algebra import Term, from_ntriples, to_ntriples
from triplecast.model.answers import Failed, Found, bounded_reason, format_answer
from triplecast.model.operators import Operator
from triplecast.model.printable import shortened
from triplecast.operators.declaration import find_declaration, load
from triplecast.operators.messages import CallRequest, read_request, write_absence, write_answers
from triplecast.operators.publication_view import Unanswerable

MOST_ROWS = 10_000
"""Rows that one call may give."""
_MOST_BITS = 4_096
"""Of an int; Python refuses to write much longer ones."""
_DECIMAL = NamedNode("http://www.w3.org/2001/XMLSchema#decimal")
_TRUE = Literal(True)
_BOOLEANS = (_TRUE, Literal(False))


class WrongResult(TypeError):
    """An operator returned what its declaration does not allow."""


def answer(request: bytes) -> bytes:
    """Call an operator, or answer that the modules of this worker do not declare it, or with another version. Raises
    whatever the operator raises."""
    asked = read_request(request)
    declared = find_declaration(asked.module, asked.operator)
    if declared is None:
        return write_absence("its module does not declare it; do that there, or cancel the subscriptions that use it")
    if declared.version != asked.version:
        return write_absence(
            f"its module declares version {declared.version} now, and {asked.version} when the engine started; "
            "start the engine again"
        )
    function = load(declared)
    with _noted(function):
        return write_answers((_call_batch if declared.batch else _call_each)(declared, function, asked))


def check(request: bytes) -> bytes:
    """Return, as JSON, why an operator's own check refuses constant arguments; null where it does not."""
    module, iri, arguments = json.loads(request)
    declared = find_declaration(module, iri)
    if declared is None or not declared.check:
        return b"null"
    try:
        load(declared, declared.check)(*(None if each is None else from_ntriples(each) for each in arguments))
    except Unanswerable as refused:
        return json.dumps(bounded_reason(str(refused))).encode()
    return b"null"


@contextmanager
def _noted(function: Callable[..., object]) -> Iterator[None]:
    """Add to what is raised the deepest line of the function's own file."""
    try:
        yield
    except BaseException as error:
        file = inspect.unwrap(function).__code__.co_filename
        frames = traceback.walk_tb(error.__traceback__)
        places = [(line, frame.f_code.co_name) for frame, line in frames if frame.f_code.co_filename == file]
        if places:
            line, name = places[-1]
            error.add_note(f"{Path(file).name}, line {line}, in {name}")
        raise


def _call_each(declared: Operator, function: Callable[..., object], asked: CallRequest) -> list[tuple[bytes, float]]:
    answers: list[tuple[bytes, float]] = []
    for view, arguments in asked.calls:
        began = time.perf_counter()
        terms = [from_ntriples(each) for each in arguments]
        result: object
        try:
            result = function(view, *terms)
        except Unanswerable as refused:
            result = refused
        answers.append((_write(declared, result), time.perf_counter() - began))
    return answers


def _call_batch(declared: Operator, function: Callable[..., Any], asked: CallRequest) -> list[tuple[bytes, float]]:
    """Call a batch operator once; each call gets an equal share of the time. A batch that is refused as a whole fails:
    the engine repeats it in parts."""
    if not asked.calls:
        return []
    began = time.perf_counter()
    rows = [[from_ntriples(argument) for argument in arguments] for _, arguments in asked.calls]
    columns = [list(column) for column in zip(*rows, strict=True)]
    try:
        results = list(function([view for view, _ in asked.calls], *columns))
    except Unanswerable as refused:
        if len(asked.calls) > 1:
            raise
        results = [refused]
    if len(results) != len(asked.calls):
        raise WrongResult(f"it was given {len(asked.calls)} events and gave {len(results)} results")
    answers = [_write(declared, result) for result in results]
    share = (time.perf_counter() - began) / len(answers)
    return [(given, share) for given in answers]


def _write(declared: Operator, result: object) -> bytes:
    """Write one answer. Results that are made while they are read may turn out to be unanswerable here."""
    try:
        if isinstance(result, Unanswerable):
            raise result
        return format_answer(read_result(declared, result))
    except Unanswerable as refused:
        return format_answer(Failed(bounded_reason(str(refused))))


def read_result(declared: Operator, result: object) -> Found:
    """Read what a function returned as rows. Raises `WrongResult`; iterates no further than `MOST_ROWS` allows."""
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
