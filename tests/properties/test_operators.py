"""Random queries that ask operators, all standing together, against the slow reader, which asks each alone."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.properties.operators import NOTES, NOTHING, Maker, answer_slowly, make_publication
from tests.properties.render import render
from tests.properties.substitutes import (
    LEFT_OUT,
    LINKED,
    WITHIN,
    draw_readings,
    first_difference,
    has_two,
    shape_of,
    written,
)
from tests.reference.queries import Query
from tests.reference.terms import Triple, write
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.errors import QueryRefused
from triplecast.evaluate.unknown import Answers
from triplecast.index import IndexWriter, Snapshot
from triplecast.match import Matcher
from triplecast.match.matcher import NO_ANSWERS, merge_batches
from triplecast.model.answers import Answer, GroundCall, OperatorResult, parse_answer
from triplecast.model.match import MatchedBatch
from triplecast.model.operators import SCHEDULE
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators.asking import Asker, settle
from triplecast.operators.asking.schedules import SCHEDULES
from triplecast.operators.operator_set import declared_operators
from triplecast.registry.admission import admit

SEED = 20261121
QUERIES, PUBLICATIONS = 120, 16
OPERATORS = declared_operators()


def made(
    seed: int, fails: bool, publications: int = PUBLICATIONS
) -> tuple[list[Query], list[str], list[tuple[Triple, ...]]]:
    random = Random(seed)
    maker = Maker(random, fails)
    trees: list[Query] = []
    texts: list[str] = []
    while len(texts) < QUERIES:
        tree = maker.query()
        text = render(tree, None)
        try:
            admit(Subscription("generated", text), operators=OPERATORS)
        except QueryRefused:
            continue
        trees.append(tree)
        texts.append(text)
    return trees, texts, [make_publication(random) for _ in range(publications)]


def is_decided_by_index(text: str) -> bool:
    return admit(Subscription("generated", text), operators=OPERATORS).decided


def snapshot_of(texts: list[str]) -> Snapshot:
    registrations = [Registration(RegistrationId(i), Subscription(str(i), text)) for i, text in enumerate(texts, 1)]
    return IndexWriter().apply(registrations, (), len(texts), compiler=SubscriptionCompiler(OPERATORS))


def publications_of(graphs: list[tuple[Triple, ...]], after: int, notes: Path | None = None) -> list[Publication]:
    at = "2026-01-01T00:00:00.000000Z"
    quads = [b"".join(sorted(f"{' '.join(map(write, triple))} .\n".encode() for triple in graph)) for graph in graphs]
    attached = () if notes is None else ((NOTES, os.fsencode(notes)),)
    return [Publication(after + i, f"urn:g:{i}", 1, at, text, attachments=attached) for i, text in enumerate(quads, 1)]


class Asking:
    """A matcher and an asker."""

    def __init__(self, schedule: str = SCHEDULE) -> None:
        self.matcher, self.asker = Matcher(operators=OPERATORS), Asker(schedule=schedule, operators=OPERATORS)

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self.asker.close()
        self.matcher.close()

    def match(
        self, snapshot: Snapshot, publications: list[Publication], known: Mapping[int, Answers] = NO_ANSWERS
    ) -> tuple[MatchedBatch, tuple[OperatorResult, ...]]:
        """What matches after all calls, and what these gave."""
        matched = self.matcher.match(snapshot, publications)
        settled = settle(
            self.asker, self.matcher, matched.open, publications, known=known, conditions=matched.conditions
        )
        return merge_batches(matched, settled.matched), settled.results


def found(matched: MatchedBatch) -> dict[tuple[int, int], tuple[str, ...]]:
    """By publication and registration, comparable to `written`."""
    pairs = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
    return {pair: read_bindings(matched.bindings_of(row)) for row, pair in enumerate(pairs)}


def read_bindings(text: bytes) -> tuple[str, ...]:
    return tuple(sorted(repr(sorted(row.items())) for row in json.loads(text)))


def asked_twice(results: Iterable[OperatorResult]) -> list[tuple[int, str, tuple[str, ...]]]:
    counts = Counter((each.position, each.operator, each.arguments) for each in results)
    return [call for call, count in counts.items() if count > 1]


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
def test_the_answers_are_those_of_each_subscription_alone(schedule: str) -> None:
    trees, texts, graphs = made(SEED, fails=False)
    with Asking(schedule) as asking:
        matched, results = asking.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    assert matched.undecided == ()
    assert asked_twice(results) == []
    got = found(matched)
    assert len(got) >= QUERIES * PUBLICATIONS / 4
    for publication, graph in enumerate(graphs):
        for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
            want = written(answer_slowly(tree, graph))
            assert got.get((publication, number), ()) == want, (SEED, publication, text, graph)


def test_what_does_not_depend_on_a_failure_is_decided_and_nothing_else_is() -> None:
    """A decided pair says what it says whatever the failed calls might have said; of an undecided one this makes a
    difference, but for three shapes that are permitted."""
    random = Random(SEED)
    trees, texts, graphs = made(SEED + 1, True, 6)
    with Asking() as asking:
        matched, _ = asking.match(snapshot_of(texts), publications_of(graphs, len(texts)))
    got = found(matched)
    undecided = {(pair.publication, pair.registration) for pair in matched.undecided}
    shapes: Counter[str | None] = Counter()
    for publication, graph in enumerate(graphs):
        for number, (tree, text) in enumerate(zip(trees, texts, strict=True), 1):
            if (publication, number) not in undecided:
                tried = (NOTHING, *islice(draw_readings(tree, graph, random), 12))
                different = first_difference(tree, graph, got.get((publication, number), ()), tried)
                assert different is None, (SEED + 1, different, text, graph)
            elif not has_two(tree, graph, random):
                shape = shape_of(tree, graph, is_decided_by_index(text), random)
                assert shape is not None, (SEED + 1, text, graph)
                shapes[shape] += 1
    assert shapes[LEFT_OUT] + shapes[LINKED] + shapes[WITHIN] < len(undecided) / 2, shapes


def test_what_is_known_before_changes_nothing() -> None:
    """A replay has all or some of the answers, and tells what was told without any."""
    random = Random(SEED)
    _, texts, graphs = made(SEED, False, 6)
    publications = publications_of(graphs, len(texts))
    with Asking() as asking:
        first, results = asking.match(snapshot_of(texts), publications)
        assert len(results) > 50
        for part in (1.0, 0.5, 0.2):
            known: dict[int, dict[GroundCall, Answer]] = {}
            for each in results:
                if random.random() < part:
                    answers = known.setdefault(each.position, {})
                    answers[GroundCall(each.operator, each.arguments)] = parse_answer(each.answer)
            again, more = asking.match(snapshot_of(texts), publications, known)
            assert found(again) == found(first), (SEED, part)
            assert again.undecided == ()
            if part == 1:
                assert more == ()


@pytest.mark.parametrize("schedule", ["adaptive", "naive"])
def test_each_call_runs_once_by_the_workers_own_notes(schedule: str, tmp_path: Path) -> None:
    """Those that fail among them; and what the match tells of calls is what ran."""
    _, texts, graphs = made(SEED + 2, True, 6)
    publications = publications_of(graphs, len(texts), tmp_path / "notes")
    with Asking(schedule) as asking:
        _, results = asking.match(snapshot_of(texts), publications)
    ran = (tmp_path / "notes").read_text().splitlines()
    graph_at = {each.position: each.graph for each in publications}
    told = [f"{graph_at[each.position]} {each.operator} {each.arguments[0]}" for each in results]
    assert len(ran) > 100
    assert sorted(ran) == sorted(set(ran)) == sorted(told)
