"""Shards against the whole snapshot: ``python -m tests.properties.partition N`` compares N pairs through each strategy.

Rounds are the differential test's, three at a time: every construct, datasets, taxonomies, subscriptions that come and
go. Between two batches the index is assigned anew, by the first batch as sample.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import count

import numpy as np

from tests.properties.differential import PUBLICATIONS, SUBSCRIPTIONS, make_timeline
from tests.properties.generate import Round, make_round
from tests.properties.product import RegistryLog, as_publication, batches_of, taxonomies_of
from triplecast.index import IndexWriter, Snapshot
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Publication
from triplecast.partition import STRATEGIES, Partitioner, Routing, match_shards, merging
from triplecast.taxonomy import Taxonomies

SHARDS = (1, 2, 3, 8)
JOINED = 3
"""Rounds whose subscriptions are in one index."""


class Shards:
    """All strategies with all numbers of shards, against one matcher."""

    def __init__(self) -> None:
        merging.LEAST = 8  # a round has few subscriptions
        self.matcher, self.routing = Matcher(), Routing()
        self.pairs = self.matched = self.undecided = 0
        """Of the whole snapshots; each strategy and number of shards compares as many."""
        self.visited = dict.fromkeys(STRATEGIES, 0)
        """Shards that publications visited, of `possible`."""
        self.possible = 0

    def compare(self, seed: int, number: int) -> list[str]:
        """Compare one round; return what differs."""
        made = join_rounds(
            [make_round(seed, JOINED * number + at, PUBLICATIONS, SUBSCRIPTIONS) for at in range(JOINED)]
        )
        timeline = make_timeline(made, seed)
        texts = [asked.text for asked in made.subscriptions]
        publications = [
            as_publication(each, at) for each, at in zip(made.publications, timeline.published, strict=True)
        ]
        taxonomies, index, log = taxonomies_of(made.publications, timeline), IndexWriter(), RegistryLog(texts, timeline)
        partitioners: dict[tuple[str, int], Partitioner] = {}
        sample: list[Publication] = []
        faults = []
        for turn, batch in enumerate(batches_of(timeline)):
            of = [publications[at] for at in batch]
            snapshot = log.advance(index, of[-1].position, of[0].position - 1)
            whole = describe(self.matcher.match(snapshot, of, taxonomies), of)
            self.pairs += len(of) * len(texts)
            self.matched += len(whole[0])
            self.undecided += len(whole[1])
            for strategy in STRATEGIES:
                for shards in SHARDS:
                    if (strategy, shards) not in partitioners or (turn + number) % 2:
                        partitioners[strategy, shards] = Partitioner(strategy, shards, sample, taxonomies)
                    got = self._match(partitioners[strategy, shards], snapshot, of, taxonomies)
                    if got != whole:
                        which = f"round {number}, batch {turn}, {strategy}, {shards} shards"
                        faults.append(f"{which}: {_differing(whole, got)}")
            sample = of
        return faults

    def _match(
        self, partitioner: Partitioner, snapshot: Snapshot, of: list[Publication], taxonomies: Taxonomies
    ) -> Answers:
        partition = partitioner.partition(snapshot)
        placed = sorted(
            number
            for shard in partition.shards
            for segment in shard.segments
            for number in np.unique(segment.tables.registrations[:]).tolist()
        )
        assert len(placed) == len(set(placed)), "a subscription is in one shard"
        visits = self.routing.route(partition.routers, of, taxonomies) | partition.always
        self.visited[partitioner.strategy] += sum(int(bits).bit_count() for bits in visits.tolist())
        self.possible += len(of) * partitioner.shards if partitioner.strategy == STRATEGIES[0] else 0
        (piece,) = match_shards(self.matcher, self.routing, partition, of, taxonomies)
        return describe(piece[1], of)


Answers = tuple[list[tuple[int, int, bytes]], list[tuple[int, int, str]], list[tuple[int, int, str]]]
"""Matches with their bindings, undecided pairs with their reasons, pairs that wait for operators."""


def describe(matched: MatchedBatch, of: list[Publication]) -> Answers:
    pairs = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
    return (
        [(*pair, matched.bindings_of(row)) for row, pair in enumerate(pairs)],
        [(each.publication, each.registration, each.reason) for each in matched.undecided],
        [(each.position, each.registration, each.reason) for each in matched.open.awaited()],
    )


def join_rounds(rounds: list[Round]) -> Round:
    return Round(
        rounds[0].number,
        tuple(each for made in rounds for each in made.publications),
        tuple(each for made in rounds for each in made.subscriptions),
    )


def _differing(whole: Answers, got: Answers) -> str:
    return "; ".join(
        f"{len(wanted)} {name}, shards {len(found)}, first {next(iter(set(wanted) ^ set(found)), 'in another order')}"
        for name, wanted, found in zip(("matches", "undecided", "open"), whole, got, strict=True)
        if wanted != found
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.partition", description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TRIPLECAST_SEED", "1")))
    parser.add_argument("--from-round", type=int, default=0)
    options = parser.parse_args()
    shards = Shards()
    for number in count(options.from_round):
        faults = shards.compare(options.seed, number)
        if faults:
            print("\n".join(faults), f"replay: --seed {options.seed} --from-round {number}", sep="\n")
            return 1
        if shards.pairs >= options.pairs:
            break
    print(f"{shards.pairs} pairs through each of {', '.join(STRATEGIES)} with {SHARDS} shards: ", end="")
    print(f"{shards.matched} matches, {shards.undecided} undecided, byte for byte as the whole")
    shares = ", ".join(f"{name} {shards.visited[name] / shards.possible:.0%}" for name in STRATEGIES)
    print(f"shards visited: {shares}; seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
