"""The two interfaces are enough to match: a worker that has nothing but lists of events and a `SegmentStore`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.evaluate import Evaluator
from triplecast.index import INDEX, IndexWriter, Segment, SegmentFolder, SegmentStore, open_snapshot
from triplecast.index.snapshot import Manifest
from triplecast.journal import Journal, JournalFile
from triplecast.journal.interface import RegistrySlice
from triplecast.match import Matcher
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import Event, TaxonomyVersion
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration
from triplecast.taxonomy import Taxonomies

TAXONOMY = "<urn:cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:animal> ."
QUERIES = {
    "cats": "SELECT ?x { ?x a <urn:cat> }",
    "animals": "PREFIX tc: <urn:triplecast:taxonomy:> SELECT ?x { ?x a ?c FILTER(tc:descendant(?c, <urn:animal>)) }",
    "named": "SELECT ?n { ?x <urn:name> ?n OPTIONAL { ?x <urn:age> ?a } FILTER(STRLEN(?n) > 2) }",
}


class ListedJournal:
    """A journal as lists in memory."""

    def __init__(self, events: Sequence[Event], slices: Sequence[RegistrySlice]) -> None:
        self._events = sorted(events, key=lambda event: event.position)
        self._slices = slices

    def head(self) -> int:
        return max(self._events[-1].position, self._slices[-1].upto)

    def events(self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None) -> Sequence[Event]:
        return [event for event in self._events if after < event.position <= upto][:limit]

    def bodies(self, positions: Sequence[int]) -> Mapping[int, Publication]:
        found = {event.position: event for event in self._events if isinstance(event, Publication)}
        return {position: found[position] for position in positions}

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        versions = [event for event in self._events if isinstance(event, TaxonomyVersion) and event.position <= upto]
        return Taxonomies(tuple(versions))

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]:
        return {}

    def registrations(self, ids: Sequence[int]) -> Sequence[Registration]:
        return [each for part in self._slices for each in part.changes.added if each.id in ids]

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        yield from self._slices


class ListedSegments:
    """Segments and manifests as dictionaries in memory."""

    def __init__(self) -> None:
        self._segments: dict[str, Segment] = {}
        self._manifests: dict[str, Manifest] = {}

    def latest(self) -> str | None:
        return next(reversed(self._manifests), None)

    def manifest(self, name: str) -> Manifest:
        return self._manifests[name]

    def segment(self, name: str) -> Segment:
        return self._segments[name]

    def write(self, segment: Segment) -> str:
        name = f"segment {len(self._segments)}"
        self._segments[name] = segment
        return name

    def publish(self, manifest: Manifest) -> None:
        self._manifests[manifest.name] = manifest

    def release(self, name: str) -> None:
        self._segments.pop(name, None)

    def sweep(self, keep: int) -> None:
        self._manifests = dict([*self._manifests.items()][-keep:])
        named = {name for manifest in self._manifests.values() for name in manifest.segments}
        self._segments = {name: segment for name, segment in self._segments.items() if name in named}


def match_range(
    journal: JournalFile | ListedJournal, store: SegmentStore, after: int, upto: int
) -> list[tuple[int, int, bytes]]:
    """A worker's part."""
    latest = store.latest()
    assert latest is not None
    publications = [event for event in journal.events(after, upto) if isinstance(event, Publication)]
    evaluator = Evaluator()
    try:
        matched = Matcher(evaluator).match(open_snapshot(store, latest), publications, journal.taxonomies(after, upto))
    finally:
        evaluator.close()
    return [
        (int(publications[matched.publication[row]].position), int(matched.registration[row]), matched.bindings_of(row))
        for row in range(len(matched))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Engine.open(tmp_path) as engine:
        engine.load_taxonomy(TAXONOMY, "text/turtle")
        for name, text in QUERIES.items():
            engine.subscribe(text, id=name)
        for number in range(6):
            text = f'<urn:{number}> a <urn:cat> ; <urn:name> "{"n" * number}" .'
            engine.publish(text, "text/turtle", graph=f"urn:{number % 4}")
        engine.remove("urn:1")
    return tmp_path


def test_a_range_is_matched_alike_from_sqlite_and_from_lists(folder: Path) -> None:
    with Journal.read_only(folder) as journal, Journal.read_only(folder) as told:
        head = journal.head()
        events = journal.events(0, head)
        assert {type(event).__name__ for event in events} == {"Publication", "Removal", "TaxonomyVersion"}
        mapped: SegmentStore = SegmentFolder(folder / INDEX)
        expected = match_range(told, mapped, 0, head)
        assert len(expected) == 6 + 6 + 3
        listed = ListedSegments()
        latest = mapped.latest()
        assert latest is not None
        manifest = mapped.manifest(latest)
        names = tuple(listed.write(mapped.segment(name)) for name in manifest.segments)
        listed.publish(Manifest(manifest.number, manifest.covers, names, manifest.removals))
        listed.sweep(1)
        other = ListedJournal(events, list(journal.registry_slices(0, head, 100)))
        assert match_range(other, listed, 0, head) == expected
        middle = expected[len(expected) // 2][0]
        parts = [*match_range(other, listed, 0, middle), *match_range(other, mapped, middle, head)]
        assert parts == expected
        assert other.bodies([event.position for event in events if isinstance(event, Publication)]) == journal.bodies(
            [event.position for event in events if isinstance(event, Publication)]
        )
        assert [each.subscription.name for each in other.registrations([2, 3, 4])] == [*QUERIES]


def test_a_segment_that_no_manifest_names_yet_is_spared_until_it_is_released(folder: Path) -> None:
    store = SegmentFolder(folder / INDEX)
    latest = store.latest()
    assert latest is not None
    (first, *_) = store.manifest(latest).segments
    name = store.write(store.segment(first))
    store.sweep(1)
    assert (folder / INDEX / name).exists()
    store.release(name)
    store.sweep(1)
    assert not (folder / INDEX / name).exists()
    assert len(IndexWriter(SegmentFolder(folder / INDEX)).open()) == len(QUERIES)
