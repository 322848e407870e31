"""An operator's worker: `answer` is the function that the sandbox runs. What an operator raises, the sandbox tells."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triplecast.model.algebra import from_ntriples
from triplecast.model.answers import Failed, format_answer, told_reason
from triplecast.model.operators import Operator
from triplecast.operators.declaration import find_declaration, load
from triplecast.operators.messages import CallRequest, read_request, write_absence, write_answers
from triplecast.operators.results import Unanswerable, WrongResult, read_result


def answer(request: bytes) -> bytes:
    """Says so of an operator that the modules of this worker do not declare, or with another version. Raises whatever
    the operator raises."""
    asked = read_request(request)
    declared = find_declaration(asked.module, asked.operator)
    if declared is None:
        return write_absence("its module does not declare it any more; declare it there, or cancel who asks it")
    if declared.version != asked.version:
        return write_absence(
            f"it has version {declared.version} where it is evaluated, and {asked.version} where it is asked: what it "
            "is made of changed meanwhile; start the engine again"
        )
    function = load(declared)
    with _noted(function):
        return write_answers(
            _batch(declared, function, asked) if declared.batch else _singly(declared, function, asked)
        )


@contextmanager
def _noted(function: Callable[..., object]) -> Iterator[None]:
    """Notes on what is raised where in the function's own file that was: the deepest line of it."""
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


def _singly(declared: Operator, function: Callable[..., object], asked: CallRequest) -> list[tuple[bytes, float]]:
    answers: list[tuple[bytes, float]] = []
    for event, arguments in asked.calls:
        began = time.perf_counter()
        given = _written(declared, _one(function, event, *map(from_ntriples, arguments)))
        answers.append((given, time.perf_counter() - began))
    return answers


def _one(function: Callable[..., object], *arguments: object) -> object:
    """What it gives, or that it cannot."""
    try:
        return function(*arguments)
    except Unanswerable as refused:
        return refused


def _batch(declared: Operator, function: Callable[..., Any], asked: CallRequest) -> list[tuple[bytes, float]]:
    """An answer for each call, with an equal share of what they took."""
    if not asked.calls:
        return []
    began = time.perf_counter()
    answers = [_written(declared, result) for result in _results(function, asked)]
    share = (time.perf_counter() - began) / len(answers)
    return [(given, share) for given in answers]


def _results(function: Callable[..., Any], asked: CallRequest) -> list[object]:
    """A result for each call. A batch that is refused as a whole is asked again in parts, so it fails here."""
    given = [[event for event, _ in asked.calls], *_columns(asked)]
    try:
        results = list(function(*given))
    except Unanswerable as refused:
        if len(asked.calls) > 1:
            raise
        return [refused]
    if len(results) != len(asked.calls):
        raise WrongResult(f"it was given {len(asked.calls)} events and gave {len(results)} results")
    return results


def _written(declared: Operator, result: object) -> bytes:
    """One answer. Results that are made while they are read may turn out to be unanswerable here."""
    try:
        if isinstance(result, Unanswerable):
            raise result
        return format_answer(read_result(declared, result))
    except Unanswerable as refused:
        return format_answer(Failed(told_reason(str(refused))))


def _columns(asked: CallRequest) -> list[list[object]]:
    """The arguments at each place, of all calls."""
    rows = [[from_ntriples(argument) for argument in arguments] for _, arguments in asked.calls]
    return [list(column) for column in zip(*rows, strict=True)]
