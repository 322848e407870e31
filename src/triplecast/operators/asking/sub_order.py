"""Sub-Order (operators paper, section 4.2): subscriptions are kept in an order, and evaluated in it.

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

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.chains import Chains, Edges, differences, find_edges, link
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import Conjunctions, OrderedRun, Run

MOST_PARTNERS = 32
"""Chains that one chain is compared with for one common predicate."""
ONE_BY_ONE = 500
"""New subscriptions of one publication that are inserted one by one; more trigger a full reorder."""


class SubOrder:
    """The order of the live subscriptions that use operators, by what `experience` held when each was inserted or all
    were reordered."""

    def __init__(self, experience: Experience) -> None:
        self._experience = experience
        self._members: dict[int, tuple[int, ...]] = {}
        self._holders: dict[int, dict[int, None]] = {}
        """By template: the subscriptions that have it, in order of insertion."""
        self._line = Line()

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        """Insert a subscription, or give one other predicates: beside the chain with which its order matters most, last
        if it matters with none."""
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

    def insert_all(self, predicates: Mapping[int, Sequence[int]]) -> None:
        """Insert subscriptions, each with its predicates, and reorder all: far cheaper than `insert` for each."""
        for subscription, each in predicates.items():
            self._forget(subscription)
            self._remember(subscription, each)
        self.reorder()

    def extend(self, rows: Iterable[tuple[int, Iterable[int]]]) -> None:
        """Insert the subscriptions of rows that are new or have predicates which were not seen in them before."""
        seen: dict[int, set[int]] = {}
        for subscription, predicates in rows:
            seen.setdefault(subscription, set()).update(predicates)
        changed = {
            subscription: sorted(predicates.union(self._members.get(subscription, ())))
            for subscription, predicates in seen.items()
            if not predicates.issubset(self._members.get(subscription, ()))
        }
        if len(changed) > ONE_BY_ONE:
            self.insert_all(changed)
            return
        for subscription, each in sorted(changed.items()):
            self.insert(subscription, each)

    def remove(self, subscription: int) -> None:
        """Remove a subscription, if it is here."""
        self._forget(subscription)
        self._line.drop(subscription)

    def reorder(self) -> None:
        """Put all in order again, by section 4.2.5."""
        subscriptions = sorted(self._members)
        edges = self.edges()
        order = link(edges, np.argsort(edges.weight, kind="stable"), len(subscriptions))
        self._line.fill([subscriptions[chain] for chain in order.tolist()])

    def edges(self) -> Edges:
        """Return the pairs whose order makes a difference, numbered by their places among all, ascending."""
        return find_edges(self._chains(sorted(self._members)), MOST_PARTNERS)

    def order(self) -> list[int]:
        """Return the subscriptions in the order in which they are evaluated."""
        return self._line.order()

    def templates(self) -> set[int]:
        """Return the predicates of all subscriptions."""
        return set(self._holders)

    def start(self, undecided: Conjunctions) -> Run:
        """Start a run over the rows in their subscriptions' order, unknown ones last, their predicates as in a chain;
        rows of one subscription as given."""
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


_LEAST_GAP = 1e-6
"""Between neighbouring keys; far above the spacing of doubles below a billion."""


class Line:
    """A doubly linked list of numbers, with keys that rise along it. Putting one in moves the keys of few
    neighbours, so its cost does not grow with the line."""

    def __init__(self) -> None:
        self._key: dict[int, float] = {}
        self._before: dict[int, int | None] = {}
        self._after: dict[int, int | None] = {}
        self._last: int | None = None

    def __contains__(self, number: int) -> bool:
        return number in self._key

    def fill(self, order: Sequence[int]) -> None:
        """The line is `order` from now on."""
        self._key = {number: float(place) for place, number in enumerate(order)}
        self._before = dict(zip(order, [None, *order], strict=False))
        self._after = dict(zip(order, [*order[1:], None], strict=False))
        self._last = order[-1] if order else None

    def put_after(self, number: int, neighbour: int) -> None:
        """`number` is not in the line, `neighbour` is."""
        self._put(number, neighbour, self._after[neighbour])

    def put_before(self, number: int, neighbour: int) -> None:
        """As `put_after`, on the other side."""
        self._put(number, self._before[neighbour], neighbour)

    def put_last(self, number: int) -> None:
        """`number` is not in the line."""
        self._put(number, self._last, None)

    def drop(self, number: int) -> None:
        """One that is not in the line is no error."""
        if number not in self._key:
            return
        before, after = self._before.pop(number), self._after.pop(number)
        del self._key[number]
        self._join(before, after)

    def keys(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each; infinite for one that is not in the line."""
        return np.array([self._key.get(number, inf) for number in numbers.tolist()], np.float64)

    def order(self) -> list[int]:
        """All numbers, from first to last."""
        return sorted(self._key, key=self._key.__getitem__)

    def _put(self, number: int, before: int | None, after: int | None) -> None:
        self._join(before, number)
        self._join(number, after)
        if before is None:
            self._key[number] = 0.0 if after is None else self._key[after] - 1.0
        elif after is None:
            self._key[number] = self._key[before] + 1.0
        else:
            low, high = self._key[before], self._key[after]
            self._key[number] = (low + high) / 2
            if high - low < 2 * _LEAST_GAP:
                self._respace(number)

    def _join(self, before: int | None, after: int | None) -> None:
        if before is not None:
            self._after[before] = after
        if after is None:
            self._last = before
        else:
            self._before[after] = before

    def _respace(self, number: int) -> None:
        """Spreads the keys of the neighbourhood evenly; it is doubled until there is room."""
        left, right, within = self._before[number], self._after[number], [number]
        while left is not None and right is not None:
            gap = (self._key[right] - self._key[left]) / (len(within) + 1)
            if gap >= 8 * _LEAST_GAP:
                start = self._key[left]
                for place, member in enumerate(within, 1):
                    self._key[member] = start + place * gap
                return
            for _ in range(len(within)):
                if left is not None:
                    within.insert(0, left)
                    left = self._before[left]
                if right is not None:
                    within.append(right)
                    right = self._after[right]
        start = self._key[right] - len(within) if right is not None else 0.0 if left is None else self._key[left] + 1
        for place, member in enumerate(within):
            self._key[member] = start + place
