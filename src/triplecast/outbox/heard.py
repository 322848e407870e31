"""Solutions that were told once: those of registrations that want to hear what is new.

Of each a digest is kept, in the transaction that records the notification, so a replay tells it neither twice nor
never. Beyond `HEARD` of a registration the oldest are forgotten, and such a solution may be told again; those of a
registration that has ended go when the folder is opened next. Pruning notifications forgets none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from numpy.typing import NDArray

from triplecast.kernels.layout import I64
from triplecast.model.match import CHANGE_NUMBER, CHANGES
from triplecast.outbox.batch import OutboxBatch, OutboxRow
from triplecast.outbox.tables import KEYS_AT_ONCE, verify_fields, write_rows
from triplecast.sqlite import SqliteFile

HEARD = 1_000_000
"""Solutions of one registration that are kept."""
_SLACK = 16
"""Beyond them a part of so many may be kept until they are looked at."""


class Hearers(Protocol):
    """Who wants to hear what is new, and what tells solutions apart."""

    def want_new(self, registrations: I64) -> NDArray[Any]:
        """Of each registration whether it does."""

    def digest(self, position: int, solution: Mapping[str, str]) -> bytes:
        """What solutions have in common that are the same; `position` is that of their event."""


class Heard:
    """The table, for the outbox's writer, inside its transactions."""

    def __init__(self, database: SqliteFile) -> None:
        self._database = database
        self._counts: dict[int, int] = {}
        """Solutions of registrations, as far as they were counted."""

    def forget_counts(self) -> None:
        """Forget what a transaction that failed may have left here."""
        self._counts.clear()

    def leave_out(
        self, kept: OutboxBatch, given: OutboxBatch, hearers: Hearers | None
    ) -> tuple[OutboxBatch, OutboxBatch]:
        """What is recorded of rows that nothing withholds, without solutions that their registrations were told and
        want to hear once; and what a caller is told of all that was given."""
        if hearers is None:
            return kept, given
        new, all_new = hearers.want_new(kept.registration), hearers.want_new(given.registration)
        if not all_new.any() and not new.any():
            return kept, given
        rows = self.only_new(kept.only(new).rows(), hearers)
        news = OutboxBatch.of_rows(rows, {name.position: name for name in kept.publications})
        recorded = replace(OutboxBatch.merged([kept.only(~new), news]), publications=kept.publications)
        here = {name.position for name in given.publications}
        told = OutboxBatch.merged([given.only(~all_new), news.pairs(lambda pair: pair[0] in here)])
        names = {name.position: name for name in given.publications}
        pairs = OutboxBatch.of_rows([], names, given.undecided, given.awaited)
        return recorded, OutboxBatch.merged([told, pairs])

    def only_new(self, rows: Iterable[OutboxRow], hearers: Hearers) -> list[OutboxRow]:
        """Return the rows, in order, with the solutions alone that their registration was not told before, each once,
        and note these. A present answer that was asked for is told as it is."""
        return [told for row in rows if (told := self._new_of(row, hearers)) is not None]

    def _new_of(self, row: OutboxRow, hearers: Hearers) -> OutboxRow | None:
        word, by_removal, _ = CHANGES[row.change]
        if word == "removed":
            return None
        found = json.loads(row.bindings)
        solutions = found["added"] if isinstance(found, dict) else found
        by_digest = {hearers.digest(row.position, each): each for each in reversed(solutions)}
        new = by_digest.keys() - self._known(row.registration, [*by_digest])
        fresh = [digest for digest in reversed(by_digest) if digest in new]
        self._add(row.registration, row.position, fresh)
        if word == "present":
            return row
        if not fresh:
            return None
        text = json.dumps([by_digest[each] for each in fresh], ensure_ascii=False, separators=(",", ":"))
        return row._replace(change=CHANGE_NUMBER["added", by_removal], bindings=text)

    def _known(self, registration: int, digests: Sequence[bytes]) -> set[bytes]:
        known = set()
        for start in range(0, len(digests), KEYS_AT_ONCE):
            some = digests[start : start + KEYS_AT_ONCE]
            statement = f"SELECT * FROM heard WHERE registration = ? AND digest IN ({', '.join('?' * len(some))})"
            for *row, crc in self._database.ask(statement, (registration, *some)):
                verify_fields(self._database.where, "heard", row, crc)
                known.add(row[1])
        return known

    def _add(self, registration: int, position: int, digests: Sequence[bytes]) -> None:
        if not digests:
            return
        if registration not in self._counts:
            statement = "SELECT count(*) FROM heard WHERE registration = ?"
            (self._counts[registration],) = self._database.ask_one(statement, (registration,))
        write_rows(self._database, "heard", ((registration, digest, position) for digest in digests))
        self._counts[registration] += len(digests)
        beyond = self._counts[registration] - HEARD
        if beyond > HEARD // _SLACK:
            oldest = "SELECT digest FROM heard WHERE registration = ?1 ORDER BY position, digest LIMIT ?2"
            statement = f"DELETE FROM heard WHERE registration = ?1 AND digest IN ({oldest})"
            self._counts[registration] -= self._database.run(statement, [(registration, beyond)])

    def registrations(self) -> list[int]:
        """Those of which solutions are kept."""
        found: list[int] = []
        last = -1
        while True:
            statement = "SELECT min(registration) FROM heard WHERE registration > ?"
            (following,) = self._database.ask_one(statement, (last,))
            if following is None:
                return found
            found.append(last := int(following))

    def forget(self, registrations: Sequence[int]) -> None:
        """Forget what these were told: they have ended."""
        self._database.run("DELETE FROM heard WHERE registration = ?", [(each,) for each in registrations])
        self._counts.clear()
