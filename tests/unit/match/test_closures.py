"""Closures of a taxonomy: against walks of each term, and made once for all that comes to be wanted."""

from __future__ import annotations

import random

import pytest

from tests.unit.match.match_samples import InProcess, publication
from triplecast.index import IndexWriter
from triplecast.match import Matcher
from triplecast.match import entailed as entailed_module
from triplecast.match.closures import walk, walk_all
from triplecast.model.events import TaxonomyVersion
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import Taxonomies


def test_what_is_joined_is_what_is_walked(seed: int) -> None:
    source = random.Random(seed)
    cyclic = 0
    for _ in range(300):
        edges: dict[int, list[int]] = {}
        for _ in range(source.randrange(14)):
            edges.setdefault(source.randrange(8), []).append(source.randrange(8))
        reached = walk_all(edges)
        assert edges.keys() <= reached.keys()
        for term, found in reached.items():
            assert found[0] == term
            assert sorted(found) == sorted(walk(edges, term))
        cyclic += any(term in edges.get(end, ()) for term, ends in edges.items() for end in ends)
    assert 30 < cyclic < 270


def test_a_class_that_is_wanted_later_does_not_close_the_taxonomy_again(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[object] = []
    lay_ground = entailed_module.lay_ground
    monkeypatch.setattr(entailed_module, "lay_ground", lambda taxonomy: laid.append(taxonomy) or lay_ground(taxonomy))
    lines = "".join(
        f"<http://e/{number}> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/{number + 1}> .\n"
        for number in range(20)
    )
    taxonomies = Taxonomies((TaxonomyVersion(1, lines.encode(), False),))
    index, matcher = IndexWriter(), Matcher(InProcess())
    for number in range(2, 6):
        asked = Subscription(f"s{number}", f"ASK {{ ?x a ?c FILTER(tc:descendant(?x, <http://e/{4 * number}>)) }}")
        snapshot = index.apply([Registration(RegistrationId(number), asked)], [], number)
        found = matcher.match(snapshot, [publication("e:x a e:0")], taxonomies)
        assert found.registration.tolist() == list(range(2, number + 1))
    assert len(laid) == 1
