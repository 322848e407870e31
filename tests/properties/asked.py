"""The long run of what `test_operators` checks on a few pairs: ``python -m tests.properties.asked --pairs N --seed S``.

Rounds of 120 queries and 48 publications, every other one with operators that fail, each under the next of the
schedules; the first difference ends it with a status of 1 and is shown with its seed and schedule. A schedule keeps
from round to round what it learnt of the operators; no round inherits a quarantine. A pair that asks operators that
fail on its publication is read `READINGS` times more, with other things that the failed calls might have said; of the
undecided pairs of a round `LOOKED_AT` are drawn, which have two answers or are of a permitted shape.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import ExitStack
from itertools import count, islice
from random import Random

from tests.properties.operators import NOTHING, answer_slowly
from tests.properties.substitutes import draw_readings, first_difference, has_two, shape_of, written
from tests.properties.test_operators import (
    Asking,
    asked_twice,
    found,
    is_decided_by_index,
    made,
    publications_of,
    snapshot_of,
)
from triplecast.operators.asking.schedules import SCHEDULES

PUBLICATIONS = 48
READINGS = 2
LOOKED_AT = 4
LEAST_MATCHING = 0.25
"""Of all pairs, in a run of `ENOUGH` or more."""
ENOUGH = 10_000


def check_round(asking: Asking, seed: int, fails: bool) -> Counter[str]:
    """Counts of pairs, of matching and undecided ones, of calls, and by shape of pairs that were left undecided though
    they have one answer. Raises AssertionError with the first difference."""
    random = Random(seed)
    trees, texts, graphs = made(seed, fails, PUBLICATIONS)
    matched, results = asking.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    got, undecided = found(matched), {(each.publication, each.registration) for each in matched.undecided}
    assert asked_twice(results) == [], "a call was made twice"
    assert fails or not undecided, f"undecided where nothing fails: {sorted(undecided)[:3]}"
    counts = Counter(pairs=len(texts) * len(graphs), matching=len(got), undecided=len(undecided), calls=len(results))
    for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
        for publication, graph in enumerate(graphs):
            if (publication, number) in undecided:
                continue
            have = got.get((publication, number), ())
            tried = (NOTHING, *islice(draw_readings(tree, graph, random), READINGS))
            instead = first_difference(tree, graph, have, tried)
            assert instead is None, f"{text}\n{graph}\nis {have}\nnot {written(answer_slowly(tree, graph, instead))}"
    for publication, number in random.sample(sorted(undecided), min(LOOKED_AT, len(undecided))):
        tree, text, graph = trees[number - 1], texts[number - 1], graphs[publication]
        counts["looked at"] += 1
        if not has_two(tree, graph, random):
            shape = shape_of(tree, graph, is_decided_by_index(text), random)
            assert shape is not None, f"undecided, and has one answer: {text}\n{graph}"
            counts[shape] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    total: Counter[str] = Counter()
    by_schedule = dict.fromkeys(SCHEDULES, 0)
    began = time.monotonic()
    with ExitStack() as opened:
        products = {name: opened.enter_context(Asking(name)) for name in SCHEDULES}
        for seed in count(wanted.seed):
            if total["pairs"] >= wanted.pairs:
                break
            name = list(SCHEDULES)[seed % len(SCHEDULES)]
            for fails in (False, True):
                products[name].asker.performer._health.clear()
                try:
                    counts = check_round(products[name], seed, fails)
                except AssertionError as difference:
                    print(f"seed {seed}, schedule {name}, fails {fails}: {difference}")
                    return 1
                total += counts
                by_schedule[name] += counts["pairs"]
    return _tell(total, by_schedule, wanted.seed, time.monotonic() - began)


def _tell(total: Counter[str], by_schedule: dict[str, int], seed: int, seconds: float) -> int:
    pairs, counted = total["pairs"], ("pairs", "matching", "undecided", "calls", "looked at")
    print(
        f"{pairs:,} pairs from seed {seed}: no difference; {total['matching'] / pairs:.1%} match, "
        f"{total['undecided'] / pairs:.1%} undecided, {total['calls']:,} calls, each once; {seconds:.0f} s"
    )
    shapes = [f"{count:,} {shape}" for shape, count in sorted(total.items()) if shape not in counted]
    told = "; ".join(shapes) or "all have two answers"
    print(f"of {total['looked at']:,} undecided pairs with one answer: {told}")
    print("by schedule: " + ", ".join(f"{name} {count:,}" for name, count in by_schedule.items()))
    if pairs >= ENOUGH and total["matching"] < LEAST_MATCHING * pairs:
        print(f"too few match: at least {LEAST_MATCHING:.0%} are expected to")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
