"""What a schedule that keeps an order is told of the subscriptions that stand: each when operators are first asked
about it, or about more of it, and that it is gone when the index says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from triplecast.index import Snapshot
from triplecast.operators.schedules import Schedule, StandingTable

SINGLY = 500
"""New subscriptions of one publication that are put in their places one by one; more, and all are put in order anew."""


class Standing:
    """The subscriptions that a schedule knows, by registration, with the numbers of their templates."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._templates: dict[int, frozenset[int]] = {}
        self._covers = -1

    def meet(self, rows: Iterable[tuple[int, Iterable[int]]]) -> None:
        """Registrations with templates of their conditions, of rows that operators are asked about."""
        if not self._schedule.keeps_order:
            return
        found: dict[int, set[int]] = {}
        for registration, templates in rows:
            found.setdefault(registration, set()).update(templates)
        nothing = frozenset[int]()
        changed = {
            registration: self._templates.get(registration, nothing) | templates
            for registration, templates in found.items()
            if not templates <= self._templates.get(registration, nothing)
        }
        self._templates.update(changed)
        if len(changed) > SINGLY:
            self._schedule.insert_all(_table(changed))
        else:
            for registration, templates in sorted(changed.items()):
                self._schedule.insert(registration, sorted(templates))

    def leave(self, snapshot: Snapshot) -> None:
        """Forgets what the snapshot has no more, or has removed. Looked for once for each state of the registry."""
        if not self._templates or snapshot.covers == self._covers:
            return
        self._covers = snapshot.covers
        known = np.array(sorted(self._templates), np.int64)
        stands = np.zeros(len(known), np.bool_)
        for segment in snapshot.segments:
            stands |= segment.tables.registrations.among(known)
        for registration in known[~stands | np.isin(known, snapshot.removals.registration)].tolist():
            del self._templates[registration]
            self._schedule.remove(registration)

    def templates(self) -> set[int]:
        """The numbers of all their templates."""
        return set[int]().union(*self._templates.values())


def _table(changed: Mapping[int, frozenset[int]]) -> StandingTable:
    registrations = sorted(changed)
    members = [sorted(changed[registration]) for registration in registrations]
    starts = np.zeros(len(members) + 1, np.int64)
    np.cumsum([len(each) for each in members], out=starts[1:])
    flat = np.array([member for each in members for member in each], np.int32)
    return StandingTable(np.array(registrations, np.int64), starts, flat)
