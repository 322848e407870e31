"""The store as it was before any event of its last run, as graphs, as views, and along a predicate."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.reference.repository import Line, SlowRepository, content_of
from tests.unit.repository.histories import history
from tests.unit.repository.test_store import named_graphs, one_graph, written
from triplecast.kernels.scan import scan
from triplecast.kernels.timeline import SKIPPED, distinct, touched_subjects
from triplecast.kernels.triples import ANY
from triplecast.kernels.views import Views, make_views
from triplecast.model.publication import Position, Publication
from triplecast.repository.store import Store

EVENTS = 30


def runs(random: Random) -> tuple[Store, list[set[Line]], list[object]]:
    """A store after its last run; the one graph, and the documents, before each event of that and after the last."""
    events = [*history(random, EVENTS)]
    store, slow = Store.empty(merge_after=10), SlowRepository()
    first, graph, documents = 0, set[Line](), {}
    while True:
        run = events[first : first + random.randint(1, 12)]
        changes, graphs, named = store.apply_all(run), [graph], [documents]
        for place, event in enumerate(run):
            added, removed = slow.apply(event)
            change = changes.of(place)
            came, went = written(store, change.added), written(store, change.removed)
            assert (content_of(came), content_of(went)) == (added, removed)
            assert changes.touch(place) == bool(came or went)
            graph = graph - {*went} | {*came}
            documents = {**slow.documents}
            graphs.append(graph)
            named.append(documents)
        first += len(run)
        if first == EVENTS:
            return store, graphs, named


@pytest.mark.parametrize("seed", range(20))
def test_each_state_of_a_run_can_be_read(seed: int) -> None:
    store, graphs, named = runs(Random(seed))
    going = store.before(len(graphs) - 2)
    for event in range(len(graphs) - 2, -1, -1):
        going.go_back(event - 1)
        for source in (going, store.before(event)):
            assert one_graph(source) == graphs[event]
            assert named_graphs(source) == named[event]
            for subject, predicate, end in source.find(ANY, ANY, ANY)[:9].tolist():
                for pattern in ((subject, ANY, ANY), (ANY, predicate, ANY), (ANY, ANY, end), (subject, predicate, end)):
                    found = source.find(*pattern)
                    assert len(found) == source.count(*pattern) <= source.reach(*pattern)
                    fits = [all(id in (ANY, at) for id, at in zip(pattern, row, strict=True)) for row in found.tolist()]
                    assert all(fits)


@pytest.mark.parametrize("seed", range(20))
def test_views_of_subjects_are_those_of_their_lines(seed: int) -> None:
    store, graphs, _ = runs(Random(seed))
    keys = np.array(
        [event << 32 | id for event in range(len(graphs) - 1) for id in range(store.bank.size)], np.int64
    )  # every term, as if it were a subject
    views = store.view(keys, 1 << 30)
    assert views is not None
    states = dict(zip(views.publication.tolist(), range(len(views.publication)), strict=True))
    for event in range(len(graphs) - 1):
        for side in range(2):
            lines = sorted(" ".join(line).encode() + b" .\n" for line in graphs[event + side])
            assert (2 * event + side in states) == bool(lines)
            if lines:
                expected = make_views(scan([b"".join(lines)]))
                assert content(views, states[2 * event + side]) == content(expected, 0)
    assert (store.view(keys, 1) is None) == (sum(map(len, graphs)) > 1 and len(graphs) > 2)


def test_values_of_all_kinds_are_those_of_a_scan() -> None:
    names = "integer decimal double float boolean date dateTime time gYear int byte duration string anyURI"
    texts = [
        "1",
        "-0",
        "1.50",
        "1e400",
        "NaN",
        "true",
        "2026-11-24",
        "2026-11-24T05:00:00Z",
        "05:00:00",
        "x",
        "\\u0031",
    ]
    literals = [f'"{text}"^^<http://www.w3.org/2001/XMLSchema#{name}>' for name in names.split() for text in texts]
    literals += ['"a"@en', '"a"@en-gb', '"\\"@x"', '"a"^^<x:type>', "<x:o>"]
    lines = "".join(sorted(f"<x:s> <x:p> {each} .\n" for each in {*literals})).encode()
    store = Store.empty()
    store.apply(Publication(Position(1), "x:g", 1, "", lines))
    views = store.view(np.array([store.id("<x:s>")], np.int64), 0)
    assert views is not None
    assert content(views, 0) == content(make_views(scan([lines])), 0)


def content(views: Views, view: int) -> set[tuple[tuple[object, ...], ...]]:
    """The triples of a view, each term with all that is known of it."""
    first, many = views.spans[view].tolist()
    triples = views.triples[views.offsets[view] : views.offsets[view + 1]]
    assert set(triples.ravel().tolist()) == set(range(first, first + many))
    found = {tuple(_term(views, term) for term in row) for row in triples.tolist()}
    assert len(found) == len(triples)
    return found


def _term(views: Views, term: int) -> tuple[object, ...]:
    start, length = int(views.terms.start[term]), int(views.terms.length[term])
    text = views.terms.text[start : start + length].tobytes()
    return text, int(views.terms.hashes[term]), int(views.terms.value_class[term]), repr(views.values[term].tolist())


@pytest.mark.parametrize("seed", range(20))
def test_what_a_predicate_leads_to_in_some_state_is_reached(seed: int) -> None:
    store, graphs, _ = runs(Random(seed))
    ids = {store.bank.term(id).decode(): id for id in range(store.bank.size)}
    everywhere = {(ids[subject], ids[predicate], ids[end]) for graph in graphs for subject, predicate, end in graph}
    keys = np.array([event << 32 | id for event in (0, 3) for id in range(store.bank.size)], np.int64)
    for predicate in (ANY, *{each[1] for each in everywhere}):
        for backward in (False, True):
            step = (0, SKIPPED, predicate) if backward else (0, predicate, SKIPPED)
            reached = store.follow(keys, np.array([step], np.int64), 1 << 30, 1 << 30)
            goal = 0 if backward else 2
            wanted = {each[goal] for each in everywhere if predicate in (ANY, each[1])}
            assert reached.whole
            assert reached.keys.tolist() == sorted(event << 32 | id for event in (0, 3) for id in wanted)
    beyond = store.follow(keys, np.array([(0, ANY, SKIPPED)], np.int64), 0, 1 << 30)
    assert beyond.beyond.tolist() == ([0, 3] if store.reach(ANY, ANY, ANY) else [])
    assert not set(beyond.keys.tolist()) & {0} or not store.reach(ANY, ANY, ANY)


def test_touched_subjects_are_those_of_the_predicates() -> None:
    store, graphs, _ = runs(Random(1))
    changes = store._last
    assert changes is not None
    for predicate in {*changes.timeline.rows[:, 1].tolist()}:
        found = touched_subjects(changes.timeline, np.array([predicate], np.int32)).tolist()
        expected = {
            event << 32 | row[0]
            for event in range(len(graphs) - 1)
            for triples in changes.of(event)[1:3]
            for row in triples.tolist()  # type: ignore[union-attr]
            if row[1] == predicate
        }
        assert found == sorted(expected)
    assert distinct(np.array([3, 1, 3], np.int64)).tolist() == [1, 3]
