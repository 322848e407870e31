"""Ground calls of operators and their answers: a bounded set of rows, or the reason why there is none.

The journal and the workers write an answer as JSON: ``{"rows": [["…", …], …]}`` with terms in N-Triples form, rows
sorted, each once; or ``{"failed": "…"}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from triplecast.model.algebra import Term, from_ntriples, to_ntriples
from triplecast.model.printable import shortened

OF_ARGUMENTS = 0
"""The position of what an operator gives of its arguments alone, for all documents together: no record has it."""
LONGEST_REASON = 2_000
"""Characters that are kept of a failed call's reason."""


class GroundCall(NamedTuple):
    """An operator with all its bound arguments: equal calls of one publication are made once. Results are compared
    afterwards, so ``p(?x, ?x)``, ``p(?x, ?y)`` and ``p(?x, 3)`` with the second argument free are one call."""

    operator: str
    arguments: tuple[str, ...]
    """The bound ones, in N-Triples form."""


class Found(NamedTuple):
    """The rows of free arguments, sorted by their N-Triples text, each once. A filter operator has one empty row for
    true and none for false."""

    rows: tuple[tuple[Term, ...], ...]


class Failed(NamedTuple):
    """The operator gave no answer, so the call's value is unknown."""

    reason: str
    """By `bounded_reason`."""


Answer: TypeAlias = Found | Failed


class OperatorResult(NamedTuple):
    """One answer as the journal keeps it: what an operator's version gave about the publication at a position."""

    position: int
    operator: str
    version: str
    arguments: tuple[str, ...]
    """In N-Triples form."""
    answer: bytes
    """Written by `format_answer`."""


def add_answers(answers: dict[int, dict[GroundCall, Answer]], results: Iterable[OperatorResult]) -> None:
    """Add what results say to answers by position; those that are there stay."""
    for each in results:
        call = GroundCall(each.operator, each.arguments)
        answers.setdefault(each.position, {}).setdefault(call, parse_answer(each.answer))


def bounded_reason(text: str) -> str:
    """Make a reason storable: replace what cannot be UTF-8, and cut it at `LONGEST_REASON`."""
    return shortened(text.encode("utf-8", "replace").decode(), LONGEST_REASON)


def format_answer(answer: Answer) -> bytes:
    if isinstance(answer, Failed):
        return json.dumps({"failed": answer.reason}, separators=(",", ":")).encode()
    rows = [[to_ntriples(term) for term in row] for row in answer.rows]
    return json.dumps({"rows": rows}, separators=(",", ":")).encode()


def parse_answer(written: bytes) -> Answer:
    """Read what `format_answer` wrote. Raises ValueError for other bytes."""
    read = json.loads(written)
    if not isinstance(read, dict) or not (isinstance(read.get("rows"), list) or isinstance(read.get("failed"), str)):
        raise ValueError(f"no answer of an operator: {written[:80]!r}")
    if "failed" in read:
        return Failed(bounded_reason(read["failed"]))
    return Found(tuple(tuple(from_ntriples(term) for term in row) for row in read["rows"]))
