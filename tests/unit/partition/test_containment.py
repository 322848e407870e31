"""Containment trees against brute force over all mappings, and against what publications match."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from tests.properties.containers import compare_containers
from tests.unit.partition.samples import random_publication, random_segment, registrations
from triplecast.index import build_segment
from triplecast.partition.containment import find_forest
from triplecast.partition.items import file_items
from triplecast.partition.routing import Routing

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def test_an_item_has_a_container_iff_a_mapping_shows_one() -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/partition/test_containment.py"""
    assert sum(contained for _, contained in map(compare_containers, range(SEED, SEED + 3))) > 5


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
