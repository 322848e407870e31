"""The schedules as they are printed, over lists and sets: what the kernels are compared with.

A world is a list of rows (sets of predicates, in the order in which they are listed) with each predicate's probability
to hold and its cost. Nothing here fails: an operator that does is the kernels' own matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, prod
from typing import NamedTuple, TypeAlias

from experiments.operators.optimum import expect

Truths: TypeAlias = dict[int, bool]
"""What has been learnt."""
Policy: TypeAlias = Callable[["World", Truths], int | None]
"""What is evaluated next after some answers, None at the end."""


class World(NamedTuple):
    rows: tuple[tuple[int, ...], ...]
    holds: tuple[float, ...]
    costs: tuple[float, ...]


def is_open(row: Sequence[int], known: Truths) -> bool:
    return all(known.get(member, True) for member in row) and not all(member in known for member in row)


def naive(world: World, known: Truths) -> int | None:
    """Section 5.2."""
    for row in world.rows:
        for member in row:
            if member not in known:
                return member
            if not known[member]:
                break
    return None


def stopping(world: World, known: Truths) -> int | None:
    """Algorithm 1 with an early stop."""
    for row in world.rows:
        if is_open(row, known):
            return next(member for member in row if member not in known)
    return None


def sequential(world: World, truths: Sequence[bool]) -> list[int]:
    """Algorithm 1, line by line: the evaluated predicates, in order."""
    undecided = list(world.rows)
    evaluated: Truths = {}
    passed: set[int] = set()
    undecided = [row for row in undecided if row]
    while undecided:
        waiting = [member for member in undecided[0] if member not in passed]
        while waiting:
            member = waiting.pop(0)
            if any(member in row for row in undecided):
                evaluated[member] = truths[member]
                undecided = [row for row in undecided if is_open(row, evaluated)]
            passed.add(member)
    return list(evaluated)


def scores(world: World, known: Truths) -> dict[int, float]:
    """The logarithm of what the adaptive schedule takes the highest of, of every predicate in an open row."""
    found: dict[int, float] = {}
    for predicate in range(len(world.holds)):
        rows = [row for row in world.rows if predicate in row and is_open(row, known)]
        if predicate in known or not rows:
            continue
        free = 1.0
        for row in rows:
            needed = prod(world.holds[member] for member in row if member != predicate and member not in known)
            free *= 1 - min(needed, 1 - 1e-6)
        found[predicate] = log(len(rows) * (1 - world.holds[predicate]) / world.costs[predicate]) - log(free)
    return found


def adaptive(world: World, known: Truths) -> int | None:
    """The highest score, the lowest number among near equals."""
    found = scores(world, known)
    best = max(found.values(), default=0.0)
    return next((predicate for predicate in sorted(found) if found[predicate] > best - 1e-9), None)


def follow(policy: Policy, world: World, truths: Sequence[bool]) -> list[int]:
    """What a policy evaluates where `truths` hold, in order."""
    known: Truths = {}
    while (predicate := policy(world, known)) is not None:
        known[predicate] = truths[predicate]
    return list(known)


def expected_cost(world: World, evaluate: Callable[[Sequence[bool]], Sequence[int]]) -> float:
    """Of what `evaluate` evaluates where some truths hold, over all of them."""
    return expect(world.holds, lambda truths: sum(world.costs[predicate] for predicate in evaluate(truths)))


def chain_of(row: Sequence[int], world: World) -> list[int]:
    return sorted(row, key=lambda member: (world.holds[member], member))


def difference(world: World, left: int, right: int) -> float:
    """C(left first) - C(right first) of two rows, over all truths: no formula."""
    pair = World((tuple(world.rows[left]), tuple(world.rows[right])), world.holds, world.costs)

    def cost(first: int, second: int) -> float:
        ordered = pair._replace(rows=tuple(tuple(chain_of(pair.rows[i], pair)) for i in (first, second)))
        return expected_cost(pair, lambda truths: follow(stopping, ordered, truths))

    return cost(0, 1) - cost(1, 0)


def link(edges: Sequence[tuple[float, int, int]], count: int) -> list[int]:
    """Section 4.2.5 over (weight, before, after), with one edge in and one out."""
    paths: list[list[int]] = [[chain] for chain in range(count)]
    for _, before, after in sorted(edges, key=lambda edge: edge[0]):
        left = next(path for path in paths if before in path)
        right = next(path for path in paths if after in path)
        if left is not right and left[-1] == before and right[0] == after:
            paths.remove(right)
            left += right
    return [chain for path in sorted(paths) for chain in path]
