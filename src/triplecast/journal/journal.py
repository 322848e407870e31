"""The one order of everything that changes an answer, written by one writer (docs/storage.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from triplecast.crash_points import reach
from triplecast.errors import InputError
from triplecast.journal.leases import drop_leases, write_lease
from triplecast.journal.operator_data import write_learnt, write_operator, write_results
from triplecast.journal.record import SCHEMA_SETTING, SCOPE_SETTING, Kind, Writing, read_clock, row_of
from triplecast.journal.subscription_blocks import heard_by, subscription_rows
from triplecast.journal.taking import TakingJournal
from triplecast.journal.versions import latest_version
from triplecast.model.answers import Answer, GroundCall, OperatorResult
from triplecast.model.events import TaxonomyVersion
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Draft, Position
from triplecast.model.subscription import API, NO_END, Lease, Registration, RegistrationId, Subscription, check_fields
from triplecast.schema import RdfSchema
from triplecast.taxonomy import Taxonomy


class Journal(TakingJournal):
    """The writer of one folder: registrations, taxonomies, schemas, documents, operators and settings."""

    # ---- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(
        self,
        subscriptions: Sequence[Subscription],
        lease: Lease = NO_END,
        tickets: Sequence[bytes] | None = None,
        source: str = API,
        ended: Sequence[int] = (),
    ) -> list[Registration]:
        """Register all or none, each with `lease` and with the hash of its ticket, where there are `tickets`; before
        them, cancel the `ended` registrations, in the same transaction.

        Raises `InputError` for a name that is live already, or given twice, for fields that are not text
        (`check_fields`) and for a lease that cannot be (`Lease.end`).
        """
        with self._append() as writing:
            end = lease.end(writing.at)
            for subscription in subscriptions:
                check_fields(subscription)
            self._cancel(writing, ended)
            heard = self._write_heard(heard_by(subscriptions))
            first = int(writing.next)
            for row in subscription_rows(first, subscriptions, writing.at, end, b"".join(tickets or ()), source):
                writing.add(row)
            self._write_live([each.name for each in subscriptions], first)
            if end is not None:
                write_lease(self._database, range(first, writing.next), end)
            numbered = zip(range(first, writing.next), subscriptions, strict=True)
            writing.added += [Registration(RegistrationId(id), each, None, source) for id, each in numbered]
        self._hearers = heard
        return writing.added

    def has_hearers(self, notify: str) -> bool:
        return notify in self._heard()

    def renew(self, id: int, lease: Lease) -> int | None:
        """Give the lease of registration `id` another end, from now on; return that end, None for none.

        Raises `InputError` where it is not live any more, and for a lease that cannot be (`Lease.end`).
        """
        with self._append() as writing:
            registration = self.registration(id)
            if registration is None or registration.removed is not None:
                raise InputError(f"registration {id} is not live", "subscribe again")
            end = lease.end(writing.at)
            name = registration.subscription.name
            writing.add(row_of(Kind.RENEWAL, writing.next, name, writing.at, number=id, body=json.dumps(end).encode()))
            drop_leases(self._database, [id])
            if end is not None:
                write_lease(self._database, range(id, id + 1), end)
        return end

    def resync(self, id: int) -> Position:
        """Have the present answer of live registration `id`, of repository scope, told again; the position from which
        that is. Raises `InputError` where it is not live any more."""
        with self._append() as writing:
            registration = self.registration(id)
            if registration is None or registration.removed is not None:
                raise InputError(f"registration {id} is not live", "subscribe again")
            name = registration.subscription.name
            return writing.add(row_of(Kind.RESYNC, writing.next, name, writing.at, number=id))

    def end_leases(self) -> None:
        """Write the end of every lease that is over now, as any method that writes does before it writes; a replica
        takes those ends too."""
        if self.replicates is not None:
            return
        with self._database.lock:
            last = self._last or self._read_last()
            now = max(read_clock(self._clock), last.written_at)
            if last.first_end is not None and last.first_end <= now:
                with self._append():
                    pass

    def cancel(self, ids: Sequence[int]) -> list[Position]:
        """The position of each cancellation; of the earlier one where a registration was cancelled already.

        Raises `InputError` for a number that is no registration's.
        """
        with self._append() as writing:
            return self._cancel(writing, ids)

    def set_setting(self, name: str, value: str) -> None:
        """Record a setting of the folder."""
        with self.sole():
            self._write_setting(name, value)

    # ---- taxonomies, schemas -----------------------------------------------------------------------------------------

    @property
    def has_repository_scope(self) -> bool:
        """Whether a subscription of repository scope was ever registered."""
        if self._has_repository_scope is None:
            self._has_repository_scope = SCOPE_SETTING in self.settings()
        return self._has_repository_scope

    def note_repository_scope(self) -> None:
        """Record that one is registered next."""
        if not self.has_repository_scope:
            self.set_setting(SCOPE_SETTING, "1")
            self._has_repository_scope = True

    def load_taxonomy(self, taxonomy: Taxonomy) -> int:
        """The position from which publications are matched with `taxonomy`; that of the last record where it says the
        same, and 0 for nothing where there is none."""
        with self._append() as writing:
            versions = self.taxonomies(writing.next - 1, writing.next - 1).versions
            known = versions[-1] if versions else TaxonomyVersion(0, b"", False)
            if (known.lines, known.broader) == (taxonomy.lines, taxonomy.broader):
                return known.position
            body, broader = taxonomy.lines, int(taxonomy.broader)
            return writing.add(row_of(Kind.TAXONOMY, writing.next, "", writing.at, number=broader, body=body))

    def load_schema(self, schema: RdfSchema) -> int:
        """The position from which `schema` holds; that of the last record where it says the same, and 0 for nothing
        where there is none."""
        with self._append() as writing:
            position = int(self.settings().get(SCHEMA_SETTING, 0))
            if self.schema().triples == schema.triples:
                return position
            row = row_of(Kind.SCHEMA, writing.next, "", writing.at, number=position, body=schema.lines)
            self._write_setting(SCHEMA_SETTING, str(row.position))
            return writing.add(row)

    # ---- operators --------------------------------------------------------------------------------------------------

    def answers_to(self, draft: Draft, operators: OperatorSet) -> Mapping[GroundCall, Answer]:
        """What these versions of operators gave for the latest version of the draft's graph, if that is of the same
        content, as `answers` has it; nothing else."""
        with self._database.reading():
            known = latest_version(self._database, draft.graph)
            if known is None or known.digest != draft.digest:
                return {}
            return self.answers(known.position - 1, known.position, operators).get(known.position, {})

    def declare_operators(self, declared: Sequence[Operator]) -> None:
        """Write how operators are declared from now on, where that differs from what is written last; a replica takes
        what its provider writes."""
        if self.replicates is not None:
            return
        known = {each.iri: each for each in self.operators()} if declared else {}
        changed = [each for each in declared if known.get(each.iri) != each]
        if not changed:
            return
        with self._append() as writing:
            for each in changed:
                row = row_of(Kind.OPERATOR, writing.next, each.iri, writing.at, body=write_operator(each))
                writing.add(row)

    def keep_results(self, results: Sequence[OperatorResult]) -> bool:
        """Store what operators returned, before anything that depends on it is recorded. The first result of a call
        stays: False where one of these is another, and what depends on it has to be resolved again."""
        if not results:
            return True
        with self.sole():
            same = write_results(self._database, results)
        reach("journal.results-kept")
        return same

    def keep_learnt(self, rows: Sequence[Learnt], gone: Sequence[str] = ()) -> None:
        """Of each template in the place of what was kept of it; of those that are `gone`, nothing."""
        with self.sole():
            write_learnt(self._database, rows, gone)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _cancel(self, writing: Writing, ids: Sequence[int]) -> list[Position]:
        found = {int(each.id): each for each in self.registrations(ids)}
        ended: dict[int, Position] = {id: each.removed for id, each in found.items() if each.removed is not None}
        drop_leases(self._database, ids)
        for id in ids:
            if id not in found:
                raise InputError(f"there is no registration {id}", "use the number that subscribing gave")
            if id not in ended:
                ended[id] = self._write_end(writing, Kind.CANCELLATION, found[id])
        return [ended[id] for id in ids]
