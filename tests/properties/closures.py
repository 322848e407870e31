"""Held sets of random reference graphs with cycles, event by event, against plain reachability.

``python -m tests.properties.closures N --seed S`` tries N graphs, and prints how often reference counting held garbage.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from tests.reference.reachability import Counted, reachable
from triplecast.local.closure import HeldSet

EVENTS = 12


def check_graph(seed: int, number: int) -> Counter[str]:
    """One graph, changed some times. Raises AssertionError where the held set is another."""
    source = random.Random(f"closures {seed} {number}")
    nodes = [f"<n{each}>" for each in range(source.randrange(1, 13))]
    density = source.choice((0.5, 1.0, 1.5, 3.0))
    references = {node: targets_of(source, nodes, density) for node in nodes}
    held, roots, before, seen = HeldSet(), set[str](), set[str](), Counter[str]()
    for event in range(EVENTS):
        changed = {node for node in nodes if source.random() < 0.2} if event else set()
        for node in changed:
            references[node] = targets_of(source, nodes, density)
        gained = {node for node in nodes if source.random() < 0.1}
        lost = {node for node in roots if source.random() < 0.3}
        told = changed | {node for node in nodes if source.random() < 0.1}
        change = held.change(gained, lost, told, lambda node: references[node])
        roots = (roots - lost) | gained
        expected = reachable(roots, references)
        where = f"graph {number} of seed {seed}, event {event}"
        assert {*held.members} == expected, where
        assert change.gained == expected - before, where
        assert change.dropped == before - expected, where
        assert all(held.members[node] == references[node] for node in expected), where
        seen.update(events=1, gained=len(change.gained), dropped=len(change.dropped))
        before = expected
    seen["counting leaks"] += counting_leaks(roots, references)
    return seen


def counting_leaks(roots: set[str], references: dict[str, frozenset[str]]) -> bool:
    """Whether counting keeps something when all roots go."""
    counted = Counted()
    for node in sorted(roots):
        counted.add(node, references)
    for node in sorted(roots):
        counted.drop(node, references)
    return bool(counted.held)


def targets_of(source: random.Random, nodes: list[str], density: float) -> frozenset[str]:
    count = min(len(nodes), int(source.expovariate(1 / density)))
    return frozenset(source.sample(nodes, count))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.closures", description=__doc__.splitlines()[0])
    parser.add_argument("graphs", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for number in range(options.graphs):
        total += check_graph(options.seed, number)
    print(f"{options.graphs} graphs, seed {options.seed}: {dict(total)}; no difference")


if __name__ == "__main__":
    main()
