"""The journal's events: everything that happens to documents and taxonomies, in one order, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.model.events import Event, Removal, TaxonomyVersion
from triplecast.model.publication import Publication, Reject
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import Taxonomy

TAXONOMY = Taxonomy((("<urn:a>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<urn:b>"),))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("s", "ASK {}")])
        journal.accept([draft("a", "A"), draft("b", "B")])
        journal.commit_documents((), [Reject("c", "parse", "found x", "write y")])
        journal.load_taxonomy(TAXONOMY)
        journal.remove(draft("a", "").graph)
        journal.cancel([1])
        journal.accept([draft("a", "A")])
        yield journal


def shown(events: list[Event]) -> list[tuple[str, int]]:
    return [(type(event).__name__, event.position) for event in events]


ALL = [("Publication", 2), ("Publication", 3), ("TaxonomyVersion", 5), ("Removal", 6), ("Publication", 8)]


def test_events_are_in_order_of_position(journal: Journal) -> None:
    events = journal.events(0, 99)
    assert shown(events) == ALL
    graph = draft("a", "").graph
    assert events[2] == TaxonomyVersion(5, TAXONOMY.lines, False)
    assert isinstance(events[3], Removal)
    assert events[3] == Removal(6, graph, 1, events[3].removed_at, former=2)
    assert isinstance(events[4], Publication)
    assert (events[4].graph, events[4].version) == (graph, 2), "what comes after a removal is the next version"
    assert [event for event in events if isinstance(event, Publication)] == journal.publications(0, 99)


def test_a_range_excludes_its_start_and_includes_its_end(journal: Journal) -> None:
    for after in range(10):
        for upto in range(10):
            assert shown(journal.events(after, upto)) == [each for each in ALL if after < each[1] <= upto]


def test_ranges_may_be_bounded_by_events_and_by_bytes(journal: Journal) -> None:
    assert [shown(journal.events(0, 99, limit)) for limit in range(6)] == [ALL[:limit] for limit in range(6)]
    assert shown(journal.events(3, 99, most_bytes=1)) == ALL[2:3]
    assert len(journal.publications(3, 99, limit=1)) == 1, "taxonomies and removals do not count"


def test_bodies_are_given_by_position(journal: Journal) -> None:
    every = {each.position: each for each in journal.publications(0, 99)}
    assert journal.bodies([8, 2]) == {2: every[2], 8: every[8]}
    assert journal.bodies([]) == {}
    for wrong in (1, 5, 6, 99):
        with pytest.raises(StorageFault, match=f"no publication at position {wrong}"):
            journal.bodies([2, wrong])
