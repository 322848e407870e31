"""The long run of what `test_operators` checks on a few pairs: ``python -m tests.properties.asked --pairs N --seed S``.

Rounds of 120 queries and `PUBLICATIONS` publications, every other one with an operator that fails; each round is
matched under every schedule (``--schedule`` names one) and every answer held against the slow reader's. The first
difference ends it with a status of 1 and is shown with its seed; so does a run in which less than a quarter match.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import count
from random import Random
from typing import NamedTuple

from tests.properties.operators import answer_slowly, make_publication
from tests.properties.test_operators import (
    found,
    in_order,
    made,
    publications_of,
    snapshot_of,
    written,
)
from tests.reference.terms import Triple
from triplecast.match import Matcher
from triplecast.match.operate import Operators
from triplecast.model.match import MatchedBatch
from triplecast.operators.perform import Performer
from triplecast.operators.schedules import SCHEDULES

INSTEAD: dict[bool, tuple[tuple[int, ...], ...]] = {False: ((),), True: ((), (2,), (3,), (1, 3))}
"""What failed calls might have said."""
PUBLICATIONS = 64
LEAST_MATCHING = 0.25
ENOUGH = 10_000
"""Pairs, from which on the share of those that match is held to `LEAST_MATCHING`."""

Reading = Callable[[int, int, tuple[int, ...]], list[str]]
"""Of a publication and a query, by their places, with what failed calls said: the rows."""


class Counts(NamedTuple):
    pairs: int = 0
    """Of a query and a publication, under however many schedules."""
    matching: int = 0
    undecided: int = 0
    calls: int = 0
    """Under the last of the schedules, as the two before."""

    def plus(self, other: Counts) -> Counts:
        return Counts(*(one + more for one, more in zip(self, other, strict=True)))


class Different(AssertionError):
    """What the engine says is not what the reader says, or a call was made twice."""


def check_round(seed: int, fails: bool, matchers: dict[str, Matcher], performer: Performer) -> Counts:
    """Raises `Different`."""
    trees, texts, graphs = made(seed, fails)
    random = Random(f"{seed} {fails}")
    graphs += [make_publication(random) for _ in range(PUBLICATIONS - len(graphs))]
    snapshot, publications = snapshot_of(texts), publications_of(graphs, len(texts))

    @cache
    def read(publication: int, query: int, instead: tuple[int, ...]) -> list[str]:
        return in_order(written(answer_slowly(trees[query], graphs[publication], instead)))  # type: ignore[arg-type]

    counts = Counts()
    for name, matcher in matchers.items():
        performer.standings.clear()  # what fails by design is quarantined in no round because of another
        matched = matcher.match(snapshot, publications)
        told = f"seed {seed}, {name}"
        _check_calls(told, matched, fails)
        counts = _compare(told, matched, texts, graphs, read, INSTEAD[fails])
    return counts


def _check_calls(told: str, matched: MatchedBatch, fails: bool) -> None:
    asked = [(each.publication, each.operator, each.arguments) for each in matched.results]
    if len(asked) != len(set(asked)):
        raise Different(f"{told}: a call was made twice")
    if matched.undecided and not fails:
        raise Different(f"{told}: a pair is undecided where nothing fails")


def _compare(
    told: str,
    matched: MatchedBatch,
    texts: Sequence[str],
    graphs: Sequence[tuple[Triple, ...]],
    read: Reading,
    instead: Sequence[tuple[int, ...]],
) -> Counts:
    got, open_pairs = found(matched), {(each.publication, each.registration) for each in matched.undecided}
    for publication, graph in enumerate(graphs):
        for query, text in enumerate(texts):
            if (publication, query + 1) in open_pairs:
                continue
            have = in_order(got.get((publication, query + 1), []))
            for each in instead:
                want = read(publication, query, each)
                if have != want:
                    raise Different(f"{told}, with {each}: {text}\n{graph}\nis {have}\nnot {want}")
    return Counts(len(texts) * len(graphs), len(got), len(open_pairs), len(matched.results))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.asked", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedule", action="append", choices=sorted(SCHEDULES), help="may be repeated; else all")
    wanted = parser.parse_args()
    names = wanted.schedule or sorted(SCHEDULES)
    began, counts = time.monotonic(), Counts()
    with ExitStack() as stack:
        performer = stack.enter_context(Performer())
        matchers = {name: stack.enter_context(Matcher(operators=Operators(performer, name))) for name in names}
        for seed in count(wanted.seed):
            if counts.pairs >= wanted.pairs:
                break
            for fails in (False, True):
                try:
                    counts = counts.plus(check_round(seed, fails, matchers, performer))
                except Different as error:
                    print(error)
                    return 1
    share = counts.matching / counts.pairs
    print(
        f"{counts.pairs:,} pairs from seed {wanted.seed} under {', '.join(names)}: no difference; {share:.1%} match, "
        f"{counts.undecided / counts.pairs:.1%} undecided, {counts.calls:,} calls, each once; "
        f"{time.monotonic() - began:.0f} s"
    )
    if counts.pairs >= ENOUGH and share < LEAST_MATCHING:
        print(f"too few match: {LEAST_MATCHING:.0%} of {counts.pairs:,} pairs were expected to")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
