"""What operators answered, stored so that a replay reads it (semantics 8.2), and how they are declared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple

from triplecast.journal.record import checksum, verify
from triplecast.model.answers import Answer, GroundCall, OperatorResult, parse_answer
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet, read_fields
from triplecast.sqlite import SqliteFile


def write_results(database: SqliteFile, results: Iterable[OperatorResult]) -> bool:
    """Keeps them inside a transaction; what is kept already stays. False where that is another answer."""
    same = True
    for result in results:
        arguments = json.dumps(result.arguments)
        kept = _read_results(database, *_KEY, (result.position, result.operator, result.version, arguments))
        if kept:
            same = same and kept[0].answer == result.answer
            continue
        crc = checksum(f"{result.operator}\n{result.version}\n{arguments}", (result.position,), result.answer)
        row = (result.position, result.operator, result.version, arguments, result.answer, crc)
        database.run("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", [row])
    return same


def read_answers(
    database: SqliteFile, after: int, upto: int, operators: OperatorSet
) -> Mapping[int, Mapping[GroundCall, Answer]]:
    """What was kept of publications at positions in (after, upto], by position, of the versions of `operators`."""
    answers: dict[int, dict[GroundCall, Answer]] = {}
    for kept in _read_results(database, "position > ? AND position <= ?", "", (after, upto)):
        declared = operators.find(kept.operator)
        if declared is not None and declared.version == kept.version:
            call = GroundCall(kept.operator, kept.arguments)
            answers.setdefault(kept.position, {})[call] = parse_answer(kept.answer)
    return answers


def write_operator(declared: Operator) -> bytes:
    return json.dumps(astuple(declared)).encode()


def read_operator(body: bytes) -> Operator:
    return read_fields(json.loads(body))


def write_learnt(database: SqliteFile, rows: Iterable[Learnt], gone: Iterable[str]) -> None:
    """The rows of these templates, in the place of what was kept of them; without those that are gone."""
    database.run("DELETE FROM statistic WHERE template = ?", [(template,) for template in gone])
    database.run("INSERT OR REPLACE INTO statistic VALUES (?, ?, ?, ?, ?, ?)", rows)


def read_learnt(database: SqliteFile) -> list[Learnt]:
    """By template. Nothing depends on it but the order in which operators are asked, so it has no checksum."""
    return [Learnt(*row) for row in database.ask("SELECT * FROM statistic ORDER BY template")]


def check_answers(database: SqliteFile) -> None:
    """Read everything. Raises `StorageFault`."""
    _read_results(database, "1", "", ())


_KEY = ("position = ? AND operator = ? AND version = ? AND arguments = ?", " LIMIT 1")


def _read_results(database: SqliteFile, where: str, end: str, values: Sequence[object]) -> list[OperatorResult]:
    found = []
    statement = f"SELECT * FROM answer WHERE {where} ORDER BY position, operator, version, arguments{end}"
    for position, operator, version, arguments, answer, crc in database.ask(statement, values):
        what = f"what <{operator}> gave for record {position}"
        verify(crc, database.where, what, f"{operator}\n{version}\n{arguments}", (position,), answer)
        found.append(OperatorResult(position, operator, version, tuple(json.loads(arguments)), answer))
    return found
