"""Damage that makes SQLite pass over a record is a fault, never a shorter answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.errors import StorageFault
from triplecast.journal import Journal, JournalFile
from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Reject
from triplecast.model.subscription import Subscription
from triplecast.taxonomy.read import read_taxonomy

ALL = 1 << 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records: 1 taxonomy; 3 subscriptions 2 and 3; 4-7, 11 publications; 8 reject; 9 cancellation; 10 removal."""
    with Journal.open(tmp_path) as journal:
        below = b"<urn:a> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:b> .\n"
        journal.load_taxonomy(read_taxonomy([below]))
        journal.subscribe([Subscription("a", "ASK {}"), Subscription("b", "ASK {}")])
        drafts = [draft(f"d{i}", "x") for i in range(4)]
        journal.commit_documents(drafts, [Reject("a", "parse", "reason", "hint", 1, 2)])
        journal.cancel([2])
        journal.remove(draft("d3", "").graph)
        journal.accept([draft("d5", "y")])
    return tmp_path


def empty_tree(folder: Path, name: str) -> None:
    """The page of a table or index says that it holds nothing: SQLite finds it whole."""
    with sqlite3.connect(folder / "journal.sqlite") as raw:
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
    raw.close()
    content = bytearray((folder / "journal.sqlite").read_bytes())
    content[(page - 1) * size + 3 : (page - 1) * size + 5] = bytes(2)
    (folder / "journal.sqlite").write_bytes(content)


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "journal.sqlite") as raw:
        raw.execute(statement)
    raw.close()


def test_an_undamaged_journal_answers(folder: Path) -> None:
    with Journal.open(folder) as journal:
        assert [each.position for each in journal.publications(0, ALL)] == [4, 5, 6, 7, 11]
        assert [each.position for each in journal.publications(4, 10)] == [5, 6, 7]
        assert [each.position for each in journal.publications(0, ALL, limit=2)] == [4, 5]
        assert [each.position for each in journal.publications(8, ALL, limit=1)] == [11], "after a removal"
        assert [each.position for each in journal.publications(4, ALL, most_bytes=1)] == [5]
        assert journal.publications(0, ALL, limit=0) == []
        assert journal.publications(11, ALL) == journal.publications(20, 30) == []
        assert [each.position for each in journal.last_publications(2)] == [7, 11]
        assert [each.id for each in journal.registry_changes(0, ALL).added] == [2, 3]
        assert len(journal.taxonomies(3, ALL).versions) == 1
        journal.check()


@pytest.mark.parametrize("name", ["registry", "taxonomy", "reject"])
def test_an_index_that_lost_its_entries(folder: Path, name: str) -> None:
    empty_tree(folder, name)
    with Journal.open(folder) as journal:
        if name == "taxonomy":
            assert [type(event) for event in journal.events(0, ALL)].count(TaxonomyVersion) == 1, "found without it"
        else:
            with pytest.raises(StorageFault, match="of the records 1 to 11 only"):
                journal.publications(0, ALL)
        if name == "registry":
            with pytest.raises(StorageFault, match=r"2 records of kind .*, lease end, of which 0 can be found"):
                journal.live_registrations()
            with pytest.raises(StorageFault, match="of which 0 can be found"):
                list(journal.registry_slices(0, ALL, 2))
        if name == "taxonomy":
            with pytest.raises(StorageFault, match="1 records of kind taxonomy, of which 0 can be found"):
                journal.taxonomies(9, 10)
        with pytest.raises(StorageFault):
            journal.check()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET kind = 9 WHERE position = 5",
        "UPDATE record SET kind = 2 WHERE position = 5",
        "DELETE FROM record WHERE position = 5",
        "DELETE FROM record WHERE position = 3",
        "UPDATE record SET kind = 1 WHERE position = 3",
    ],
)
def test_a_record_that_is_not_what_it_was(folder: Path, statement: str) -> None:
    change(folder, statement)
    reading: list[Callable[[JournalFile], object]] = [lambda journal: journal.publications(0, ALL)]
    if "position = 3" in statement:
        reading.append(lambda journal: journal.registry_changes(0, ALL))
        reading.append(lambda journal: list(journal.registry_slices(0, ALL, 1)))
    with Journal.open(folder) as journal:
        for read in reading:
            with pytest.raises(StorageFault):
                read(journal)


def test_an_index_that_leads_to_another_record(folder: Path) -> None:
    """Its entry for record 3 is one for record 11, a publication."""
    with sqlite3.connect(folder / "journal.sqlite") as raw:
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'registry'").fetchone()
    raw.close()
    content = bytearray((folder / "journal.sqlite").read_bytes())
    entry = content.rindex(bytes([3, 1, 1, 3, 3]), (page - 1) * size, page * size)
    content[entry : entry + 5] = bytes([3, 1, 1, 3, 11])
    (folder / "journal.sqlite").write_bytes(content)
    with Journal.open(folder) as journal, pytest.raises(StorageFault, match="record 11 is not what an index"):
        journal.live_registrations()


def test_a_last_record_under_another_number(folder: Path) -> None:
    change(folder, "UPDATE record SET position = 7343 WHERE position = 11")
    with pytest.raises(StorageFault, match="record 7343 is damaged"):
        Journal.open(folder)


def test_the_counts_are_checked_and_kept(folder: Path) -> None:
    change(folder, "UPDATE record_count SET records = records - 1 WHERE kind = 4")
    with Journal.open(folder) as journal, pytest.raises(StorageFault, match="the count of records of kind 4 is dam"):
        journal.live_registrations()
    change(folder, "DELETE FROM record_count")
    with Journal.open(folder) as journal, pytest.raises(StorageFault, match="contradict its records: the count"):
        journal.check()
