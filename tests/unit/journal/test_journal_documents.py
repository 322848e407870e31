"""Versions, unchanged content, removal, time, rejects and sources."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_samples import StepClock, draft

from triplecast.errors import InputError
from triplecast.journal import NOTHING_DROPPED, FileState, Journal
from triplecast.model.events import Removal
from triplecast.model.publication import Reject

CALLS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("XYZ")), max_size=5),
        st.sampled_from("ab"),  # removes this graph
        st.just(None),  # closes and opens
    ),
    max_size=8,
)


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(CALLS)
def test_versions_are_those_of_a_dictionary(tmp_path_factory: pytest.TempPathFactory, calls: list[object]) -> None:
    folder = tmp_path_factory.mktemp("journal")
    versions: dict[str, int] = {}
    current: dict[str, str] = {}
    written: list[tuple[str, int, str]] = []
    head = 0
    journal = Journal.open(folder)
    for call in calls:
        if call is None:
            journal.close()
            journal = Journal.open(folder)
        elif isinstance(call, str):
            head += call in current
            removed = journal.remove(draft(call, "").graph).removed
            assert [each.position for each in removed] == ([head] if current.pop(call, None) else [])
        elif isinstance(call, list):
            answers = journal.accept([draft(graph, content) for graph, content in call])
            for (graph, content), answer in zip(call, answers, strict=True):
                if current.get(graph) == content:
                    assert answer.outcome == "unchanged"
                else:
                    assert answer.outcome == "accepted"
                    head += 1
                    assert answer.position == head
                    versions[graph] = versions.get(graph, 0) + 1
                    current[graph] = content
                    written.append((graph, versions[graph], content))
                assert answer.version == versions[graph]
    assert journal.head() == head
    found = journal.publications(0, head)
    assert [(p.graph, p.version, p.quads) for p in found] == [
        (draft(g, c).graph, version, draft(g, c).quads) for g, version, c in written
    ]
    journal.check()
    journal.close()


def test_a_b_a_in_one_call_is_three_versions() -> None:
    with Journal.in_memory() as journal:
        answers = journal.accept([draft("a", "A"), draft("a", "B"), draft("a", "A"), draft("a", "A")])
        assert [(index, a.version, a.outcome) for index, a in enumerate(answers)] == [
            (0, 1, "accepted"),
            (1, 2, "accepted"),
            (2, 3, "accepted"),
            (3, 3, "unchanged"),
        ]
        assert answers[3].position == answers[2].position


def test_what_was_removed_comes_back_as_the_next_version() -> None:
    with Journal.in_memory() as journal:
        journal.accept([draft("a", "A")])
        (removal,) = journal.remove(draft("a", "").graph).removed
        assert removal == Removal(2, draft("a", "").graph, 1, removal.removed_at, former=1)
        assert journal.remove(draft("a", "").graph) == NOTHING_DROPPED
        (again,) = journal.accept([draft("a", "A")])
        assert (again.version, again.outcome, again.position) == (2, "accepted", 3)


def test_the_flags_of_a_draft_come_back() -> None:
    with Journal.in_memory() as journal:
        drafts = [draft("a", "A", "canonical", dataset=True), draft("b", "B", labels="input"), draft("c", "C")]
        accepted = journal.accept([*drafts, drafts[1]])
        assert [(p.dataset, p.labels) for p in journal.publications(0, 3)] == [
            (True, "canonical"),
            (False, "input"),
            (False, "none"),
        ]
        assert [each.labels for each in accepted] == ["canonical", "input", "none", "input"]


def test_time_never_runs_back_even_across_a_restart(tmp_path: Path) -> None:
    clock = StepClock()
    with Journal.open(tmp_path, clock) as journal:
        (first,) = journal.accept([draft("a", "1")])
        assert first.accepted_at == "2027-01-15T08:00:00.000000Z"
    clock.now -= 3_600_000_000
    with Journal.open(tmp_path, clock) as journal:
        (second,) = journal.accept([draft("a", "2")])
        assert second.accepted_at == first.accepted_at
        clock.now += 3_600_000_001
        (third,) = journal.accept([draft("a", "3")])
        assert third.accepted_at == "2027-01-15T08:00:00.000001Z"
        (same,) = journal.accept([draft("a", "3")])
        assert same.accepted_at == third.accepted_at
        assert [p.accepted_at for p in journal.publications(0, 9)] == [
            answer.accepted_at for answer in (first, second, third)
        ]


def test_ranges_and_limits_select_publications() -> None:
    with Journal.in_memory() as journal:
        journal.accept([draft(f"d{i}", "x") for i in range(10)])
        assert [p.position for p in journal.publications(3, 7)] == [4, 5, 6, 7]
        assert [p.position for p in journal.publications(3, 7, limit=2)] == [4, 5]
        assert [p.position for p in journal.last_publications(3)] == [8, 9, 10]


def test_rejects_keep_their_place_and_position() -> None:
    rejects = [Reject("a.ttl", "parse", "found x", "write y", 3, 7), Reject("b.xml", "gate", "a DOCTYPE", "drop it")]
    with Journal.in_memory(StepClock()) as journal:
        journal.accept([draft("a", "A")])
        assert journal.commit_documents((), rejects).rejected == [2, 3]
        assert [(r.position, r.reject) for r in journal.rejects()] == [(2, rejects[0]), (3, rejects[1])]
        assert [r.reject for r in journal.rejects(after=2)] == rejects[1:]
        assert journal.rejects()[0].rejected_at == "2027-01-15T08:00:00.000000Z"


def test_sources_are_written_with_the_documents_they_brought(tmp_path: Path) -> None:
    taken = FileState(5, 17, b"digest", "accepted")
    with Journal.open(tmp_path) as journal:
        journal.commit_documents(
            [draft("a", "A")],
            [Reject("b", "parse", "r", "m")],
            {"a.ttl": taken, "b": taken._replace(outcome="rejected")},
        )
        journal.commit_documents([], sources={"a.ttl": taken._replace(size=6)}, gone=["b", "never"])
    with Journal.open(tmp_path) as journal:
        assert journal.sources() == {"a.ttl": taken._replace(size=6)}
        assert journal.head() == 2


def test_text_that_is_no_unicode_is_refused_and_nothing_written() -> None:
    with Journal.in_memory() as journal:
        with pytest.raises(InputError, match="half a character"):
            journal.commit_documents([draft("a", "A")], sources={"\udc80": FileState(1, 1, b"", "accepted")})
        assert journal.head() == 0
        assert journal.sources() == {}


def test_publications_are_read_by_bytes_too() -> None:
    with Journal.in_memory() as journal:
        drafts = [draft(f"d{i}", "x" * 1_000) for i in range(5)]
        journal.accept(drafts)
        size = len(drafts[0].quads)
        read = [[p.position for p in journal.publications(1, 5, None, most)] for most in (1, size, size + 1, 9 * size)]
        assert read == [[2], [2], [2, 3], [2, 3, 4, 5]]
        assert [p.position for p in journal.publications(1, 5, 1, 9 * size)] == [2]
        assert [p.position for p in journal.last_publications(4, size + 1)] == [4, 5]
