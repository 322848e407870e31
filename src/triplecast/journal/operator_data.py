"""What is stored for operators: attachments of publications, each content once under its SHA-256; answers, so that a
replay reads them (semantics 8.2); declarations and statistics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from hashlib import sha256
from math import inf

from triplecast.errors import StorageFault
from triplecast.journal.record import checksum, verify
from triplecast.model.answers import Answer, GroundCall, OperatorResult, parse_answer
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet, read_fields
from triplecast.model.publication import Attachments, Position
from triplecast.sqlite import SqliteFile
from triplecast.storage_faults import RESTORE


def write_results(database: SqliteFile, results: Iterable[OperatorResult]) -> bool:
    """Store results inside a transaction; those stored before stay. Return False where one of these is another."""
    same = True
    for result in results:
        kept = read_result(database, result.position, GroundCall(result.operator, result.arguments), result.version)
        if kept is not None:
            same = same and kept.answer == result.answer
            continue
        arguments = json.dumps(result.arguments)
        crc = checksum(f"{result.operator}\n{result.version}\n{arguments}", (result.position,), result.answer)
        row = (result.position, result.operator, result.version, arguments, result.answer, crc)
        database.run("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", [row])
    return same


def read_answers(
    database: SqliteFile, after: int, upto: int, operators: OperatorSet
) -> Mapping[int, Mapping[GroundCall, Answer]]:
    """What was kept of publications at positions in (after, upto], by position, of the versions of `operators`."""
    answers: dict[int, dict[GroundCall, Answer]] = {}
    for kept in read_results(database, "position > ? AND position <= ?", "", (after, upto)):
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
    """By template, without rows that damage shows in. Nothing depends on them but the order in which operators are
    called, so they have no checksum."""
    return [Learnt(*row) for row in database.ask("SELECT * FROM statistic ORDER BY template") if _is_sound(*row)]


def _is_sound(template: object, *numbers: object) -> bool:
    return isinstance(template, str) and all(isinstance(each, float) and 0 <= each < inf for each in numbers)


def check_answers(database: SqliteFile) -> None:
    """Read everything. Raises `StorageFault`."""
    read_results(database, "1", "", ())


def read_result(database: SqliteFile, position: int, call: GroundCall, version: str) -> OperatorResult | None:
    key = (position, call.operator, version, json.dumps(call.arguments))
    found = read_results(database, "position = ? AND operator = ? AND version = ? AND arguments = ?", " LIMIT 1", key)
    return found[0] if found else None


def read_results(database: SqliteFile, where: str, end: str, values: Sequence[object]) -> list[OperatorResult]:
    found = []
    statement = f"SELECT * FROM answer WHERE {where} ORDER BY position, operator, version, arguments{end}"
    for position, operator, version, arguments, answer, crc in database.ask(statement, values):
        what = f"what <{operator}> gave for record {position}"
        verify(crc, database.where, what, f"{operator}\n{version}\n{arguments}", (position,), answer)
        found.append(OperatorResult(position, operator, version, tuple(json.loads(arguments)), answer))
    return found


def write_attachments(database: SqliteFile, position: Position, attachments: Attachments) -> None:
    """Of the publication at `position`, inside a transaction."""
    for iri, content in attachments:
        digest = sha256(content).digest()
        crc = checksum(iri, (position, len(content)), digest)
        database.run("INSERT OR IGNORE INTO content VALUES (?, ?)", [(digest, content)])
        database.run("INSERT INTO attachment VALUES (?, ?, ?, ?, ?)", [(position, iri, digest, len(content), crc)])


def read_attachments_of(database: SqliteFile, position: int, count: int) -> Attachments:
    """Raises `StorageFault` unless there are `count`, all sound."""
    found: list[tuple[str, bytes]] = []
    statement = (
        "SELECT iri, attachment.digest, size, attachment.crc, body FROM attachment"
        " LEFT JOIN content ON content.digest = attachment.digest WHERE position = ? ORDER BY iri"
    )
    for iri, digest, size, crc, body in database.ask(statement, (position,)):
        verify(crc, database.where, f"an attachment of record {position}", iri, (position, size), digest)
        if not isinstance(body, bytes) or sha256(body).digest() != digest:
            raise StorageFault(database.where, f"the attachment <{iri}> of record {position} is damaged", RESTORE)
        found.append((iri, body))
    if len(found) != count:
        told = f"record {position} has {count} attachments, of which {len(found)} can be found"
        raise StorageFault(database.where, told, RESTORE)
    return tuple(found)


def check_attachments(database: SqliteFile, counts: Mapping[int, int]) -> None:
    """Read everything; `counts` are the attachments of each publication that has some. Raises `StorageFault`."""
    for position, count in counts.items():
        read_attachments_of(database, position, count)
    for (position,) in database.ask("SELECT DISTINCT position FROM attachment"):
        if position not in counts:
            raise StorageFault(database.where, f"record {position} has attachments and does not say so", RESTORE)
