"""The store against the slow one, event by event, whenever its live part is sorted in."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from tests.reference.repository import Content, Line, SlowRepository, content_of
from tests.unit.repository.histories import GRAPHS, history, publication
from triplecast.kernels.layout import I32
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.model.events import Removal
from triplecast.model.publication import Position
from triplecast.repository.store import MERGE_AFTER, Store, TripleSource, id_of

SHARED = "<x:s> <x:p> <x:o> .\n"


def written(source: TripleSource, triples: I32) -> list[Line]:
    return [tuple(source.bank.term(id).decode() for id in row) for row in triples.tolist()]  # type: ignore[misc]


def one_graph(source: TripleSource) -> set[Line]:
    lines = written(source, source.find(ANY, ANY, ANY))
    assert len(set(lines)) == len(lines) == source.size == source.count(ANY, ANY, ANY)
    return set(lines)


def named_graphs(source: TripleSource) -> dict[str, Content]:
    found = {}
    for graph in source.graphs():
        triples = source.document(graph)
        assert triples is not None
        found[source.bank.term(graph).decode()[1:-1]] = content_of(written(source, triples))
    return found


@pytest.mark.parametrize("merge_after", [0, 7, MERGE_AFTER])
@pytest.mark.parametrize("seed", range(30))
def test_every_event_changes_what_the_slow_store_says(seed: int, merge_after: int) -> None:
    store, slow = Store.empty(merge_after), SlowRepository()
    graph: set[Line] = set()
    documents: dict[str, Content] = {}
    for event in history(Random(seed), 25):
        added, removed = slow.apply(event)
        change = store.apply(event)
        came, went = written(store, change.added), written(store, change.removed)
        assert (content_of(came), content_of(went)) == (added, removed)
        assert one_graph(store.before()) == graph
        assert named_graphs(store.before()) == documents
        assert not graph & set(came)
        assert set(went) <= graph
        graph = graph - set(went) | set(came)
        assert one_graph(store) == graph
        documents = named_graphs(store)
        assert documents == slow.documents
        assert store.position == event.position


@pytest.mark.parametrize("seed", range(10))
def test_every_pattern_finds_what_fits(seed: int) -> None:
    random = Random(seed)
    store = Store.empty(20)
    for event in history(random, 30):
        store.apply(event)
        for source in (store, store.before()):
            ids = [ANY, NOWHERE, *random.sample(range(store.bank.size), min(4, store.bank.size))]
            rows = source.find(ANY, ANY, ANY).tolist()
            for pattern in (*product(ids, repeat=3), *map(tuple, rows[:5])):
                fitting = [row for row in rows if all(id in (ANY, at) for id, at in zip(pattern, row, strict=True))]
                assert sorted(source.find(*pattern).tolist()) == sorted(fitting)
                assert source.count(*pattern) == len(fitting) <= source.reach(*pattern)


@pytest.mark.parametrize("seed", range(20))
def test_many_events_at_once_come_to_the_same(seed: int) -> None:
    random = Random(seed)
    events = [*history(random, 40)]
    one, other = Store.empty(5), Store.empty()
    for event in events:
        one.apply(event)
    cut, end = sorted((random.randrange(41), random.randrange(41)))
    for event in events[:cut]:
        other.apply(event)
    other.load([events[cut:end], [], events[end:]])
    assert one_graph(one) == one_graph(other)
    assert named_graphs(one) == named_graphs(other)
    assert one.position == other.position == 40


def test_a_triple_leaves_with_the_last_document_that_has_it() -> None:
    store = Store.empty()
    assert len(store.apply(publication(1, GRAPHS[0], [SHARED])).added) == 1
    assert len(store.apply(publication(2, GRAPHS[1], [SHARED])).added) == 0
    assert len(store.apply(Removal(Position(3), GRAPHS[0], 1, "")).removed) == 0
    assert len(store.apply(publication(4, GRAPHS[1], [])).removed) == 1
    assert (store.size, [*map(store.bank.term, store.graphs())]) == (0, [f"<{GRAPHS[1]}>".encode()])


def test_two_documents_have_no_blank_node_in_common_and_two_versions_have_unchanged_ones() -> None:
    store = Store.empty()
    node, other = "_:a <x:p> _:b .\n", "_:c <x:q> <x:o> .\n"
    assert len(store.apply(publication(1, GRAPHS[0], [node])).added) == 1
    assert len(store.apply(publication(2, GRAPHS[1], [node])).added) == 1
    change = store.apply(publication(3, GRAPHS[0], [node.replace("_:a", "_:z"), other]))
    assert (len(change.added), len(change.removed)) == (1, 0)
    change = store.apply(publication(4, GRAPHS[0], [node, "_:b <x:q> <x:o> .\n"]))
    assert (len(change.added), len(change.removed)) == (2, 2)


def test_terms_that_no_document_has_are_forgotten_and_ids_in_use_keep_their_order() -> None:
    store = Store.empty(merge_after=0)
    for position in range(1, 3_000):
        store.apply(publication(position, GRAPHS[0], [f"<x:{position}> <x:p> <x:o> .\n"]))
    assert store.bank.size < 2_500
    assert one_graph(store) == {("<x:2999>", "<x:p>", "<x:o>")}
    assert id_of(store, "<x:1>") == NOWHERE
    assert np.array_equal(store.find(id_of(store, "<x:2999>"), ANY, ANY), store.find(ANY, ANY, ANY))


def test_what_was_before_a_change_cannot_be_read_after_the_next() -> None:
    store = Store.empty()
    store.apply(publication(1, GRAPHS[0], [SHARED]))
    before = store.before()
    store.apply(publication(2, GRAPHS[0], []))
    with pytest.raises(ValueError, match="changed since"):
        before.find(ANY, ANY, ANY)
