"""The attachments of publications, each content stored once under its SHA-256."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from triplecast.errors import StorageFault
from triplecast.journal.check import RESTORE
from triplecast.journal.record import checksum, verify
from triplecast.model.publication import Attachments
from triplecast.sqlite import SqliteFile


def write_attachments(database: SqliteFile, attached: Iterable[tuple[int, Attachments]]) -> None:
    """Of publications by position, inside a transaction."""
    for position, attachments in attached:
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
