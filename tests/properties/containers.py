"""Container search against brute force: ``python -m tests.properties.containers N`` compares N pairs of items.

Each pair is tried with all mappings of the one's variables to the other's nodes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from itertools import count

import numpy as np

from tests.reference.containment import conjunction, contains
from tests.unit.partition.samples import random_segment
from triplecast.partition.containment import find_closed, find_forest, find_synthetic
from triplecast.partition.items import file_items

SUBSCRIPTIONS = 40
"""In a segment."""


def compare_containers(seed: int) -> tuple[int, int]:
    """Compare one segment; return its pairs of items, and how many items have a container.

    Of items that contain each other a later one has an earlier one: the first is a root, unless something wider is.
    """
    segment = random_segment(random.Random(seed), SUBSCRIPTIONS)
    filed = file_items(segment)
    found = find_forest(segment, filed)
    closed, synthetic = find_closed(segment), set(np.flatnonzero(find_synthetic(segment)).tolist())
    items = [conjunction(filed.items, item) for item in range(len(filed.structure))]
    holds = [[contains(general, special, synthetic) for special in items] for general in items]
    for item, container in enumerate(found.container.tolist()):
        wanted = closed[filed.structure[item]] and any(
            holds[other][item] and (other < item or not holds[item][other])
            for other in range(len(items))
            if other != item
        )
        assert (container >= 0) == bool(wanted), (seed, item, items[item])
        if container >= 0:
            assert container != item
            assert holds[container][item], (seed, item, container)
            assert found.root[item] == found.root[container]
    return len(items) * (len(items) - 1), int((found.container >= 0).sum())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.containers", description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TRIPLECAST_SEED", "1")), help="of the first")
    asked = parser.parse_args()
    pairs = contained = 0
    for seed in count(asked.seed):
        compared, having = compare_containers(seed)
        pairs, contained = pairs + compared, contained + having
        if pairs >= asked.pairs:
            break
    print(f"{pairs} pairs of items, {contained} items with a container, none wrong; seeds {asked.seed} to {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
