"""Rows that an event added, removed or both: as they are committed, so they are read, and each event has ids of its
own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from outbox_samples import AT, batch, names

from triplecast.errors import StorageFault
from triplecast.model.algebra import from_ntriples
from triplecast.model.match import CHANGE_NUMBER, CHANGES, changed_bindings, notification_id
from triplecast.model.open_rows import PairReason
from triplecast.outbox import Notification, Outbox, OutboxBatch, PublicationName, chunks

ONE, TWO = '[{"x":"<urn:1>"}]', '[{"x":"<urn:2>"},{"x":"<urn:3>"}]'
EVENTS = (*product((1, 2, 3), (False,)), *product((1, 2, 3), (True,)))
"""By position: the version of ``urn:graph`` that was published, and then that was removed."""


def text(change: int) -> str:
    word = CHANGES[change].word
    return changed_bindings(ONE.encode(), TWO.encode()).decode() if word == "changed" else {"added": ONE}.get(word, TWO)


def events(first: int = 1, last: int = len(EVENTS)) -> OutboxBatch:
    """Of each event, rows of three registrations, one of each word."""
    rows, changes = [], []
    for position in range(first, last + 1):
        for registration, word in enumerate(("added", "removed", "changed"), 1):
            changes.append(CHANGE_NUMBER[word, EVENTS[position - 1][1]])
            rows.append((position, registration, text(changes[-1])))
    named = tuple(PublicationName(at, "urn:graph", EVENTS[at - 1][0], AT) for at in range(first, last + 1))
    return replace(batch(rows), publications=named, change=np.array(changes, np.uint8))


def told(found: Iterator[Notification]) -> list[tuple[int, int, str, str, str]]:
    return [(each.position, each.registration, each.change, each.id, each.json) for each in found]


def expected(first: int = 1, last: int = len(EVENTS)) -> list[tuple[int, int, str, str, str]]:
    rows = []
    for position in range(first, last + 1):
        version, by_removal = EVENTS[position - 1]
        for registration, word in enumerate(("added", "removed", "changed"), 1):
            change = CHANGE_NUMBER[word, by_removal]
            id = notification_id("urn:graph", version, registration, change)
            rows.append((position, registration, word, id, text(change)))
    return rows


def test_every_kind_of_change_has_a_number_and_a_suffix_of_its_own() -> None:
    assert sorted(CHANGE_NUMBER.values()) == list(range(len(CHANGES)))
    assert len({kind.suffix for kind in CHANGES}) == len(CHANGES)
    assert [(kind.word, kind.suffix) for kind in CHANGES[:2]] == [("added", ""), ("removed", "-removed")]


@pytest.mark.parametrize("merged", [2, 64])
def test_rows_of_every_kind_come_back_after_commit_reopening_and_merging(
    tmp_path: Path, merged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MERGED", merged)
    with Outbox.open(tmp_path) as outbox:
        for position in range(1, len(EVENTS) + 1):
            outbox.commit(events(position, position), position, names)
        assert told(outbox.notifications()) == expected()
        outbox.check()
    with Outbox.open(tmp_path) as outbox:
        assert outbox.commit(events(), len(EVENTS), names).differing == ()
        assert told(outbox.notifications()) == expected()
    with Outbox.read_only(tmp_path) as follower:
        follower.check()
        assert told(follower.notifications(since=7)) == expected()[7:]
        assert told(follower.notifications(subscription="s3")) == expected()[2::3]
        assert told(follower.notifications(owner="owner2", since=4)) == expected()[4::3]
        assert [json.loads(line)["id"] for _, lines in follower.json_lines() for line in lines.splitlines()] == [
            row[3] for row in expected()
        ]


def test_the_events_of_one_version_have_ids_of_their_own() -> None:
    """A removal has the graph and version that the publication had: its notifications are others all the same, also
    where the words are alike."""
    ids = [id for *_, id, _ in expected()]
    assert len({*ids}) == len(ids)
    assert all(id.startswith(notification_id("urn:graph", 1, 1)[:33]) for id in (ids[0], ids[9]))


def test_another_kind_of_change_on_replay_is_reported() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(events(), len(EVENTS), names)
        other = events()
        other.change[[4, 12]] = CHANGE_NUMBER["changed", False], CHANGE_NUMBER["added", False]
        assert outbox.commit(other, len(EVENTS), names).differing == (2, 5)
        assert told(outbox.notifications()) == expected()


def test_pruning_goes_by_sequence_whatever_changed() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(events(), len(EVENTS), names)
        assert outbox.prune(10) == 10
        assert told(outbox.notifications()) == expected()[10:]
        outbox.check()


def test_withheld_rows_keep_what_they_say(tmp_path: Path) -> None:
    """A pending pair of each registration comes before; the rows behind it are recorded when it is settled."""
    waiting = [(1, registration, "an operator") for registration in (1, 2, 3)]
    first = batch([], [], waiting)  # type: ignore[arg-type]
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(first, 1, names)
        outbox.commit(events(2), len(EVENTS), names)
        assert told(outbox.notifications()) == []
    with Outbox.open(tmp_path) as outbox:
        outbox.settle(batch([]), 1, names)
        assert told(outbox.notifications()) == expected(2)


def test_an_undecided_removal_has_no_id_of_the_publication_that_it_ends(tmp_path: Path) -> None:
    """The first event was told and the third is undecided; both are of one version and registration."""
    pairs = [PairReason(1, 2, "slow"), PairReason(4, 1, "slow", True), PairReason(4, 2, "slow", True)]
    with Outbox.open(tmp_path) as outbox:
        made = events(1, 4)
        rows = made.only(made.position == 1).only(np.array([True, False, False]))
        outbox.commit(replace(rows, undecided=tuple(pairs)), 4, names)
    with Outbox.read_only(tmp_path) as follower:
        follower.check()
        (row,), undecided = follower.notifications(), follower.undecided()
    assert [(pair.position, pair.version, pair.registration) for pair in undecided] == [(1, 1, 2), (4, 1, 1), (4, 1, 2)]
    by_removal = CHANGE_NUMBER["added", True]
    assert [pair.id for pair in undecided] == [
        notification_id("urn:graph", 1, 2),
        notification_id("urn:graph", 1, 1, by_removal),
        notification_id("urn:graph", 1, 2, by_removal),
    ]
    assert row.id not in {pair.id for pair in undecided}


def test_a_number_that_no_kind_has_is_refused_and_told_as_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = events()
    with pytest.raises(ValueError, match="a change of number 7"):
        replace(made, change=made.change + np.uint8(2))
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(made, len(EVENTS), names)
    monkeypatch.setattr("triplecast.outbox.batch.CHANGES", CHANGES[:2])
    with Outbox.read_only(tmp_path) as follower, pytest.raises(StorageFault, match="notifications 1 to 18 is damaged"):
        [*follower.notifications()]


def test_a_notification_says_what_was_added_and_what_removed() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(events(4), len(EVENTS), names)
        added, removed, changed, *_ = outbox.notifications()
    one = [{"x": from_ntriples("<urn:1>")}]
    two = [{"x": from_ntriples("<urn:2>")}, {"x": from_ntriples("<urn:3>")}]
    assert (added.added, added.removed, added.bindings) == (one, [], one)
    assert (removed.added, removed.removed, removed.bindings) == ([], two, [])
    assert (changed.added, changed.removed, changed.bindings) == (one, two, one)
