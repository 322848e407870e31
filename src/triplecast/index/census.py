"""Counts of a snapshot's subscriptions: how narrow their keys are, and what decides them.

They are computed from the arrays of the segments; nothing is counted while subscriptions come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot
from triplecast.kernels.layout import I64, STRUCTURE_GROUPS, STRUCTURE_KEYS, STRUCTURE_PLAIN, U8
from triplecast.model.subscription import SubscriptionCounts

NARROW, PREDICATE, BROAD = 0, 1, 2
"""`compile.plan.Cost` as numbers."""


class _Kinds(NamedTuple):
    """The valid live subscriptions of one segment."""

    registration: I64
    cost: U8
    combined: NDArray[np.bool_]
    evaluated: NDArray[np.bool_]
    refused: int
    """Invalid live subscriptions, which are never evaluated."""


def take_census(snapshot: Snapshot) -> SubscriptionCounts:
    """Count the subscriptions that are live at the last position that the snapshot covers."""
    narrow = predicate = broad = combined = evaluated = refused = 0
    for kinds in _all_kinds(snapshot):
        costs = np.bincount(kinds.cost, minlength=3).tolist()
        narrow, predicate, broad = narrow + costs[NARROW], predicate + costs[PREDICATE], broad + costs[BROAD]
        combined += int(kinds.combined.sum())
        evaluated += int(kinds.evaluated.sum())
        refused += kinds.refused
    joined = narrow + predicate + broad - combined - evaluated
    return SubscriptionCounts(narrow, predicate, broad, joined, combined, evaluated, refused)


def broad_registrations(snapshot: Snapshot) -> list[int]:
    """The live subscriptions that are candidates of every publication, ascending."""
    return sorted(id for kinds in _all_kinds(snapshot) for id in kinds.registration[kinds.cost == BROAD].tolist())


def _all_kinds(snapshot: Snapshot) -> Iterator[_Kinds]:
    for segment in snapshot.segments:
        yield _kinds_of(segment, snapshot.removals.registration)


def _kinds_of(segment: Segment, removed: I64) -> _Kinds:
    firsts = segment.firsts
    registration = segment.tables.registrations[firsts]
    live = ~np.isin(registration, removed)
    refused = np.isin(registration, np.array([each.registration for each in segment.refused], np.int64))
    asked = live & ~refused
    answer = segment.tables.index.answer_of[firsts]
    with_role = np.array([role is not None for role in (*segment.tables.roles, None)], bool)
    return _Kinds(
        registration[asked],
        _costs(segment, firsts)[asked],
        with_role[answer[asked]],
        answer[asked] < 0,
        int((live & refused).sum()),
    )


def _costs(segment: Segment, firsts: NDArray[np.integer]) -> U8:
    """The cost of each subscription: that of its broadest conjunction, each as narrow as its narrowest key."""
    index = segment.tables.index
    structures = index.structures
    if not len(firsts) or len(structures) == 1:
        return np.zeros(len(firsts), np.uint8)
    constant = index.key_terms >= 0
    of_key = np.where(constant[:, 0] | constant[:, 2], NARROW, np.where(constant[:, 1], PREDICATE, BROAD))
    of_structure = np.minimum.reduceat(of_key[index.structure_keys], structures[:-1, STRUCTURE_KEYS]).astype(np.uint8)
    cost = np.zeros(segment.members, np.uint8)
    filed = (
        (index.plain, structures[:, STRUCTURE_PLAIN]),
        (index.entries, index.groups[structures[:, STRUCTURE_GROUPS], 1]),
    )
    for members, offsets in filed:
        costs = np.repeat(of_structure, np.diff(offsets))
        costly = costs > NARROW
        np.maximum.at(cost, members[costly], costs[costly])
    return np.maximum.reduceat(cost, firsts)
