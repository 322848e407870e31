"""The long run of what `test_operators` checks on a few pairs: ``python -m tests.properties.asked --pairs N --seed S``.

Rounds of 120 queries and 48 publications, every other one with an operator that fails, each under the next of the
schedules; the first difference ends it with a status of 1 and is shown with its seed and schedule. A schedule keeps
from round to round what it learnt of the operators. A query that does not ask the operator that fails is read once,
any other once for each of four things that the failed calls might have said.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from typing import NamedTuple

from tests.properties.operators import BROKEN, answer_slowly, asked_of
from tests.properties.test_operators import (
    found,
    in_order,
    made,
    publications_of,
    snapshot_of,
    written,
)
from triplecast.match import Matcher
from triplecast.match.operate import Operators
from triplecast.operators.schedules import SCHEDULES

PUBLICATIONS = 48
INSTEAD: Sequence[tuple[int, ...]] = ((), (2,), (3,), (1, 3))
"""What failed calls might have said."""
LEAST_MATCHING = 0.25
"""Of all pairs, in a run of `ENOUGH` or more."""
ENOUGH = 10_000


class Counts(NamedTuple):
    pairs: int = 0
    matching: int = 0
    undecided: int = 0
    calls: int = 0

    def with_more(self, other: Counts) -> Counts:
        return Counts(*(one + more for one, more in zip(self, other, strict=True)))


def check_round(matcher: Matcher, seed: int, fails: bool) -> Counts:
    """Raises AssertionError with the first difference."""
    trees, texts, graphs = made(seed, fails, PUBLICATIONS)
    matched = matcher.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    got, undecided = found(matched), {(each.publication, each.registration) for each in matched.undecided}
    calls = [(each.publication, each.operator, each.arguments) for each in matched.results]
    assert len(calls) == len(set(calls)), "a call was made twice"
    assert fails or not undecided, f"undecided where nothing fails: {sorted(undecided)[:3]}"
    for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
        readings = INSTEAD if BROKEN in asked_of(tree) else INSTEAD[:1]  # type: ignore[arg-type]
        for publication, graph in enumerate(graphs):
            if (publication, number) in undecided:
                continue
            have = in_order(got.get((publication, number), []))
            for instead in readings:
                want = in_order(written(answer_slowly(tree, graph, instead)))  # type: ignore[arg-type]
                assert have == want, f"with {instead}: {text}\n{graph}\nis {have}\nnot {want}"
    return Counts(len(texts) * len(graphs), len(got), len(undecided), len(calls))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    total = Counts()
    by_schedule = dict.fromkeys(SCHEDULES, 0)
    began = time.monotonic()
    with ExitStack() as opened:
        matchers = {name: opened.enter_context(Matcher(operators=Operators(schedule=name))) for name in SCHEDULES}
        for seed in count(wanted.seed):
            if total.pairs >= wanted.pairs:
                break
            name = list(SCHEDULES)[seed % len(SCHEDULES)]
            for fails in (False, True):
                try:
                    counts = check_round(matchers[name], seed, fails)
                except AssertionError as difference:
                    print(f"seed {seed}, schedule {name}, fails {fails}: {difference}")
                    return 1
                total = total.with_more(counts)
                by_schedule[name] += counts.pairs
    seconds = time.monotonic() - began
    print(
        f"{total.pairs:,} pairs from seed {wanted.seed}: no difference; {total.matching / total.pairs:.1%} match, "
        f"{total.undecided / total.pairs:.1%} undecided, {total.calls:,} calls, each once; {seconds:.0f} s"
    )
    print("by schedule: " + ", ".join(f"{name} {pairs:,}" for name, pairs in by_schedule.items()))
    if total.pairs >= ENOUGH and total.matching < LEAST_MATCHING * total.pairs:
        print(f"too few match: at least {LEAST_MATCHING:.0%} are expected to")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
