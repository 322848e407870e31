"""Subscriptions: their ids, names, lives, and what a follower asks of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.errors import InputError
from triplecast.journal import Journal
from triplecast.model.subscription import Subscription


def subscription(name: str, text: str = "ASK { ?s ?p ?o }") -> Subscription:
    return Subscription(name, text, owner="ada", entailment=None)


def test_a_registration_id_is_its_position() -> None:
    with Journal.in_memory() as journal:
        journal.accept([draft("a", "A")])
        first, second = journal.subscribe([subscription("x"), subscription("é🙂")])
        assert (first.id, second.id) == (2, 3)
        assert journal.registration(3) == second
        assert journal.registration(1) is None
        assert journal.live_registration("x") == first


def test_a_live_name_is_refused_and_nothing_is_written() -> None:
    with Journal.in_memory() as journal:
        (first,) = journal.subscribe([subscription("x")])
        with pytest.raises(InputError, match="'x' is in use"):
            journal.subscribe([subscription("y"), subscription("x")])
        with pytest.raises(InputError, match="'z' is in use"):
            journal.subscribe([subscription("z"), subscription("z")])
        assert journal.live_registrations() == [first]
        assert journal.head() == 1


def test_cancelling_twice_says_the_same_and_frees_the_name() -> None:
    with Journal.in_memory() as journal:
        first, other = journal.subscribe([subscription("x"), subscription("other")])
        assert journal.cancel([first.id, first.id]) == [3, 3]
        assert journal.cancel([first.id]) == [3]
        assert journal.head() == 3
        (again,) = journal.subscribe([subscription("x", "ASK { ?a ?b 1 }")])
        assert again.id == 4
        assert journal.live_registrations() == [other, again]
        found = journal.registration(first.id)
        assert found is not None
        assert found.removed == 3
        with pytest.raises(InputError, match="no registration 99"):
            journal.cancel([other.id, 99])
        assert journal.live_registration("other") == other


def test_changes_are_those_of_the_range() -> None:
    with Journal.in_memory() as journal:
        a, b = journal.subscribe([subscription("a"), subscription("b")])  # 1, 2
        journal.accept([draft("d", "D")])  # 3
        journal.cancel([a.id])  # 4
        (c,) = journal.subscribe([subscription("c")])  # 5
        journal.cancel([c.id])  # 6
        assert journal.registry_changes(0, 3) == ([a, b], [])
        assert journal.registry_changes(3, 5) == ([c], [(1, 4)])
        added, removed = journal.registry_changes(0, 6)
        assert [(r.id, r.removed) for r in added] == [(1, 4), (2, None), (5, 6)]
        assert removed == [(1, 4), (5, 6)]
        assert journal.registry_changes(6, 99) == ([], [])
        assert [journal.next_registry_change(at) for at in (0, 1, 2, 3, 5, 6)] == [1, 2, 4, 4, 6, None]
        assert journal.live_registrations(at=3) == [a, b]
        assert journal.live_registrations(at=5) == [b, c]


def test_many_ids_are_found_in_order() -> None:
    with Journal.in_memory() as journal:
        registered = journal.subscribe([subscription(f"s{i}") for i in range(1_201)])
        journal.cancel([7])
        found = journal.registrations([*range(1_300, 0, -1), 7])
        assert [r.id for r in found] == [r.id for r in registered]
        assert [r.id for r in found if r.removed] == [7]


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        a, b = journal.subscribe([subscription("a"), subscription("b")])
        journal.cancel([a.id])
    with Journal.open(tmp_path) as journal:
        assert journal.live_registrations() == [b]
        journal.subscribe([subscription("a")])
        with pytest.raises(InputError, match="'b'"):
            journal.subscribe([subscription("b")])
        journal.check()


@pytest.mark.parametrize("most", [1, 2, 3, 6, 7])
def test_slices_of_the_registry_are_its_changes(most: int) -> None:
    """Each holds as many as it may, or one record, and knows the ends that come later; together they are the whole."""
    with Journal.in_memory() as journal:
        a, _ = journal.subscribe([subscription("a"), subscription("b")])  # 1, 2
        journal.accept([draft("d", "D")])  # 3
        journal.cancel([a.id])  # 4
        (c,) = journal.subscribe([subscription("c")])  # 5
        journal.cancel([c.id])  # 6
        journal.subscribe([subscription("e")])  # 7
        whole = journal.registry_changes(0, 7)
        slices = list(journal.registry_slices(0, 7, most))
        assert [found for (added, _), _ in slices for found in added] == whole.added
        assert [pair for (_, removed), _ in slices for pair in removed] == whole.removed
        assert all(len(added) + len(removed) <= max(most, 2) for (added, removed), _ in slices)
        assert [upto for _, upto in slices] == sorted({upto for _, upto in slices})
        ((added, removed), upto), *_ = journal.registry_slices(0, 5, 1)
        assert ([(each.id, each.removed) for each in added], removed, upto) == ([(1, 4), (2, None)], [], 2)
        assert [each.removed for (added, _), _ in journal.registry_slices(0, 5, 1) for each in added] == [4, None, None]
        assert list(journal.registry_slices(7, 7, most)) == list(journal.registry_slices(7, 99, most)) == []
