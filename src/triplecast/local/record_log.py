"""Everything that a journal says, as RDF Patch: what a replica reads, and whoever follows a provider's documents.

A record is a transaction. What a document's version adds to and removes from the one before are its rows, with the
document's identity as their graph; the rest of the record is in the header.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from triplecast.errors import StorageFault
from triplecast.journal import BYTES_AT_ONCE, HeldGraph, JournalFile, PartChange, ReplicatedRecord
from triplecast.journal.record import Kind, Row, is_dataset
from triplecast.local.held_state import log_id
from triplecast.model.answers import OperatorResult
from triplecast.model.publication import Attachments, Position
from triplecast.patch import Patch, lines_of, literal, quads_of, rows_of, text_of

ANSWERS = "answers"
"""The kind of a transaction that has no record, but what operators gave."""
PARTS = "parts"
"""The kind of one that has no record, but what changed of what cut documents hold; also the header of a record that
has such changes."""
_NUMBERS = ("number", "written_at", "flags", "crc")


class LogGap(Exception):
    """A provider has no log that goes on from where somebody is: a snapshot, or a new folder, is needed."""


def id_at(journal: JournalFile, position: int) -> str:
    """What identifies a place in the log: another journal has another one there."""
    return log_id(position, journal.mark_at(position))


def follow_records(journal: JournalFile, after: int, id: str, settled: int, parts: int) -> Iterator[Patch]:
    """What was recorded beyond a position, in order, each page after what operators gave for its publications and those
    beyond `settled`, with what changed of what cut documents hold beyond the change `parts`.

    Raises `LogGap` where the log at `after` is not the one with this `id`, and `StorageFault`."""
    if id_at(journal, after) != id:
        raise LogGap
    head, settled = journal.head(), min(after, settled)
    while True:
        records = journal.records(after, head, BYTES_AT_ONCE)
        last = records[-1].row.position if records else after
        if results := journal.operator_results(settled, last):
            yield Patch({"kind": literal(ANSWERS), **_sealed("body", _written(results))}, ())
        changes = deque(journal.part_changes(parts, last))
        parts = changes[-1].number if changes else parts
        if before := _pop_upto(changes, after):
            yield Patch({"kind": literal(PARTS), **_sealed(PARTS, _written_parts(before))}, ())
        if not records:
            return
        yield from _patches(journal, records, changes, after, id)
        after = settled = last
        id = id_at(journal, after)


def _pop_upto(changes: deque[PartChange], position: int) -> list[PartChange]:
    found = []
    while changes and changes[0].position <= position:
        found.append(changes.popleft())
    return found


def _patches(
    journal: JournalFile, records: Sequence[ReplicatedRecord], changes: deque[PartChange], after: int, id: str
) -> Iterator[Patch]:
    rows = [each.row for each in records]
    changed = {
        row.name for row in rows if row.kind == Kind.REMOVAL or (row.kind == Kind.PUBLICATION and row.number > 1)
    }
    before = journal.latest_before(sorted(changed), after) if changed else {}
    for record in records:
        following = id_at(journal, record.row.position)
        record = record._replace(parts=_pop_upto(changes, record.row.position))
        yield _patch(record, following, id, before.get(record.row.name))
        id = following
        note(before, record.row)


def note(documents: dict[str, Row], row: Row) -> None:
    """Bring the records of current documents, by graph, past a record."""
    if row.kind == Kind.PUBLICATION:
        documents[row.name] = row
    elif row.kind == Kind.REMOVAL:
        documents.pop(row.name, None)


def _patch(record: ReplicatedRecord, id: str, before_id: str, before: Row | None) -> Patch:
    row, attachments, parts = record
    of_document = row.kind in (Kind.PUBLICATION, Kind.REMOVAL)
    header = {
        "id": id,
        "prev": before_id,
        "position": literal(str(row.position)),
        "digest": literal(row.digest.hex()),
        "kind": literal(Kind(row.kind).name.lower()),
        "name": literal(row.name),
        **{name: literal(str(getattr(row, name))) for name in _NUMBERS},
    }
    if row.kind != Kind.PUBLICATION:
        header["body"] = literal(b64encode(row.body).decode())
    if attachments:
        header |= _sealed("attachments", json.dumps([[iri, b64encode(body).decode()] for iri, body in attachments]))
    if parts:
        header |= _sealed(PARTS, _written_parts(parts))
    rows = rows_of(_quads(before), _quads(row if row.kind == Kind.PUBLICATION else None)) if of_document else ()
    return Patch(header, tuple(rows))


def _quads(row: Row | None) -> set[bytes]:
    return set() if row is None else quads_of(row.name, _lines(row.body), is_dataset(row))


def _lines(quads: bytes) -> list[bytes]:
    return [line + b"\n" for line in quads.split(b"\n")[:-1]]


def _written(results: Sequence[OperatorResult]) -> str:
    rows = [[*each[:3], each.arguments, b64encode(each.answer).decode()] for each in results]
    return json.dumps(rows)


def _written_parts(changes: Sequence[PartChange]) -> str:
    return json.dumps([[*each[:4], each.part.position, each.part.digest.hex()] for each in changes])


def _read_parts(header: Mapping[str, str]) -> list[PartChange]:
    return [
        PartChange(int(number), int(at), str(document), str(graph), HeldGraph(Position(said), bytes.fromhex(digest)))
        for number, at, document, graph, said, digest in json.loads(_opened(PARTS, header))
    ]


def parts_of(patch: Patch) -> list[PartChange] | None:
    """What changed of what cut documents hold, without a record; None for another patch."""
    if patch.header.get("kind") != literal(PARTS):
        return None
    try:
        return _read_parts({name: text_of(term) for name, term in patch.header.items()})
    except (KeyError, ValueError, TypeError) as error:
        raise _no_record(patch, error) from None


def results_of(patch: Patch) -> list[OperatorResult] | None:
    """What operators gave; None for a patch that is a record."""
    if patch.header.get("kind") != literal(ANSWERS):
        return None
    try:
        rows = json.loads(_opened("body", {name: text_of(term) for name, term in patch.header.items()}))
        return [
            OperatorResult(int(at), str(of), str(version), tuple(arguments), b64decode(answer))
            for at, of, version, arguments, answer in rows
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise _no_record(patch, error) from None


def _sealed(name: str, text: str) -> dict[str, str]:
    """A header, and its digest where the record has none of it."""
    return {name: literal(text), f"{name}-digest": literal(sha256(text.encode()).hexdigest())}


def _opened(name: str, header: Mapping[str, str]) -> str:
    """The text that was `_sealed`. Raises ValueError for another one."""
    if sha256(header[name].encode()).hexdigest() != header[f"{name}-digest"]:
        raise ValueError(f"{name} is not what its digest is of")
    return header[name]


def _no_record(patch: Patch, error: Exception) -> StorageFault:
    found = f"the transaction of line {patch.line} is no record: {type(error).__name__} {error}"
    return StorageFault("the log of the provider", found, "read it again")


def record_of(patch: Patch, before: Mapping[str, Row]) -> ReplicatedRecord:
    """The record that a patch was made of; `before`: the records of current documents, by graph. Raises
    `DocumentRejected` and `StorageFault` for what is none."""
    try:
        header = {name: text_of(term) for name, term in patch.header.items()}
        kind = Kind[header["kind"].upper()]
        number, at, flags, crc = (int(header[name]) for name in _NUMBERS)
        name, digest = header["name"], bytes.fromhex(header["digest"])
        row = Row(Position(int(header["position"])), int(kind), name, number, at, flags, digest, crc, b"")
        attachments: Attachments = ()
        if "attachments" in header:
            attachments = tuple((iri, b64decode(body)) for iri, body in json.loads(_opened("attachments", header)))
        parts = _read_parts(header) if PARTS in header else ()
        if kind == Kind.PUBLICATION:
            body = lines_of(name, patch.apply(_quads(before.get(name))), is_dataset(row))
        else:
            body = b64decode(header["body"])
    except (KeyError, ValueError, TypeError) as error:
        raise _no_record(patch, error) from None
    return ReplicatedRecord(row._replace(body=body), attachments, parts)
