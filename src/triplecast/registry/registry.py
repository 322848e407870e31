"""The one path on which subscriptions come and go, whatever their source: calls, files, and what else will come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

from triplecast.compile.refusals import operators_of
from triplecast.errors import IdInUse, InputError, QueryRefused, QuerySyntaxError
from triplecast.ingest import Document
from triplecast.journal import Journal, time_text
from triplecast.model.subscription import (
    API,
    BROAD_PER_OWNER,
    FILES,
    NO_END,
    REPOSITORY,
    Lease,
    Registration,
    Subscription,
    check_fields,
)
from triplecast.registry.admission import AdmittedSubscription, examine
from triplecast.registry.listing import LiveSubscription, list_live
from triplecast.registry.quota import Holdings, check_quota
from triplecast.registry.rule_bindings import bind_all
from triplecast.registry.tickets import hash_ticket, make_tickets, opens
from triplecast.registry.upkeep import IndexUpkeep

Refusal = QuerySyntaxError | QueryRefused | InputError
"""Why a subscription cannot be registered."""

DOCUMENTS = "documents"
"""The setting of a folder that says whether a document is one publication (``dataset``) or each of its graphs is one
(``graph``). The first run records it."""
_READ_AT_ONCE = 1000
"""Registrations."""


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription that is live from the next publication on."""

    id: str
    """The subscriber's name for it."""
    registration: int
    """Its permanent number: the journal position that added it."""
    ticket: str = field(repr=False)
    """The secret that renews or cancels it, of which the journal keeps the hash; empty where the source has none."""
    cost: str
    """``narrow``, ``predicate`` or ``broad`` (`registry.admission.Admission`)."""
    warnings: tuple[str, ...]
    expires: str | None
    """When its lease ends; None: it lives until it is cancelled."""
    matches: Sequence[Any] = field(default=(), repr=False)
    """Of repository scope: what it finds in the documents that there are, each a `Match`."""


class Registry:
    """The live subscriptions of one journal, for its only writer. May be used from any thread.

    A source cancels only its own subscriptions; an id is free or in use for all sources.
    """

    def __init__(
        self,
        journal: Journal,
        index: IndexUpkeep,
        broad_per_owner: int = BROAD_PER_OWNER,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """`broad_per_owner`: how many broad subscriptions one owner may hold. Raises `InputError` for another value."""
        self._journal = journal
        self.index = index
        self._documents = journal.settings().get(DOCUMENTS)
        self._quota = check_quota(broad_per_owner)
        self._randomness = randomness
        self._holdings = Holdings(journal, index.opened)
        self.lock = RLock()
        """Held over each change of the registry and of the index."""

    def bind(
        self, subscriptions: Sequence[Subscription], named: bool = True, within: str = ""
    ) -> list[Subscription | Refusal]:
        """The subscriptions with their rules bound to the schema and to each other and those that are live, or why one
        cannot be; `within`: the beginning of ids that rules may leave out."""
        return bind_all(subscriptions, self._journal.schema, self._find_live, REPOSITORY, named, within)

    def bind_preview(self, subscription: Subscription) -> Subscription:
        """A subscription that is not to be registered, bound. Raises why it cannot be."""
        (found,) = self.bind([subscription], named=False)
        if isinstance(found, Subscription):
            return found
        raise found

    def examine_all(
        self, subscriptions: Sequence[Subscription], named: bool = True, within: str = ""
    ) -> list[AdmittedSubscription | Refusal]:
        """`bind` them, and `examine` each."""
        bound = self.bind(subscriptions, named, within)
        return [self.examine(each, named) if isinstance(each, Subscription) else each for each in bound]

    def examine(self, subscription: Subscription, named: bool = True) -> AdmittedSubscription | Refusal:
        """Check what depends on the subscription alone; unless it is `named`, it gets a free id as it is registered.
        Takes no lock: it may parse a long text or call a worker."""
        try:
            check_fields(subscription)
            found = examine(
                subscription, self._documents != "graph", self.index.operators(), has_taxonomy=self.has_taxonomy
            )
            return found if named else found._replace(named=False)
        except (QuerySyntaxError, QueryRefused, InputError) as error:
            return error

    def has_taxonomy(self) -> bool:
        """Whether the next publication is matched with a taxonomy."""
        head = self._journal.head()
        return any(version.lines for version in self._journal.taxonomies(head, head).versions)

    def change(
        self,
        source: str,
        wanted: Sequence[AdmittedSubscription | Refusal],
        cancelled: Sequence[Registration] = (),
        lease: Lease = NO_END,
        tickets: bool = False,
    ) -> list[Subscribed | Refusal]:
        """Register all of `wanted` that can be and end the `cancelled` registrations, in one synced step; the outcome
        of each of `wanted`, in order.

        A candidate that `replaces` a registration ends it in the same step, unless it is refused. Raises `InputError`
        where something to end belongs to another source or `lease` cannot be, `FolderLocked` and `StorageFault`: then
        nothing has changed.
        """
        outcomes: dict[int, Subscribed | Refusal] = {}
        candidates: dict[int, AdmittedSubscription] = {}
        for place, each in enumerate(wanted):
            if isinstance(each, AdmittedSubscription):
                candidates[place] = each
            else:
                outcomes[place] = each
        with self.lock:
            self._journal.check_writer()
            self._journal.end_leases()
            _check_source(source, [*cancelled, *(each.replaces for each in candidates.values() if each.replaces)])
            self._name(candidates)
            for place, refusal in self._refused(candidates, cancelled):
                outcomes[place] = refusal
                del candidates[place]
            registered = self._register(source, list(candidates.values()), cancelled, lease, tickets)
            outcomes.update(zip(candidates, registered, strict=True))
        return [outcomes[place] for place in range(len(wanted))]

    def replace(
        self,
        source: str,
        subscriptions: Sequence[Subscription],
        candidates: Sequence[AdmittedSubscription | Refusal],
        ended: Sequence[str],
    ) -> list[Subscribed | Refusal]:
        """Register `subscriptions`, examined as `candidates`, without an end, and end those of some ids, in one step.
        One whose id is among the `ended` takes its place, unless it is refused: then that one stays. Raises what
        `change` raises, and `InputError` for an id that is not live."""
        with self.lock:
            live = {name: self.live(name) for name in ended}
            placed = [
                each._replace(replaces=live.pop(each.subscription.name, None))
                if isinstance(each, AdmittedSubscription)
                else each
                for each in candidates
            ]
            for each, candidate in zip(subscriptions, candidates, strict=True):
                if not isinstance(candidate, AdmittedSubscription):
                    live.pop(each.name, None)
            return self.change(source, placed, [*live.values()], NO_END, tickets=True)

    def end_all(self, source: str, owner: str) -> list[str]:
        """Cancel the live subscriptions of an owner in one step; return their ids."""
        with self.lock:
            self._journal.end_leases()
            live = self._journal.live_registrations()
            owned = [each for each in live if each.subscription.owner == owner and each.source == source]
            self.change(source, (), owned)
        return [each.subscription.name for each in owned]

    def unsubscribe(self, source: str, id: str, ticket: str | None = None) -> int:
        """Cancel the live subscription `id`; the journal position from which it is evaluated no more.

        The ticket is checked where one is given. Raises `InputError` where no subscription is live as `id`, or it is
        another source's, or the ticket is another's.
        """
        with self.lock:
            return self._journal.cancel([self._own(source, id, ticket).id])[0]

    def renew(self, source: str, id: str, ticket: str | None, lease: Lease) -> str | None:
        """Replace the lease of the live subscription `id`; when it ends now, None for never. Raises what `unsubscribe`
        raises, and `InputError` for a lease that cannot be."""
        with self.lock:
            end = self._journal.renew(self._own(source, id, ticket).id, lease)
        return None if end is None else time_text(end)

    def resync(self, source: str, id: str, ticket: str | None) -> int:
        """Have the present answer of the live subscription `id` told again; the journal position. Raises what
        `unsubscribe` raises, and `InputError` for one of publication scope."""
        with self.lock:
            found = self._own(source, id, ticket)
            if found.subscription.scope != REPOSITORY:
                what = f"subscription {id!r} is asked of each publication alone: it has no present answer"
                raise InputError(what, f'subscribe with scope="{REPOSITORY}"')
            return self._journal.resync(found.id)

    def live(self, id: str) -> Registration:
        """The live subscription `id`. Raises `InputError` where there is none."""
        found = self._journal.live_registration(id)
        if found is None:
            hint = "check the id, or subscribe again if its lease expired"
            raise InputError(f"no live subscription {id!r}", hint)
        return found

    def own(self, source: str, id: str, ticket: str | None) -> Registration:
        """The live subscription `id`, of which nothing is parsed. Raises what `unsubscribe` raises."""
        with self.lock:
            return self._own(source, id, ticket)

    def listed(self, found: Registration) -> LiveSubscription:
        """A registration as it is listed."""
        return next(list_live([found], self._journal.lease_ends([int(found.id)]), self.index.operators()))

    def subscriptions(self, owner: str | None = None) -> Iterator[LiveSubscription]:
        """The live subscriptions by registration, or those of one owner. What changes meanwhile is not seen."""
        with self.lock:
            self._journal.end_leases()
            registrations, ends = self._journal.live_registrations(), self._journal.lease_ends()
        return list_live(registrations, ends, self.index.operators(), owner)

    def check_documents(self, documents: Iterable[Document]) -> None:
        """Raises `InputError` for a dataset where the folder's documents are graphs, and for a graph where they are
        datasets. A folder without a run takes both."""
        if self._documents is None:
            return
        for document in documents:
            ours = "dataset" if document.dataset else "graph"
            if self._documents != ours:
                raise _other_documents(ours, f"pass dataset={not document.dataset}")

    def follow(self) -> bool:
        """Bring the index up to the journal's head; whether it changed."""
        with self.lock:
            return self.index.update()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _find_live(self, id: str) -> Subscription | None:
        found = self._journal.live_registration(id)
        return None if found is None else found.subscription

    def _name(self, candidates: dict[int, AdmittedSubscription]) -> None:
        """Give an id to those that have none."""
        if all(each.named for each in candidates.values()):
            return
        names = {each.subscription.name for each in candidates.values() if each.named}
        number: int = self._journal.head()
        for place, each in candidates.items():
            if not each.named:
                number += 1
                while (name := f"subscription-{number}") in names or self._journal.live_ids([name]):
                    number += 1
                candidates[place] = each._replace(subscription=replace(each.subscription, name=name))

    def _refused(
        self, candidates: dict[int, AdmittedSubscription], cancelled: Sequence[Registration]
    ) -> Iterator[tuple[int, Refusal]]:
        """The candidates, by place, whose id is in use or whose owner has no place left for a broad one. Those that
        replace a broad one have its place, so they come first; the others follow in order."""
        ended = {int(each.id) for each in cancelled}
        names = [each.subscription.name for each in candidates.values()]
        live = self._journal.live_ids(names)
        is_usual = not any(each.replaces or each.admission.broad for each in candidates.values())
        if is_usual and not live and len({*names}) == len(names):
            return
        taken = {name: id for name, id in live.items() if id not in ended}
        replaced = [each.replaces for each in candidates.values() if each.replaces]
        broad = self._holdings.broad_among(replaced) if replaced else frozenset()
        ended |= {int(each.replaces.id) for each in candidates.values() if each.replaces and not each.admission.broad}
        places = self._holdings.places(self._quota, ended)
        in_turn = sorted(
            candidates.items(), key=lambda each: each[1].replaces is None or each[1].replaces.id not in broad
        )
        for place, each in in_turn:
            subscription, before = each.subscription, each.replaces
            try:
                holder = taken.get(subscription.name)
                if holder is not None and (before is None or holder != before.id):
                    raise self._in_use(subscription.name, holder)
                if before is not None and before.id in broad and each.admission.broad:
                    places.move(subscription, each.admission, before.subscription.owner)
                else:
                    places.take(subscription, each.admission)
                taken[subscription.name] = 0 if before is None else int(before.id)
            except (QueryRefused, InputError) as error:
                yield place, error

    def _in_use(self, name: str, holder: int) -> InputError:
        found = self._journal.registration(holder) if holder else None
        by = f" by a subscription of {describe_source(found.source)}" if found else ""
        hint = "change that file" if found and found.source == FILES else "unsubscribe it"
        return IdInUse(f"subscription id {name!r} is in use{by}", f"{hint} or choose another id")

    def _register(
        self,
        source: str,
        candidates: Sequence[AdmittedSubscription],
        cancelled: Sequence[Registration],
        lease: Lease,
        tickets: bool,
    ) -> list[Subscribed]:
        ended = [int(each.id) for each in (*cancelled, *(each.replaces for each in candidates)) if each is not None]
        if not candidates and not ended:
            return []
        self.index.expect(len(candidates))
        self._journal.declare_operators(
            operators_of((each.compiled.template for each in candidates), self.index.operators())
        )
        secrets = make_tickets(self._randomness, len(candidates)) if tickets else [""] * len(candidates)
        hashes = [*map(hash_ticket, secrets)] if tickets else None
        subscriptions = [each.subscription for each in candidates]
        if any(each.scope == REPOSITORY for each in subscriptions):
            self._journal.note_repository_scope()
        added = self._journal.subscribe(subscriptions, lease, hashes, source, ended)
        end = self._journal.lease_ends([int(added[0].id)]).get(added[0].id) if added and lease != NO_END else None
        self._journal.check_writer()  # of one that was followed in between this may be the successor's lease
        expires = None if end is None else time_text(end)
        self.index.note(added, [each.compiled for each in candidates])
        for found, each in zip(added, candidates, strict=True):
            if each.admission.broad:
                self._holdings.note(found.subscription.owner, int(found.id))
        return [
            Subscribed(
                found.subscription.name, int(found.id), ticket, each.admission.cost, each.admission.warnings, expires
            )
            for found, ticket, each in zip(added, secrets, candidates, strict=True)
        ]

    def _own(self, source: str, id: str, ticket: str | None) -> Registration:
        """The live subscription `id` of `source`, where the ticket, if one is given, is its own."""
        self._journal.check_writer()
        self._journal.end_leases()
        found = self.live(id)
        _check_source(source, [found])
        if ticket is not None and not opens(ticket, self._journal.ticket_hash(found.id)):
            raise InputError(f"the ticket does not belong to {id!r}", "pass the ticket that subscribing returned")
        return found


def settle_documents(journal: Journal, dataset: bool) -> None:
    """Record whether a folder's documents are datasets or graphs, where no run has done so. Raises `InputError` where
    it was recorded otherwise: what was one publication would become many, or many one, under new identities."""
    ours = "dataset" if dataset else "graph"
    recorded = journal.settings().get(DOCUMENTS)
    if recorded is None:
        journal.set_setting(DOCUMENTS, ours)
    elif recorded != ours:
        raise _other_documents(ours, "leave --dataset out" if dataset else "add --dataset")


def standing_registrations(journal: Journal) -> Iterator[Registration]:
    """Live registrations of repository scope, in order; nothing is read where there never was one."""
    if not journal.has_repository_scope:
        return
    for (added, _), _ in journal.registry_slices(0, journal.head(), _READ_AT_ONCE):
        yield from (each for each in added if each.removed is None and each.subscription.scope == REPOSITORY)


def _other_documents(ours: str, fix: str) -> InputError:
    recorded, means = "dataset", "a dataset is one publication"
    if ours == "dataset":
        recorded, means = "graph", "each graph of a dataset is one publication"
    return InputError(f"the documents of this folder are {recorded}s: {means}", f"{fix}, or choose another folder")


def describe_source(source: str) -> str:
    """A source as people know it."""
    return {API: "the Python API, the command line or HTTP", FILES: "the subscription files of a run"}.get(
        source, source
    )


def _check_source(source: str, ended: Iterable[Registration]) -> None:
    """Raises `InputError` where one of the registrations to end belongs to another source."""
    for found in ended:
        if found.source != source:
            hint = "change those files" if found.source == FILES else "cancel it there"
            raise InputError(
                f"subscription {found.subscription.name!r} belongs to {describe_source(found.source)}", hint
            )
