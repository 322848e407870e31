"""Reading who is registered: changes of the registry in order, registrations, leases and tickets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from triplecast.journal.interface import RegistryChanges, RegistrySlice
from triplecast.journal.record import ENDS, REGISTRY_KINDS, Kind, Row, read_registration, read_ticket, verify
from triplecast.journal.records import KEYS_AT_ONCE, Records
from triplecast.model.subscription import Registration, RegistrationId

_REGISTRY = (Kind.SUBSCRIPTION, *ENDS)
_ALL = (1 << 63) - 1


class RegistryReader(Records):
    """The registry as the records say it."""

    def registry_changes(self, after: int, upto: int) -> RegistryChanges:
        """What changed at positions in (after, upto]. From the start to the head it raises `StorageFault` where damage
        hides a record."""
        slices = list(self.registry_slices(after, upto, _ALL))
        return slices[0].changes if slices else RegistryChanges([], [])

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        """The same in parts of at most `most` records, in order, so that no more of the registry is in memory at once.

        An end that comes in a later part is set in `Registration.removed` already.
        """
        reached, found = after, 0
        while reached < upto:
            with self._database.reading():
                rows = self._registry_rows(reached, upto, most)
                found += len(rows)
                whole = len(rows) < most
                if whole and after == 0 and upto >= self.head():
                    self._check_found(found, *_REGISTRY)
                starts = [row.position for row in rows if row.kind == Kind.SUBSCRIPTION]
                later = {} if whole else self._cancelled_at(starts)
            reached = upto if whole else rows[-1].position
            if rows:
                ends = {id: position for id, position in later.items() if position <= upto}
                yield RegistrySlice(_changes(rows, ends), reached)

    def _registry_rows(self, after: int, upto: int, most: int) -> list[Row]:
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {REGISTRY_KINDS}"
            " ORDER BY position LIMIT ?",
            (after, upto, most),
            _REGISTRY,
        )
        self._refuse_twice([row.position for row in rows])
        return rows

    def next_registry_change(self, after: int) -> int | None:
        """The first position beyond `after` that changes the registry."""
        rows = self._database.ask(
            f"SELECT min(position) FROM record WHERE position > ? AND kind IN {REGISTRY_KINDS}", (after,)
        )
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def live_registrations(self, at: int | None = None) -> list[Registration]:
        """Those that a publication at the next position after `at` (default: the head) is asked of, by id."""
        changes = self.registry_changes(0, 2**62 if at is None else at)
        return [registration for registration in changes.added if registration.removed is None]

    def registration(self, id: int) -> Registration | None:
        """The registration `id`, live or cancelled, as of now; None where there never was one."""
        return next(iter(self.registrations([id])), None)

    def registrations(self, ids: Sequence[int]) -> list[Registration]:
        """The registrations among `ids`, as of now, by id."""
        found = []
        wanted = sorted(set(ids))
        with self._database.lock:
            for start in range(0, len(wanted), KEYS_AT_ONCE):
                some = wanted[start : start + KEYS_AT_ONCE]
                cancelled = self._cancelled_at(some)
                marks = ",".join("?" * len(some))
                rows = self._rows(
                    f"SELECT * FROM record WHERE position IN ({marks}) AND kind = {Kind.SUBSCRIPTION:d}"
                    " ORDER BY position",
                    some,
                )
                found += [read_registration(row, cancelled.get(row.position)) for row in rows]
        return found

    def live_registration(self, name: str) -> Registration | None:
        """The registration that is live under the subscriber's `name`."""
        with self._database.lock:
            id = self.live_ids([name]).get(name)
            return None if id is None else self.registration(id)

    def live_ids(self, names: Sequence[str]) -> dict[str, int]:
        """The numbers of the registrations that are live under those of the subscribers' `names` that have one."""
        found = {}
        for name, id, crc in self._ask_in("SELECT name, registration, crc FROM live WHERE name", names):
            verify(crc, self._database.where, f"the entry of subscription {name}", name, (id,))
            found[name] = int(id)
        return found

    def count_live(self) -> int:
        """How many registrations are live."""
        return sum(int(count) for (count,) in self._database.ask("SELECT count(*) FROM live"))

    def ticket_hash(self, id: int) -> bytes:
        """Of the ticket of registration `id`; empty where it was given none."""
        rows = self._rows(f"SELECT * FROM record WHERE position = ? AND kind = {Kind.SUBSCRIPTION:d}", (id,))
        return next(map(read_ticket, rows), b"")

    def lease_ends(self, ids: Sequence[int] | None = None) -> dict[int, int]:
        """When the leases of live registrations end (of all, or of those among `ids`), in microseconds since 1970; one
        without an end is not there."""
        statement = "SELECT registration, end, crc FROM lease"
        if ids is None:
            rows = self._database.ask(f"{statement} ORDER BY registration")
        else:
            rows = self._ask_in(f"{statement} WHERE registration", ids)
        return dict(self._verified_lease(*row) for row in rows)

    def _verified_lease(self, id: int, end: int, crc: int) -> tuple[int, int]:
        verify(crc, self._database.where, f"the lease of {id}", "", (id, end))
        return id, end

    def _cancelled_at(self, ids: Sequence[int]) -> dict[int, int]:
        positions = {}
        for id, position, crc in self._ask_in("SELECT * FROM ended WHERE registration", ids):
            verify(crc, self._database.where, f"the cancellation of {id}", "", (id, position))
            positions[id] = position
        return positions


def _changes(rows: Sequence[Row], ends: Mapping[int, int]) -> RegistryChanges:
    """Those that rows of the registry tell, in order; `ends`: the removals of some that other rows tell."""
    removed = {row.number: row.position for row in rows if row.kind in ENDS}
    added = [
        read_registration(row, removed.get(row.position) or ends.get(row.position))
        for row in rows
        if row.kind == Kind.SUBSCRIPTION
    ]
    return RegistryChanges(added, [(RegistrationId(id), position) for id, position in removed.items()])
