"""What the queries of one entailment regime are asked of, before and after an event, and since an earlier one."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.evaluate.background import Background
from triplecast.incremental.filed import NOT_CONCERNED, Concerned, FiledQueries
from triplecast.kernels.triples import ANY
from triplecast.match import Matcher
from triplecast.model.entailment import Entailment
from triplecast.repository import Store
from triplecast.repository.earlier import HeldChange
from triplecast.repository.entailed import EntailedSource, EntailedStore
from triplecast.repository.store import Change
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


class AskedGraph:
    """The documents, or what they entail, and the queries that are asked of it."""

    def __init__(self, stated: Store, entailment: Entailment, taxonomy: Taxonomy, matcher: Matcher) -> None:
        self._stated = stated
        self.entailed = None if entailment is Entailment.NONE else EntailedStore(stated, entailment, taxonomy)
        self.filed = FiledQueries(matcher)
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
    def before(self) -> Source:
        return self._stated.before if self.entailed is None else self.entailed.before

    @property
    def after(self) -> Source:
        return self._stated if self.entailed is None else self.entailed.after

    @property
    def too_large(self) -> bool:
        """Whether more is entailed of a subject than is kept: no answer is known."""
        return self.entailed is not None and bool(self.entailed.too_large)

    def take(self, change: Change) -> Change:
        """What an event's change of the documents changes here."""
        self._sought.clear()
        return change if self.entailed is None else self.entailed.follow(change)

    def replace_taxonomy(self, taxonomy: Taxonomy, position: int) -> Change | None:
        """What another taxonomy changes; None where nothing is entailed."""
        self._sought.clear()
        return None if self.entailed is None else self.entailed.replace_taxonomy(taxonomy, position)

    # ---- earlier states ---------------------------------------------------------------------------------------------

    def hold(self, event: int) -> None:
        """Keep the state before the event at a position, which was the last one, for one more user."""
        self._users[event] = self._users.get(event, 0) + 1
        if event not in self._held and len(self._held) < MOST_HELD:
            stated = self._stated.hold()
            if self.entailed is None:
                self._held[event] = HeldState(stated, stated, Background())
            else:
                self._held[event] = HeldState(self.store.hold(), stated, self.entailed.before.background)

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

    def concerned_since(self, event: int) -> Concerned | None:
        """Whom all that changed from an event on concerns, together; None where that is too much."""
        held = self._held[event].asked
        if held.size > MOST_SOUGHT:
            return None
        if event not in self._sought:
            added, removed = held.rows()
            with self.store.since(held):
                change = Change(event, ANY, added, removed, None)
                self._sought[event] = self.filed.find(self.store, change) if held.size else NOT_CONCERNED
        return self._sought[event]
