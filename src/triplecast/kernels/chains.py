"""Linked chains (operators paper, section 4.2): cost differences between pairs of subscriptions, and an order of all.

A chain is a subscription's predicates, the least probable first, equally probable ones by number; so the links between
two chains never cross.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, njit
from triplecast.kernels.layout import F64, I32, I64


class Chains(NamedTuple):
    """Chain c is ``members[starts[c]:starts[c + 1]]``; predicate p occurs in ``chains[first[p]:first[p + 1]]``."""

    starts: I64
    members: I32
    first: I64
    chains: I32
    """Ascending within a predicate."""
    holds: F64
    """[predicates]"""
    costs: F64


class Edges(NamedTuple):
    """`before` is evaluated before `after`, which saves ``-weight``."""

    weight: F64
    """Negative."""
    before: I32
    after: I32


@borrowing
def difference(chains: Chains, left: int, right: int) -> float:
    """``C(left first) - C(right first)``: what it costs more to evaluate `left` before `right`; negative, a saving.

    Section 4.2.4's sum over the links l: ``(1 - p_l)(P_right,l · C'_left,l - P_left,l · C'_right,l)``. P is the
    probability that all nodes above the link hold, linked ones too; C' the expected cost of the nodes above it that are
    not linked, given that the linked ones hold. With unequal costs a node's term of C' is multiplied by its cost.
    """
    i, last_i = chains.starts[left], chains.starts[left + 1]
    j, last_j = chains.starts[right], chains.starts[right + 1]
    reach_left = reach_right = 1.0
    alone_left = alone_right = 1.0
    cost_left = cost_right = 0.0
    total = 0.0
    while i < last_i and j < last_j:
        one, other = chains.members[i], chains.members[j]
        if one == other:
            p = chains.holds[one]
            total += (1.0 - p) * (reach_right * cost_left - reach_left * cost_right)
            reach_left *= p
            reach_right *= p
            i += 1
            j += 1
        elif chains.holds[one] < chains.holds[other] or (chains.holds[one] == chains.holds[other] and one < other):
            cost_left += chains.costs[one] * alone_left
            alone_left *= chains.holds[one]
            reach_left *= chains.holds[one]
            i += 1
        else:
            cost_right += chains.costs[other] * alone_right
            alone_right *= chains.holds[other]
            reach_right *= chains.holds[other]
            j += 1
    return total


@njit
def differences(chains: Chains, one: int) -> F64:
    """[chains] of `one` before each."""
    found = np.zeros(len(chains.starts) - 1, np.float64)
    for other in range(len(found)):
        if other != one:
            found[other] = difference(chains, one, other)
    return found


@njit
def find_edges(chains: Chains, most: int) -> Edges:
    """Every pair of chains with a common predicate whose order makes a difference, the cheaper one before.

    Where a predicate occurs in more than `most` chains, each of them is compared, for the sake of this predicate, with
    `most` others evenly spread over its list.
    """
    count = len(chains.starts) - 1
    room = np.int64(0)
    for predicate in range(len(chains.holds)):
        size = chains.first[predicate + 1] - chains.first[predicate]
        room += size * (size - 1) // 2 if size - 1 <= most else size * most
    edges = Edges(np.empty(room, np.float64), np.empty(room, np.int32), np.empty(room, np.int32))
    seen = np.full(count, np.int32(-1), np.int32)
    place = np.zeros(len(chains.holds), np.int64)
    filled = 0
    for chain in range(count):
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            predicate = chains.members[at]
            begin = chains.first[predicate]
            size = chains.first[predicate + 1] - begin
            own = place[predicate]
            place[predicate] += 1
            partners = size - 1 - own if size - 1 <= most else np.int64(most)
            for k in range(partners):
                step = 1 + k if size - 1 <= most else 1 + k * (size - 1) // most
                other = chains.chains[begin + (own + step) % size]
                if seen[other] == chain:
                    continue
                seen[other] = chain
                weight = difference(chains, chain, other)
                if weight != 0.0:
                    edges.weight[filled] = -abs(weight)
                    edges.before[filled] = chain if weight < 0.0 else other
                    edges.after[filled] = other if weight < 0.0 else chain
                    filled += 1
    return Edges(edges.weight[:filled].copy(), edges.before[:filled].copy(), edges.after[:filled].copy())


@njit
def link(edges: Edges, order: I64, count: int) -> I32:
    """The chains in their order: edges are selected in `order` if they leave every chain one before and one after it
    and close no cycle; the paths that they make follow each other by the number of their first chain."""
    after = np.full(count, np.int32(-1), np.int32)
    before = np.full(count, np.int32(-1), np.int32)
    path = np.arange(count, dtype=np.int32)
    for edge in order:
        left, right = edges.before[edge], edges.after[edge]
        if after[left] >= 0 or before[right] >= 0:
            continue
        one, other = _find(path, left), _find(path, right)
        if one == other:
            continue
        path[max(one, other)] = min(one, other)
        after[left] = right
        before[right] = left
    ordered = np.empty(count, np.int32)
    filled = 0
    for chain in range(count):
        if before[chain] >= 0:
            continue
        following = np.int32(chain)
        while following >= 0:
            ordered[filled] = following
            filled += 1
            following = after[following]
    return ordered


@borrowing
def _find(path: I32, chain: int) -> int:
    while path[chain] != chain:
        path[chain] = path[path[chain]]
        chain = path[chain]
    return chain


def warm_up() -> None:
    chains = Chains(
        np.array([0, 1], np.int64),
        np.zeros(1, np.int32),
        np.array([0, 1], np.int64),
        np.zeros(1, np.int32),
        np.ones(1),
        np.ones(1),
    )
    differences(chains, 0)
    edges = find_edges(chains, 1)
    link(edges, np.argsort(edges.weight, kind="stable"), 1)
