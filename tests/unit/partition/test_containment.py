"""Containment trees against brute force over all mappings, and against what publications match."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from tests.reference.containment import conjunction, contains
from tests.unit.partition.samples import random_publication, random_segment, registrations
from triplecast.index import build_segment
from triplecast.partition.containment import find_closed, find_forest, find_synthetic
from triplecast.partition.items import file_items
from triplecast.partition.routing import Routing

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def test_an_item_has_a_container_iff_a_mapping_shows_one() -> None:
    """Of items that contain each other a later one has an earlier one: the first is a root, unless something wider is.

    Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/partition/test_containment.py
    """
    assert sum(map(_compare_containers, range(SEED, SEED + 3))) > 5


def _compare_containers(seed: int) -> int:
    """Return how many items have a container."""
    segment = random_segment(random.Random(seed), 40)
    filed = file_items(segment)
    found = find_forest(segment, filed)
    closed, synthetic = find_closed(segment), set(np.flatnonzero(find_synthetic(segment)).tolist())
    items = [conjunction(filed.items, item) for item in range(len(filed.structure))]
    contained = 0
    for item, special in enumerate(items):
        container = int(found.container[item])
        wanted = closed[filed.structure[item]] and any(
            contains(general, special, synthetic) and (other < item or not contains(special, general, synthetic))
            for other, general in enumerate(items)
            if other != item
        )
        assert (container >= 0) == bool(wanted), (seed, item, special)
        if container >= 0:
            contained += 1
            assert container != item
            assert contains(items[container], special, synthetic), (seed, item, container)
            assert found.root[item] == found.root[container]
    return contained


@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_the_root_of_what_matches_matches(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/partition/test_containment.py"""
    rng = random.Random(seed)
    segment = random_segment(rng, 150)
    filed = file_items(segment)
    root = find_forest(segment, filed).root
    of_item, items = np.unique(filed.items.subscription, return_index=True)
    single = np.bincount(filed.items.subscription, minlength=segment.members) == 1
    root_of = dict(zip(of_item.tolist(), filed.items.subscription[root[items]].tolist(), strict=True))
    publications = [random_publication(rng, position) for position in range(1, 200)]
    publication, member = Routing().find(segment, publications)
    pairs = set(zip(publication.tolist(), member.tolist(), strict=True))
    below = [(place, each) for place, each in pairs if single[each] and root_of[each] != each]
    assert len(below) > 50
    assert all((place, root_of[each]) in pairs for place, each in below)


def test_trees_by_hand() -> None:
    texts = (
        "PREFIX e: <http://e/> SELECT * { ?x e:p ?y FILTER (?y > 5) }",
        "PREFIX e: <http://e/> SELECT * { ?a e:p ?b ; e:q e:o FILTER (?b > 7) }",
        "PREFIX e: <http://e/> SELECT * { ?x e:p ?y FILTER (?y > 9) }",
        "PREFIX e: <http://e/> SELECT * { ?x e:p ?y FILTER (?y >= 5) }",
        "PREFIX e: <http://e/> SELECT * { ?x e:r ?y }",
        "PREFIX e: <http://e/> SELECT * { ?x e:p ?y FILTER (?y > 9) }",
    )
    segment = build_segment(registrations(texts))
    filed = file_items(segment)
    forest = find_forest(segment, filed)
    root = {int(filed.subscription[item]): int(filed.subscription[forest.root[item]]) for item in range(6)}
    assert root == {0: 3, 1: 3, 2: 3, 3: 3, 4: 4, 5: 3}, "equals are no root where something is wider"
