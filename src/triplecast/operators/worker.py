"""An operator's worker: `answer` is the function that the sandbox runs. What an operator raises, the sandbox tells."""

from __future__ import annotations

from triplecast.model.terms import from_ntriples
from triplecast.operators.answers import WrongResult, format_answer, read_result
from triplecast.operators.frames import Request, read_request, write_answers
from triplecast.operators.registry import find_operator


def answer(request: bytes) -> bytes:
    """Raises LookupError for an operator that the modules of this worker do not declare, and whatever it raises."""
    asked = read_request(request)
    declared = find_operator(asked.operator)
    if declared is None:
        raise LookupError(f"<{asked.operator}> is not declared when its module is imported")
    function = declared.load()
    results: list[object] = []
    if declared.batch:
        columns = _columns(asked)
        results = list(function([event for event, _ in asked.calls], *columns))
        if len(results) != len(asked.calls):
            raise WrongResult(f"it was given {len(asked.calls)} events and gave {len(results)} results")
    else:
        for event, arguments in asked.calls:
            results.append(function(event, *map(from_ntriples, arguments)))
    return write_answers([format_answer(read_result(declared, result)) for result in results])


def _columns(asked: Request) -> list[list[object]]:
    """The arguments at each place, of all calls."""
    rows = [[from_ntriples(argument) for argument in arguments] for _, arguments in asked.calls]
    return [list(column) for column in zip(*rows, strict=True)]
