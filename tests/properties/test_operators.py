"""Random queries that ask operators, all standing together, against the slow reader, which asks each alone."""

from __future__ import annotations

import json
from random import Random

import pytest

from tests.properties.operators import Maker, answer_slowly, make_publication
from tests.properties.render import render
from tests.reference.solve import Solution
from tests.reference.terms import Triple, write
from triplecast.compile.admission import admit
from triplecast.errors import QueryRefused
from triplecast.index import MemoryIndex, Snapshot
from triplecast.match import Matcher
from triplecast.match.operate import Operators
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators.schedules import SCHEDULES

SEED = 20261121
QUERIES, PUBLICATIONS = 120, 16


def made(
    seed: int, fails: bool, publications: int = PUBLICATIONS
) -> tuple[list[object], list[str], list[tuple[Triple, ...]]]:
    random = Random(seed)
    maker = Maker(random, fails)
    trees, texts = [], []
    while len(texts) < QUERIES:
        tree = maker.query()
        text = render(tree, None)
        try:
            admit(Subscription("generated", text))
        except QueryRefused:
            continue
        trees.append(tree)
        texts.append(text)
    return trees, texts, [make_publication(random) for _ in range(publications)]


def snapshot_of(texts: list[str]) -> Snapshot:
    registrations = [Registration(RegistrationId(i), Subscription(str(i), text)) for i, text in enumerate(texts, 1)]
    return MemoryIndex().apply(registrations, (), len(texts))


def publications_of(graphs: list[tuple[Triple, ...]], after: int) -> list[Publication]:
    at = "2026-01-01T00:00:00.000000Z"
    quads = [b"".join(sorted(f"{' '.join(map(write, triple))} .\n".encode() for triple in graph)) for graph in graphs]
    return [Publication(after + i, f"urn:g:{i}", 1, at, text) for i, text in enumerate(quads, 1)]


def found(matched: MatchedBatch) -> dict[tuple[int, int], list[dict[str, str]]]:
    pairs = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
    return {pair: json.loads(matched.bindings_of(row)) for row, pair in enumerate(pairs)}


def written(rows: list[Solution]) -> list[dict[str, str]]:
    return [{name: write(term) for name, term in row.items()} for row in rows]


def in_order(rows: list[dict[str, str]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_the_answers_are_those_of_each_subscription_alone(schedule: str) -> None:
    trees, texts, graphs = made(SEED, fails=False)
    with Matcher(operators=Operators(schedule=schedule)) as matcher:
        matched = matcher.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    assert matched.undecided == ()
    calls = [(result.publication, result.operator, result.arguments) for result in matched.results]
    assert len(calls) == len(set(calls))
    got = found(matched)
    assert len(got) >= QUERIES * PUBLICATIONS / 4
    for publication, graph in enumerate(graphs):
        for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
            want = in_order(written(answer_slowly(tree, graph)))  # type: ignore[arg-type]
            assert in_order(got.get((publication, number), [])) == want, (SEED, publication, text, graph)


def test_what_does_not_depend_on_a_failure_is_decided() -> None:
    """And is the answer, whatever the operators that failed might have said."""
    trees, texts, graphs = made(SEED + 1, fails=True)
    with Matcher() as matcher:
        matched = matcher.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    got = found(matched)
    undecided = {(pair.publication, pair.registration) for pair in matched.undecided}
    assert undecided
    differing = 0
    for publication, graph in enumerate(graphs):
        for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
            possible = [in_order(written(answer_slowly(tree, graph, instead))) for instead in ((), (2,), (3,), (1, 3))]  # type: ignore[arg-type]
            if (publication, number) in undecided:
                differing += any(each != possible[0] for each in possible)
                continue
            for each in possible:
                assert in_order(got.get((publication, number), [])) == each, (SEED + 1, publication, text, graph)
    assert differing >= len(undecided) / 4
