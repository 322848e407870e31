"""What the queries of one entailment regime are asked of, before and after an event, and since an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from triplecast.evaluate.background import Background
from triplecast.incremental.changed_resources import ChangedResources
from triplecast.incremental.filed import NOT_CONCERNED, Concerned, FiledQueries
from triplecast.kernels.triples import ANY
from triplecast.match import Matcher
from triplecast.model.entailment import Entailment
from triplecast.model.events import Event, TaxonomyVersion
from triplecast.repository import Store
from triplecast.repository.changes import Change, Changes, EarlierStore
from triplecast.repository.entailed import EntailedSource, EntailedStore
from triplecast.repository.held import HeldChange
from triplecast.repository.stored_graphs import Source
from triplecast.taxonomy import Taxonomy

MOST_HELD = 64
"""Earlier states that are known at once."""
MOST_SOUGHT = 5_000
"""Triples that changed since an earlier state up to which the index is asked whom they concern."""


class HeldState(NamedTuple):
    """A state before some event."""

    asked: HeldChange
    """Of the store that queries are asked of."""
    stated: HeldChange
    """Of the documents; the same where nothing is entailed."""
    background: Background

    @property
    def is_lost(self) -> bool:
        return self.asked.is_lost or self.stated.is_lost


class States(Protocol):
    """Two states, each made when it is asked for."""

    @property
    def before(self) -> Source: ...

    @property
    def after(self) -> Source: ...


class TwoStates(NamedTuple):
    before: Source
    after: Source


class RunStates:
    """The states around each event of a run, from the last to the first."""

    def __init__(self, store: Store, entailed: EntailedStore | None, events: int) -> None:
        """Where anything is entailed it is one event."""
        self._store = store
        self._of_entailed = None if entailed is None else TwoStates(entailed.before, entailed.after)
        self._last = self._place = events - 1
        self._before: EarlierStore | None = None
        self._after: EarlierStore | None = None

    def go_to(self, place: int) -> None:
        self._place = place

    @property
    def before(self) -> Source:
        if self._of_entailed is not None:
            return self._of_entailed.before
        if self._before is None:
            self._before = self._store.before(self._place)
        self._before.go_back(self._place - 1)
        return self._before

    @property
    def after(self) -> Source:
        if self._of_entailed is not None:
            return self._of_entailed.after
        if self._place == self._last:
            return self._store
        if self._after is None:
            self._after = self._store.before(self._place + 1)
        self._after.go_back(self._place)
        return self._after

    def between(self, first: int, last: int) -> TwoStates:
        """Those before one of several events and after another."""
        return TwoStates(self._store.before(first), self._store if last == self._last else self._store.before(last + 1))


class AskedGraph:
    """The documents, or what they entail, and the queries that are asked of it."""

    def __init__(self, stated: Store, entailment: Entailment, taxonomy: Taxonomy, matcher: Matcher) -> None:
        self._stated = stated
        self.entailed = None if entailment is Entailment.NONE else EntailedStore(stated, entailment, taxonomy)
        self.filed = FiledQueries(matcher)
        self.rules = ChangedResources(self.filed.index)
        self.live: set[int] = set()
        """The registrations of the queries."""
        self._held: dict[int, HeldState] = {}
        """By the event after them."""
        self._users: dict[int, int] = {}
        self._sought: dict[int, Concerned] = {}

    @property
    def store(self) -> Store:
        return self._stated if self.entailed is None else self.entailed.store

    @property
    def too_large(self) -> bool:
        """Whether more is entailed of a subject than is kept: no answer is known."""
        return self.entailed is not None and bool(self.entailed.too_large)

    def take(self, events: Sequence[Event], changes: Changes, taxonomy: Taxonomy) -> Changes:
        """What events, which changed the documents so, change here; where anything is entailed it is one event, after
        which a taxonomy holds."""
        self._sought.clear()
        if self.entailed is None:
            return changes
        (event,) = events
        if isinstance(event, TaxonomyVersion):
            return self.entailed.replace_taxonomy(taxonomy, event.position)
        return self.entailed.follow(changes.of(0), event.position)

    @property
    def after(self) -> Source:
        """The state now."""
        return self._stated if self.entailed is None else self.entailed.after

    def states(self, events: int) -> RunStates:
        """The states around the last events, which were so many."""
        return RunStates(self.store, self.entailed, events)

    # ---- earlier states ---------------------------------------------------------------------------------------------

    def hold(self, event: int, place: int) -> None:
        """Keep the state before the event at a position, by its number in the last run, for one more user."""
        self._users[event] = self._users.get(event, 0) + 1
        if event not in self._held and len(self._held) < MOST_HELD:
            stated = self._stated.hold(place)
            if self.entailed is None:
                self._held[event] = HeldState(stated, stated, Background())
            else:
                self._held[event] = HeldState(self.store.hold(place), stated, self.entailed.before.background)

    def drop(self, event: int) -> None:
        self._users[event] -= 1
        if self._users[event]:
            return
        del self._users[event]
        self._sought.pop(event, None)
        held = self._held.pop(event, None)
        if held is not None:
            self._stated.drop(held.stated)
            if self.entailed is not None:
                self.store.drop(held.asked)

    def before_event(self, event: int) -> Source | None:
        """The state before an event that is held; None where it is not known any more."""
        held = self._held.get(event)
        if held is None or held.is_lost:
            return None
        asked = self.store.before_held(held.asked)
        if self.entailed is None:
            return asked
        return EntailedSource(asked, self._stated.before_held(held.stated), held.background)

    def change_since(self, event: int) -> Change:
        """All that changed from an event on that is held."""
        return Change(ANY, *self._held[event].asked.triples(), None)

    def concerned_since(self, event: int) -> Concerned | None:
        """Whom all that changed from an event on concerns, together; None where that is too much."""
        held = self._held[event].asked
        if held.size > MOST_SOUGHT:
            return None
        if event not in self._sought:
            with self.store.since(held) as changes:
                self._sought[event] = self.filed.find(self.store, changes)[0][0] if held.size else NOT_CONCERNED
        return self._sought[event]
