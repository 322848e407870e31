"""Shards give the answers of the whole snapshot, byte for byte, whatever cuts them."""

from __future__ import annotations

import json
import os
import random
import sys
from itertools import chain
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

from wild_operators import WILD

from tests.properties.partition import SHARDS, Shards, describe
from tests.unit.partition.samples import PREFIX, random_publication, random_query, random_segment, registrations
from triplecast.errors import InputError
from triplecast.index import IndexWriter, merge
from triplecast.ingest import Document
from triplecast.kernels.unfold import unfold
from triplecast.match import Matcher
from triplecast.model.match import AnswerLimits
from triplecast.model.subscription import Subscription
from triplecast.offline import match_documents
from triplecast.operators.operator_set import operator_set
from triplecast.partition import STRATEGIES, Partitioner, Routing, check_partition, items, match_shards, merging
from triplecast.partition.merging import Summaries
from triplecast.partition.placing import balance
from triplecast.registry.admission import admit_all
from triplecast.registry.lines import LoadedSubscriptions

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


@pytest.fixture(autouse=True)
def _small_indexes_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "LEAST", 8)


@pytest.mark.parametrize("number", [0, 1])
def test_every_construct_matches_alike_under_every_strategy(number: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/partition/test_shards.py"""
    assert Shards().compare(SEED, number) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_families_match_alike_and_bounds_hold_for_all_shards_together(strategy: str) -> None:
    rng = random.Random(SEED)
    snapshot = IndexWriter().apply(registrations([random_query(rng) for _ in range(200)]), covers=200)
    publications = [random_publication(rng, 201 + number) for number in range(60)]
    with Matcher() as matcher:
        for limits in (
            matcher.limits,
            AnswerLimits(publication=600),
            AnswerLimits(publication=60),
            replace_pairs(matcher.limits, 7),
        ):
            matcher.limits = limits
            whole = [describe_all(piece) for piece in matcher.match_pieces(snapshot, publications)]
            for shards in SHARDS:
                partition = Partitioner(strategy, shards, publications[:20]).partition(snapshot)
                found = match_shards(matcher, Routing(), partition, publications)
                assert joined(map(describe_all, found)) == joined(whole), (strategy, shards, limits)


def replace_pairs(limits: AnswerLimits, pairs: int) -> AnswerLimits:
    return limits._replace(pairs=pairs)


def describe_all(piece):
    of, matched = piece
    rows, undecided, _ = describe(matched, of)
    return [(of[place].position, *rest) for place, *rest in rows], [
        (of[place].position, *rest) for place, *rest in undecided
    ]


def joined(pieces):
    rows, undecided = zip(*pieces, strict=True)
    return list(chain.from_iterable(rows)), list(chain.from_iterable(undecided))


def test_a_join_beyond_its_steps_is_undecided_in_its_shard_too() -> None:
    cycle = " . ".join(f"?x{n} e:p ?x{(n + 1) % 11}" for n in range(11))
    texts = [
        f"{PREFIX}SELECT * {{ {cycle} }}",
        f"{PREFIX}SELECT * {{ ?a e:q ?b . ?b e:r e:never }}",
        f"{PREFIX}SELECT * {{ {cycle} . ?x0 e:q ?b . ?b e:r e:never }}",
        f"{PREFIX}SELECT * {{ ?a e:p ?b }}",
    ]
    both = [(f"s{a}", f"t{b}") for a in range(8) for b in range(8)]
    lines = {f"<http://e/{a}> <http://e/p> <http://e/{b}> .\n".encode() for a, b in both + [(b, a) for a, b in both]}
    lines |= {f"<http://e/s{a}> <http://e/q> <http://e/u> .\n".encode() for a in range(8)}
    lines |= {b"<http://e/v> <http://e/r> <http://e/never> .\n"}
    publication = random_publication(random.Random(0), 10)._replace(quads=b"".join(sorted(lines)))
    snapshot = IndexWriter().apply(registrations(texts), covers=4)
    with Matcher() as matcher:
        whole = describe(matcher.match(snapshot, [publication]), [publication])
        assert whole[1], "a pair is undecided"
        for strategy in STRATEGIES:
            partition = Partitioner(strategy, 2).partition(snapshot)
            ((_, matched),) = match_shards(matcher, Routing(), partition, [publication])
            assert describe(matched, [publication]) == whole


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_operators_are_called_once_for_all_shards(strategy: str) -> None:
    texts = [
        f"{PREFIX}PREFIX w: <{WILD}> SELECT * {{ ?x e:t ?t ; e:p e:o{n % 3} ; e:n{n} ?y FILTER (w:long(?t)) }}"
        for n in range(6)
    ]
    found = LoadedSubscriptions(
        tuple(Subscription(f"s{n}", text) for n, text in enumerate(texts)), tuple(f"f:{n}" for n in range(6)), ()
    )
    admitted = admit_all(found, operators=operator_set(None))
    lines = "<a:a> " + " ; ".join(f"<http://e/p> <http://e/o{n % 3}> ; <http://e/n{n}> {n}" for n in range(6))
    documents = [Document(f"{n}.ttl", f'{lines} ; <http://e/t> "{text}" .'.encode()) for n, text in enumerate("along")]
    documents += [Document("long.ttl", f'{lines} ; <http://e/t> "long" .'.encode())]

    def run(*partition: object):
        (outcome,) = match_documents(admitted, documents, lambda: 0, strategy=partition[0], shards=partition[1])
        rows = [json.dumps(match.row()) for match in outcome.matches(admitted.subscriptions)]
        return rows, outcome.matched.undecided, outcome.matched.stats.operator_calls

    whole = run("slices", 1)
    assert whole[0]
    assert whole[2] == len(documents)
    assert run(strategy, 3) == whole


def test_summaries_keep_what_similar_publications_share() -> None:
    summaries = Summaries(similarity=0.3)
    summaries.add(b"a\nb\nc\n", 5)
    summaries.add(b"x\ny\n", 9)
    summaries.add(b"a\nb\nd\n", 6)
    assert [each.quads for each in summaries.ranked()] == [b"a\nb\n", b"x\ny\n"]


def test_heavy_units_are_balanced_by_load_and_by_bytes() -> None:
    import numpy as np

    rng = np.random.default_rng(SEED)
    load, weight = rng.zipf(1.8, 20_000).astype(float).clip(max=500), rng.integers(1, 64, 20_000).astype(float)
    load, weight = load / load.sum(), weight / weight.sum()
    shard = balance(load, weight, 8)
    for amounts in (load, weight):
        sums = np.bincount(shard, amounts, 8)
        assert sums.max() / sums.mean() < 1.25


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_joined_in_the_whole_is_joined_in_few_shards(strategy: str) -> None:
    rng = random.Random(SEED)
    texts = [f"{PREFIX}SELECT * {{ ?x e:q e:o{n % 100} ; e:r ?v FILTER (?v > {n}) }}" for n in range(2_000)]
    snapshot = IndexWriter().apply(registrations(rng.sample(texts, len(texts))), covers=len(texts))
    lines = [b'<http://e/x> <http://e/r> "5000"^^<http://www.w3.org/2001/XMLSchema#integer> .\n']
    lines += [f"<http://e/x> <http://e/q> <http://e/o{n}> .\n".encode() for n in range(100)]
    publications = [
        random_publication(rng, 2_001)._replace(quads=b"".join(sorted([each, *lines[:1]]))) for each in lines
    ]
    partition = Partitioner(strategy, 8, publications).partition(snapshot)
    with Matcher() as matcher:
        whole = matcher.match(snapshot, publications).stats
        ((_, matched),) = match_shards(matcher, Routing(), partition, publications)
    assert matched.stats.matches == whole.matches == len(texts)
    assert matched.stats.joins == whole.joins == 100


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_segment_is_unfolded_once_for_all_shards(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(index):
        calls.append(index)
        return unfold(index)

    segment = random_segment(random.Random(SEED), 100)
    for module in (items, merge):
        monkeypatch.setattr(module, "unfold", counted)
    cut = Partitioner(strategy, 8).cut(segment)
    assert sum(len(part) for part in cut.parts if part is not None) == len(segment)
    assert len(calls) == 1


def test_strangers_visit_the_few_shards_of_conditions_that_any_may_fulfil() -> None:
    rng = random.Random(SEED)
    texts = [f"{PREFIX}SELECT * {{ ?x e:p{n % 40} e:o{n} }}" for n in range(4_000)]
    texts += [f"{PREFIX}SELECT * {{ ?x e:p{n} ?v FILTER (?v > {n}) }}" for n in range(40)]
    snapshot = IndexWriter().apply(registrations(rng.sample(texts, len(texts))), covers=len(texts))
    lines = b"".join(sorted(f"<http://e/x> <http://e/p{n}> <http://e/other> .\n".encode() for n in range(40)))
    publication = random_publication(rng, 9_999)._replace(quads=lines)
    partition = Partitioner("anchor", 64).partition(snapshot)
    (visits,) = Routing().route(partition.routers, [publication]).tolist()
    assert (visits & 2**64 - 1).bit_count() == 1
    sizes = [len(shard) for shard in partition.shards]
    assert max(sizes) < 1.25 * len(texts) / 64
    assert sum(router.bytes for router in partition.routers) < 8 * len(texts)


def test_what_no_index_can_be_cut_by_is_refused() -> None:
    with pytest.raises(InputError, match="use one of slices, anchor, hash, containment, merging"):
        check_partition("random", 2)
    with pytest.raises(InputError, match="use 1 to"):
        check_partition("hash", 0)
