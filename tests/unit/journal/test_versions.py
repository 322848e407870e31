"""The latest versions of many graphs are looked up together."""

from __future__ import annotations

import pytest
from journal_samples import draft

from triplecast.journal import Journal, versions
from triplecast.sqlite import SqliteFile


@pytest.mark.parametrize("at_once", [1, 3, 500])
def test_each_graph_of_a_call_has_its_latest_version(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "GRAPHS_AT_ONCE", at_once)
    with Journal.in_memory() as journal:
        journal.accept([draft(f"g{number}", "old") for number in range(7)])
        journal.remove(draft("g6", "").graph)
        contents = ["old" if number % 2 else "new" for number in range(10)]
        answers = journal.accept([draft(f"g{number}", content) for number, content in enumerate(contents)])
        found = [(answer.version, answer.outcome == "accepted") for answer in answers]
        assert found == [
            (2, True),
            (1, False),
            (2, True),
            (1, False),
            (2, True),
            (1, False),
            (2, True),
            (1, True),
            (1, True),
            (1, True),
        ]


def test_statements_that_read_do_not_grow_with_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = SqliteFile.ask
    monkeypatch.setattr(SqliteFile, "ask", lambda *given: asked.append(given[1]) or ask(*given))
    counts = []
    with Journal.in_memory() as journal:
        for number in (1, 400):
            journal.accept([draft("a", f"first {number}")])
            asked.clear()
            journal.accept([draft(f"{number}-{each}", "x") for each in range(number)])
            assert len(journal.publications(journal.head() - number, journal.head())) == number
            counts.append(len(asked))
    assert counts[0] == counts[1] > 0


def test_publications_just_accepted_are_those_that_a_reader_finds() -> None:
    with Journal.in_memory() as journal:
        journal.accept([draft("a", "A"), draft("b", "B")])
        drafts = [
            draft("a", "A"),
            draft("b", "C", "canonical", dataset=True),
            draft("c", "D", "input"),
            draft("c", "E"),
        ]
        journal.accept(drafts)
        fresh = journal.publications(2, 5)
        assert [each.position for each in fresh] == [3, 4, 5]
        assert journal.publications(3, 4) == fresh[1:2]
        journal.let_go()
        assert journal.publications(2, 5) == fresh  # read from the table
        assert journal.publications(3, 4) == fresh[1:2]
