"""The long run of what `test_operators` checks on a few pairs: ``python -m tests.properties.asked --pairs N --seed S``.

Rounds of 120 queries and 16 publications, every other one with an operator that fails; the first difference ends it
with a status of 1 and is shown with its seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import count

from tests.properties.test_operators import (
    answer_slowly,
    found,
    in_order,
    made,
    publications_of,
    snapshot_of,
    written,
)
from triplecast.match import Matcher

INSTEAD = {False: ((),), True: ((), (2,), (3,), (1, 3))}
"""What failed calls might have said."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    pairs = matching = undecided = calls = 0
    began = time.monotonic()
    for seed in count(wanted.seed):
        if pairs >= wanted.pairs:
            break
        for fails in (False, True):
            trees, texts, graphs = made(seed, fails)
            with Matcher() as matcher:
                matched = matcher.match(snapshot_of(texts), publications_of(graphs, len(texts)))
            got, open_pairs = found(matched), {(each.publication, each.registration) for each in matched.undecided}
            asked = [(each.publication, each.operator, each.arguments) for each in matched.results]
            if len(asked) != len(set(asked)) or (open_pairs and not fails):
                print(f"seed {seed}: a call was made twice, or a pair is undecided where nothing fails")
                return 1
            for publication, graph in enumerate(graphs):
                for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
                    if (publication, number) in open_pairs:
                        continue
                    have = in_order(got.get((publication, number), []))
                    for instead in INSTEAD[fails]:
                        want = in_order(written(answer_slowly(tree, graph, instead)))  # type: ignore[arg-type]
                        if have != want:
                            print(f"seed {seed}, with {instead}: {text}\n{graph}\nis {have}\nnot {want}")
                            return 1
            pairs += len(texts) * len(graphs)
            matching, undecided, calls = matching + len(got), undecided + len(open_pairs), calls + len(asked)
    seconds = time.monotonic() - began
    print(
        f"{pairs:,} pairs from seed {wanted.seed}: no difference; {matching / pairs:.1%} match, "
        f"{undecided / pairs:.1%} undecided, {calls:,} calls, each once; {seconds:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
