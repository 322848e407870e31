"""Sub-Order (operators paper, section 4.2): what stands is kept in an order, and evaluated in it.

How the paper is read where it contradicts itself:

- *Chains.* Section 4.2 arranges a chain "in an increasing order of selectivity", 4.2.1 "in decreasing order", where
  selectivity is the probability to hold. The reason given (fewest nodes evaluated) holds for the first: the least
  probable node is on top.
- *Edges.* Section 4.2.5 calls an edge's weight "the cost savings of evaluating u before v" and then selects the least
  weight first. Here the weight is the cost *difference* C(u first) - C(v first): least weight first is largest saving
  first.
- *Directions.* An order of two chains is worth something one way only, so edges are directed, and "no vertex of degree
  three" is: one edge in, one edge out. The tour is left open, it is an order.
- *Complete graph.* Pairs without a common predicate weigh nothing and are left out; the paths that the others make
  follow each other by their lowest first number. Where a predicate stands in more than `MOST_PARTNERS` + 1 chains, each
  chain is compared with that many others, evenly spread.
- *Unequal costs* (4.3) multiply the terms of C', each by its own node's; P stays a probability. Chains stay arranged by
  probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.chains import Chains, Edges, differences, find_edges, link
from triplecast.operators.schedules.conjunctions import Conjunctions
from triplecast.operators.schedules.experience import Experience
from triplecast.operators.schedules.interface import Run, StandingTable
from triplecast.operators.schedules.line import Line
from triplecast.operators.schedules.runs import OrderedRun

MOST_PARTNERS = 32
"""Chains that one chain is compared with for one common predicate."""


class SubOrder:
    """The order of the standing subscriptions by what `experience` held when each was inserted, or all were
    reordered."""

    keeps_order = True

    def __init__(self, experience: Experience) -> None:
        self._experience = experience
        self._members: dict[int, tuple[int, ...]] = {}
        self._holders: dict[int, dict[int, None]] = {}
        """By template: the subscriptions that have it, in order of insertion."""
        self._line = Line()

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        """Beside the chain with which its order matters most; last if it matters with none."""
        self.remove(subscription)
        self._remember(subscription, predicates)
        partners = self._partners(subscription)
        if partners:
            weights = differences(self._chains([subscription, *partners]), 0)
            most = int(np.argmax(np.abs(weights)))
            if weights[most] < 0:
                self._line.put_before(subscription, partners[most - 1])
                return
            if weights[most] > 0:
                self._line.put_after(subscription, partners[most - 1])
                return
        self._line.put_last(subscription)

    def insert_all(self, standing: StandingTable) -> None:
        """Puts all that stands in order anew."""
        members = standing.members.tolist()
        for at, subscription in enumerate(standing.subscriptions.tolist()):
            self._forget(subscription)
            self._remember(subscription, members[standing.starts[at] : standing.starts[at + 1]])
        self.reorder()

    def remove(self, subscription: int) -> None:
        """Its chain and all its links."""
        self._forget(subscription)
        self._line.drop(subscription)

    def reorder(self) -> None:
        """Section 4.2.5 over all that stands."""
        subscriptions = sorted(self._members)
        edges = self.edges()
        order = link(edges, np.argsort(edges.weight, kind="stable"), len(subscriptions))
        self._line.fill([subscriptions[chain] for chain in order.tolist()])

    def edges(self) -> Edges:
        """The pairs whose order makes a difference, numbered by their places among all that stand, ascending."""
        return find_edges(self._chains(sorted(self._members)), MOST_PARTNERS)

    def order(self) -> list[int]:
        """The standing subscriptions as they are evaluated."""
        return self._line.order()

    def start(self, undecided: Conjunctions) -> Run:
        """The rows in their subscriptions' order, their predicates as in a chain; rows of one subscription as given."""
        order = np.argsort(self._line.keys(undecided.subscriptions), kind="stable").astype(np.int32)
        arranged = arrange(undecided.starts, undecided.members, undecided.holds)
        return OrderedRun(undecided._replace(members=arranged), order)

    def _remember(self, subscription: int, predicates: Iterable[int]) -> None:
        self._members[subscription] = members = tuple(dict.fromkeys(predicates))
        for member in members:
            self._holders.setdefault(member, {})[subscription] = None

    def _forget(self, subscription: int) -> None:
        for member in self._members.pop(subscription, ()):
            holders = self._holders[member]
            del holders[subscription]
            if not holders:
                del self._holders[member]

    def _partners(self, subscription: int) -> list[int]:
        """Of each common predicate at most `MOST_PARTNERS`, evenly spread; ascending."""
        found: set[int] = set()
        for member in self._members[subscription]:
            holders = self._holders[member]
            found.update(islice(holders, 0, None, 1 + (len(holders) - 1) // (MOST_PARTNERS + 1)))
        found.discard(subscription)
        return sorted(found)

    def _chains(self, subscriptions: Sequence[int]) -> Chains:
        """Numbered as listed; templates are numbered as they occur."""
        chains = [self._members[subscription] for subscription in subscriptions]
        starts = np.zeros(len(chains) + 1, np.int64)
        np.cumsum([len(chain) for chain in chains], out=starts[1:])
        flat = np.array([member for chain in chains for member in chain], np.int32)
        templates, members = np.unique(flat, return_inverse=True)
        holds, costs = self._experience.holds(templates), self._experience.costs(templates)
        arranged = arrange(starts, members.astype(np.int32), holds)
        by_template = np.argsort(arranged, kind="stable")
        first = np.zeros(len(templates) + 1, np.int64)
        np.cumsum(np.bincount(arranged, minlength=len(templates)), out=first[1:])
        owner = np.repeat(np.arange(len(chains), dtype=np.int32), np.diff(starts))
        return Chains(starts, arranged, first, owner[by_template], holds, costs)


def arrange(starts: NDArray[np.int64], members: NDArray[np.int32], holds: NDArray[np.float64]) -> NDArray[np.int32]:
    """Each row's predicates, the least probable first, equally probable ones by number."""
    rank = np.empty(len(holds), np.int64)
    rank[np.argsort(holds, kind="stable")] = np.arange(len(holds))
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(row * len(holds) + rank[members], kind="stable")
    return members[order]
