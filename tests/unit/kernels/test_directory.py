"""The directory of keys leads to every shard that a key of a view leads to, and to hardly any other; some of the views
of a batch are those of these publications alone."""

from __future__ import annotations

import itertools
import os
import random

import numpy as np
import pytest

from triplecast.kernels import directory, hashing
from triplecast.kernels.directory import build_directory, route_views
from triplecast.kernels.hashing import hash_terms
from triplecast.kernels.views import Views, take_views
from triplecast.match.views import scan_views
from triplecast.model.publication import Publication

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
MASKS = (1, 2, 3, 4, 5, 6, 7)
Key = tuple[bytes | None, bytes | None, bytes | None]


def draw_lines(rng: random.Random, names: int) -> set[tuple[bytes, bytes, bytes]]:
    def term(kind: str) -> bytes:
        return f"<http://e/{kind}{rng.randrange(names)}>".encode()

    return {(term("s"), term("p"), term("o")) for _ in range(rng.randint(0, 12))}


def publish(number: int, lines: set[tuple[bytes, bytes, bytes]], graph: bytes = b"") -> Publication:
    quads = b"".join(sorted(b" ".join((*line, *([graph] if graph else []), b".\n")) for line in lines))
    return Publication(number, f"g{number}", 1, "", quads, bool(graph))


def keys_of(line: tuple[bytes, bytes, bytes], masks: tuple[int, ...]) -> set[Key]:
    return {tuple(term if mask >> place & 1 else None for place, term in enumerate(line)) for mask in masks}


@pytest.mark.parametrize("masks", [MASKS, (2, 6)])
@pytest.mark.parametrize("bits", [64, 3])
def test_every_shard_of_a_key_is_found(masks: tuple[int, ...], bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bits`: of a hash. With few of them, terms that differ are taken for one another, which leads too far only."""
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(2**bits - 1))
    rng = random.Random(SEED)
    known = sorted({key for _ in range(60) for line in draw_lines(rng, 9) for key in keys_of(line, masks)}, key=str)
    leads = {key: 1 << rng.randrange(64) | 1 << rng.randrange(64) for key in known}
    found, wrong = build(known, leads), 0
    publications = [publish(number, draw_lines(rng, 12), b"<g:n>" if number % 5 == 0 else b"") for number in range(200)]
    views = scan_views(publications)
    visits = np.zeros(len(publications), np.int64)
    np.bitwise_or.at(visits, views.publication, route_views(found, views, 1 << 7))
    for each, bitset in zip(publications, visits.tolist(), strict=True):
        lines = [tuple(line.split(b" ")[:3]) for line in each.quads.splitlines()]
        exact = 1 << 7
        for line in lines:
            for key in keys_of(line, masks):
                exact |= leads.get(key, 0)
        assert bitset & 2**64 - 1 & exact == exact
        wrong += (bitset & 2**64 - 1) != exact
    assert bits < 64 or wrong <= 2


def build(known: list[Key], leads: dict[Key, int]) -> directory.Directory:
    hashes = np.array([[0 if term is None else int(hash_terms([term])[0]) for term in key] for key in known], np.uint64)
    masks = np.array([sum(1 << place for place, term in enumerate(key) if term is not None) for key in known], np.uint8)
    return build_directory(hashes, masks, np.array([leads[key] for key in known], np.uint64).astype(np.int64))


def test_more_sets_than_have_numbers_lead_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "SETS_LIMIT", 4)
    known = [(None, b"<http://e/p>", f"<http://e/o{number}>".encode()) for number in range(40)]
    leads = {key: 1 if number < 20 else 1 << number for number, key in enumerate(known)}
    found = build(known, leads)
    views = scan_views([publish(n, {(b"<s:s>", key[1], key[2])}) for n, key in enumerate(known)])
    for (key, bits), bitset in zip(leads.items(), route_views(found, views, 0).tolist(), strict=True):
        assert bitset & bits == bits, key
        assert bits > 1 or bitset == 1, "the most frequent sets are kept"
    assert len(found.sets) == 4


def test_some_views_are_those_of_these_publications_alone() -> None:
    rng = random.Random(SEED)
    publications = [publish(n, draw_lines(rng, 6), b"<g:n>" if n % 3 == 0 else b"") for n in range(30)]
    views = scan_views(publications)
    for chosen in ([], [0], [29], [1, 2, 5], [0, 3, 4, 28, 29], list(range(30))):
        taken = take_views(views, np.flatnonzero(np.isin(views.publication, chosen)))
        alone = scan_views([publications[place] for place in chosen])
        assert shown(taken) == shown(alone)
        assert taken.publication.tolist() == [chosen[number] for number in alone.publication.tolist()]
        assert taken.spans.tolist() == alone.spans.tolist()
        assert taken.values.tolist() == alone.values.tolist()


def shown(views: Views) -> list[object]:
    text, start, length = views.terms.text, views.terms.start, views.terms.length
    names = [text[a : a + n].tobytes() for a, n in zip(start.tolist(), length.tolist(), strict=True)]
    bounds = views.offsets.tolist()
    rows = [
        [[names[term] for term in row] for row in views.triples[a:b].tolist()] for a, b in itertools.pairwise(bounds)
    ]
    return [views.mode.tolist(), rows, views.terms.hashes.tolist(), views.terms.value_class.tolist()]
