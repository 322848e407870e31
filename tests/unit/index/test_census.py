"""Who stands, read off the index: as admission said of each, whatever happened to the segments since."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.reference.anchors import FirstWritten, NoFilter
from tests.unit.match.match_samples import PREFIXES
from tests.unit.match.test_entailed_random import random_query
from triplecast.index import IndexWriter, RarestKey, build_segments, merge
from triplecast.index.registrations import NO_REMOVALS
from triplecast.index.snapshot import Snapshot, broad_registrations, take_census
from triplecast.index.structures import Anchor
from triplecast.model.subscription import Registration, RegistrationId, Subscription, SubscriptionCounts
from triplecast.registry.admission import admit

PARTS = (
    "?x e:p 1",
    "?x e:p ?y",
    "?x ?p ?y",
    "?x e:p 1 . ?x ?p ?y",
    "{ ?x e:p ?y } UNION { ?x ?p ?y }",
    "?x e:p ?y OPTIONAL { ?x ?p ?z }",
    "?x e:p ?y FILTER(?y > 3)",
    "?x ?p ?y FILTER(?y > 3 && ?y < 9)",
    "?x ?p ?y FILTER(ft:contains(?y, '\"word\"'))",
    "?x ?p ?y FILTER(ft:contains(?y, 'ftnot \"word\"'))",
    "?x e:p ?y ; e:q ?z FILTER(?y > 2 * ?z)",
    "?x e:p* ?y",
    "?x e:p+ ?y",
    "{ ?x e:p 1 } UNION { ?x e:q ?y } UNION { ?x e:r+ ?y }",
    "OPTIONAL { ?x e:p 1 }",
    "?x e:p 1 FILTER NOT EXISTS { ?a ?b ?c }",
    "GRAPH ?g { ?x e:p 1 }",
)
ENDS = ("", "LIMIT 2", "ORDER BY ?x")


def _random_subscription(source: Random, number: int) -> Subscription:
    if source.random() < 0.4:
        text, entailment = random_query(source)
        return Subscription(f"s{number}", text, entailment=entailment)
    text = f"{PREFIXES}SELECT * {{ {source.choice(PARTS)} }} {source.choice(ENDS)}"
    return Subscription(f"s{number}", text, entailment=source.choice((None, None, "taxonomy", "rdfs")))


def _told(registrations: list[Registration]) -> tuple[SubscriptionCounts, list[int]]:
    """By admission."""
    admissions = {int(each.id): admit(each.subscription) for each in registrations}
    counts: Counter[str] = Counter()
    for each in admissions.values():
        counts.update((each.cost, each.decider))
    return SubscriptionCounts(**counts), [id for id, each in admissions.items() if each.cost == "broad"]


@pytest.mark.parametrize("anchor", [RarestKey(), FirstWritten(), NoFilter()])
def test_the_index_knows_what_admission_told(anchor: Anchor, seed: int) -> None:
    source = Random(seed)
    registrations = [
        Registration(RegistrationId(number), _random_subscription(source, number)) for number in range(1, 151)
    ]
    snapshot = Snapshot(150, tuple(build_segments(registrations, anchor)), NO_REMOVALS)
    census, broad = _told(registrations)
    assert (take_census(snapshot), broad_registrations(snapshot)) == (census, broad)
    assert all((census.narrow, census.predicate, census.broad, census.index, census.combined, census.evaluator))


def test_also_after_removals_and_merges(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, index = Random(seed), IndexWriter()
    live: dict[int, Registration] = {}
    merged = []
    merge_segments = merge.merge_segments
    monkeypatch.setattr(merge, "merge_segments", lambda *given: merged.append(1) or merge_segments(*given))
    position = 0
    for _ in range(12):
        added = []
        for _ in range(source.randrange(1, 9)):
            position += 1
            added.append(Registration(RegistrationId(position), _random_subscription(source, position)))
        gone = source.sample(sorted(live), min(len(live), source.randrange(4)))
        removed = [(each, position + 1 + at) for at, each in enumerate(gone)]
        position += len(gone)
        live = {id: each for id, each in live.items() if id not in gone} | {int(each.id): each for each in added}
        snapshot = index.apply(added, removed, position, needed_from=position if source.random() < 0.5 else 0)
        assert (take_census(snapshot), broad_registrations(snapshot)) == _told(list(live.values()))
    assert merged


def test_nobody_stands_in_an_empty_index() -> None:
    snapshot = IndexWriter().apply([], [], 0)
    assert (take_census(snapshot), broad_registrations(snapshot)) == (SubscriptionCounts(), [])
