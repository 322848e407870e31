"""The outbox: order, replays, pruning, followers, faults."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outbox_samples import AT, batch, named, names, registrations

from triplecast.errors import InputError, StorageFault, StorageFull
from triplecast.model.answers import LONGEST_REASON
from triplecast.model.match import notification_id
from triplecast.model.subscription import NamedRegistrations
from triplecast.outbox import Cursor, Notification, Outbox, OutboxReader, PublicationName

ROWS = [(1, 5, '[{"x":"<urn:1>"}]'), (1, 7, "[{}]"), (3, 5, '[{"x":"\\"ä🙂\\""}]'), (4, 6, "[{}]"), (6, 5, "[{}]")]


def seen(outbox: Outbox) -> list[tuple[int, int, int, str]]:
    return [(n.sequence, n.version, n.registration, n.json) for n in outbox.notifications()]


def counts(outbox: OutboxReader) -> tuple[int, int, int, int]:
    """Notifications and undecided pairs that are there, progress, last sequence."""
    state = outbox.state
    return state.sequence - state.pruned, len(outbox.undecided()), state.progress, state.sequence


def test_a_row_comes_back_as_a_notification(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        committed = outbox.commit(batch(ROWS[:3]), 3, names)
        assert committed[:4] == (1, 3, 0, ())
        assert list(outbox.notifications(since=2)) == [
            Notification(
                cursor=Cursor(1, 3),
                id=notification_id("urn:graph", 3, 5),
                position=3,
                change="added",
                publication="urn:graph",
                version=3,
                registration=5,
                subscription="s5",
                owner="owner5",
                json='[{"x":"\\"ä🙂\\""}]',
                accepted_at=AT,
            )
        ]


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=12))
def test_any_overlapping_replay_gives_each_row_once(steps: list[tuple[int, int, bool]]) -> None:
    """A step commits the rows of (progress − back, upto], and may then prune half of what there is."""
    outbox = Outbox.in_memory()
    pruned = 0
    for back, ahead, prune in steps:
        first, upto = outbox.progress - back, outbox.progress + ahead
        rows = [row for row in ROWS if first < row[0] <= upto]
        outbox.commit(batch(rows), upto, names)
        assert outbox.progress == upto
        if prune:
            ahead_of = (outbox.state.sequence + pruned) // 2
            assert outbox.prune(ahead_of) == max(0, ahead_of - pruned)
            pruned = max(pruned, ahead_of)
    every = [(i + 1, *row) for i, row in enumerate(ROWS) if row[0] <= outbox.progress]
    assert seen(outbox) == every[pruned:]
    outbox.close()


def test_another_answer_on_replay_is_reported_and_the_first_stays() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(ROWS[:3]), 3, names)
        committed = outbox.commit(batch([ROWS[0], (1, 7, "[]"), *ROWS[2:]]), 6, names)
        assert committed[:4] == (4, 5, 3, (1,))
        assert [bindings for *_, bindings in seen(outbox)] == [bindings for *_, bindings in ROWS]


def test_an_answer_where_there_was_none_is_reported_while_it_can_be_known(tmp_path: Path) -> None:
    """A publication that is not there had no rows, until pruning comes to where it may have stood."""
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([ROWS[0], *ROWS[3:]]), 6, names)
        replay = batch([*ROWS[:2], (2, 8, "[{}]"), ROWS[2], ROWS[3], (5, 5, "[]"), ROWS[4]])
        assert outbox.commit(replay, 6, names).differing == (1, 2, 3, 5)
        outbox.prune(1)
        assert outbox.commit(replay, 6, names).differing == (5,)
    with Outbox.open(tmp_path) as outbox:
        assert outbox.commit(replay, 6, names).differing == (5,)
        outbox.prune_undecided(99)
        assert outbox.commit(replay, 6, names).differing == ()
        assert len(seen(outbox)) == 2


def test_a_replay_that_leaves_out_a_publication_with_rows_is_reported() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([(2, 8, "[{}]"), (3, 8, "[{}]")], [(4, 8, "budget")]), 5, names)
        assert outbox.commit(batch([(3, 8, "[{}]")]), 5, names, after=1).differing == (2,)
        assert outbox.commit(batch([]), 5, names, after=2).differing == (3,)
        assert outbox.commit(batch([]), 9, names, after=5).differing == ()
        assert outbox.commit(batch([]), 9, names).differing == ()
        assert len(seen(outbox)) == 2


def test_undecided_pairs_are_pruned_by_position() -> None:
    with Outbox.in_memory() as outbox:
        pairs = [(1, 9, "slow"), (2, 9, "slow"), (3, 8, "slow"), (3, 9, "slow"), (5, 9, "slow")]
        outbox.commit(batch([(2, 4, "[]")], pairs), 5, names)
        assert outbox.prune_undecided(3) == 4
        assert [(pair.position, pair.registration) for pair in outbox.undecided()] == [(5, 9)]
        assert seen(outbox) == [(1, 2, 4, "[]")]
        assert outbox.prune_undecided(99) == 1
        assert outbox.prune(1) == 1
        assert counts(outbox) == (0, 0, 5, 1)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.integers(1, 10**12), st.integers(1, 2**62))
@settings(max_examples=40, derandomize=True, database=None, deadline=None)
def test_the_ids_of_the_view_are_those_of_the_model(graph: str, version: int, registration: int) -> None:
    made = batch([(1, registration, "[]")], [(1, registration + 1, "slow")])
    one = replace(made, publications=(PublicationName(1, graph, version, AT),))
    with Outbox.in_memory() as outbox:
        outbox.commit(one, 1, names)
        (told,), (pair,) = outbox.notifications(), outbox.undecided()
        assert told.id == notification_id(graph, version, registration)
        assert pair.id == notification_id(graph, version, registration + 1)


def test_undecided_pairs_are_rows_of_their_own() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(ROWS[:2], [(2, 9, "the budget of 5 steps is spent")]), 2, names)
        (pair,) = outbox.undecided()
        assert (pair.position, pair.version, pair.registration, pair.subscription) == (2, 2, 9, "s9")
        assert pair.id == notification_id("urn:graph", 2, 9)
        assert pair.reason == "the budget of 5 steps is spent"
        outbox.commit(batch([], [(2, 9, "again")]), 2, names)
        assert outbox.undecided() == [pair]
        assert counts(outbox) == (2, 1, 2, 2)
        outbox.prune(2)
        assert counts(outbox) == (0, 1, 2, 2)
        outbox.commit(batch(ROWS[2:4]), 4, names)
        outbox.prune(4)
        assert counts(outbox) == (0, 0, 4, 4)
        assert outbox.undecided() == []


def test_pruning_into_a_publication_keeps_its_undecided_pairs() -> None:
    """A reader who has some of a publication's notifications has not seen what could not be decided of it."""
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(ROWS[:2], [(1, 9, "slow")]), 2, names)
        outbox.commit(batch(ROWS[2:4], [(3, 9, "slow"), (4, 9, "slow")]), 5, names)
        assert outbox.prune(1) == 1
        assert [pair.position for pair in outbox.undecided()] == [1, 3, 4]
        assert outbox.prune(2) == 1
        assert [pair.position for pair in outbox.undecided()] == [3, 4]
        assert outbox.prune(3) == 1
        assert [pair.position for pair in outbox.undecided()] == [4]
        outbox.check()


def test_a_reason_is_cut_and_can_be_written() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([], [(1, 5, "half \ud800 " + "x" * 5_000)]), 1, names)
        (pair,) = outbox.undecided()
        assert pair.reason.startswith("half ? xxx")
        assert len(pair.reason) == LONGEST_REASON


def test_sequences_go_on_after_everything_was_pruned_and_a_restart(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS[:2]), 2, names)
        outbox.prune(99)
    with Outbox.open(tmp_path) as outbox:
        assert outbox.commit(batch(ROWS[:3]), 3, names)[:4] == (3, 3, 2, ())
        assert seen(outbox) == [(3, 3, 5, ROWS[2][2])]


def test_pages_and_limits_give_the_same_rows() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([(1, registration, "[]") for registration in range(4_500)]), 1, names)
        assert [n.sequence for n in outbox.notifications()] == list(range(1, 4_501))
        assert [n.sequence for n in outbox.notifications(since=10, limit=3)] == [11, 12, 13]
        assert [n.sequence for n in outbox.notifications(since=0, limit=4_001)][-1] == 4_001
        assert list(outbox.notifications(limit=0)) == []


def test_a_follower_reads_the_outbox_that_took_the_place_of_another(tmp_path: Path) -> None:
    with Outbox.read_only(tmp_path) as follower:
        for told in (3, 2):
            with Outbox.open(tmp_path) as outbox:
                outbox.commit(batch([]), told, names)
                assert follower.told == told
            for path in tmp_path.iterdir():
                path.unlink()
            assert follower.told == 0


def test_a_follower_reads_while_the_writer_writes(tmp_path: Path) -> None:
    with Outbox.read_only(tmp_path / "later") as follower:
        assert list(follower.notifications()) == []
        assert counts(follower) == (0, 0, 0, 0)
        with Outbox.open(tmp_path / "later") as outbox:
            outbox.commit(batch(ROWS[:2]), 2, names)
            reading = follower.notifications()
            assert next(reading).sequence == 1
            outbox.commit(batch(ROWS[2:]), 6, names)
            assert counts(follower) == (5, 0, 6, 5)


def test_progress_never_goes_back() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(ROWS), 9, names)
        assert outbox.commit(batch(ROWS[:2]), 1, names)[:4] == (6, 5, 2, ())
        assert outbox.progress == 9


@pytest.mark.parametrize("alone", [True, False])
def test_names_are_asked_for_once_and_come_with_those_of_their_record(tmp_path: Path, alone: bool) -> None:
    asked: list[list[int]] = []

    def look(ids: Sequence[int]) -> list[NamedRegistrations]:
        asked.append(list(ids))
        return named(registrations(ids)) if alone else names(ids)

    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS[:2]), 2, look)
        outbox.commit(batch(ROWS[2:4]), 4, look)
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS[4:], [(7, 8, "why")]), 7, look)
        assert [each.subscription for each in outbox.notifications()] == [f"s{row[1]}" for row in ROWS]
    assert asked == ([[5, 7], [6], [8]] if alone else [[5, 7]])


def test_a_row_beyond_the_progress_is_refused() -> None:
    with Outbox.in_memory() as outbox, pytest.raises(ValueError, match="cannot be committed"):
        outbox.commit(batch(ROWS), 5, names)


def test_names_of_a_commit_that_failed_are_written_by_the_next(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        ((pages,),) = outbox._database.ask("PRAGMA page_count")
        outbox._database.ask(f"PRAGMA max_page_count={pages}")
        rows = [(1, 5, "x" * 50_000)]
        with pytest.raises(StorageFull):
            outbox.commit(batch(rows), 1, names)
        assert counts(outbox) == (0, 0, 0, 0)
        outbox._database.ask("PRAGMA max_page_count=1073741823")
        outbox.commit(batch(rows), 1, names)
        assert [n.subscription for n in outbox.notifications()] == ["s5"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            "UPDATE chunk SET body = zeroblob(length(body)) WHERE last = 2",
            "the chunk of notifications 1 to 2 is damaged",
        ),
        ("UPDATE chunk SET body = hex(body) WHERE last = 5", "the chunk of notifications 3 to 5 is damaged"),
        ("UPDATE chunk SET last = 4 WHERE last = 5", "the chunk of notifications 3 to 4 is damaged"),
        ("UPDATE chunk SET first = 'x' WHERE last = 5", "notification 3 is missing"),
        ("UPDATE chunk SET first_position = 1 WHERE last = 5", "the chunk of notifications 3 to 5 is damaged"),
        ("UPDATE chunk SET late = 1 WHERE last = 5", "the chunk of notifications 3 to 5 is damaged"),
        ("UPDATE chunk SET crc = crc + 1 WHERE last = 5", "the chunk of notifications 3 to 5 is damaged"),
        ("DELETE FROM chunk WHERE last = 2", "notification 1 is missing"),
        ("DELETE FROM chunk WHERE last = 5", "notification 3 is missing"),
        ("UPDATE names SET body = hex(body) WHERE last = 6", "registrations 4 to 6 is damaged"),
        ("UPDATE names SET first = 3 WHERE last = 6", "registrations 3 to 6 is damaged"),
        ("DELETE FROM names WHERE last = 6", "registration 5 is missing"),
    ],
)
def test_a_damaged_row_is_told_by_name_and_never_given(tmp_path: Path, change: str, found: str) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS[:2]), 2, names)
        outbox.commit(batch(ROWS[2:]), 6, names)
        whole = seen(outbox)
    with sqlite3.connect(tmp_path / "outbox.sqlite") as raw:
        raw.execute(change)
    with Outbox.read_only(tmp_path) as follower:
        with pytest.raises(StorageFault):
            follower.check()
        given = []
        with pytest.raises(StorageFault, match=found) as fault:
            given.extend(follower.notifications())
        assert "restore outbox.sqlite" in str(fault.value)
        given = [(n.sequence, n.version, n.registration, n.json) for n in given]
        assert given == whole[: len(given)]


def test_the_last_notification_cannot_be_missing_unseen(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS[:2]), 2, names)
        outbox.commit(batch(ROWS[2:]), 6, names)
        outbox._database.ask("DELETE FROM chunk WHERE last = 5")
        with pytest.raises(StorageFault, match="notification 3 is missing"):
            outbox.check()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE state SET progress = progress + 1",
        "UPDATE state SET forgotten = forgotten + 1",
        "UPDATE state SET told = told + 1",
        "UPDATE state SET epoch = 'one'",
        "DELETE FROM state",
    ],
)
def test_a_damaged_progress_is_never_gone_by(tmp_path: Path, change: str) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS), 6, names)
        outbox._database.ask(change)
        with pytest.raises(StorageFault, match=r"is damaged|state is missing"):
            outbox.commit(batch([(7, 5, "[{}]")]), 7, names)


def test_an_undecided_pair_that_is_damaged_is_told(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([], [(3, 9, "slow"), (4, 9, "slow")]), 4, names)
        outbox._database.ask("UPDATE undecided SET reason = 'fast' WHERE position = 4")
        with pytest.raises(StorageFault, match="undecided 4 is damaged"):
            outbox.undecided()
        assert len(outbox.undecided(4)) == 0


def test_a_flipped_bit_is_told_or_does_not_matter(tmp_path: Path, seed: int) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS, [(6, 8, "why")]), 6, names)
        truth = list(outbox.notifications()), outbox.undecided(), outbox.progress
    path = tmp_path / "outbox.sqlite"
    whole = path.read_bytes()
    used = [at for at, byte in enumerate(whole) if byte]
    dice = random.Random(seed)
    told = 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[dice.choice(used)] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        try:
            with Outbox.read_only(tmp_path) as follower:
                follower.check()
                assert (list(follower.notifications()), follower.undecided(), follower.progress) == truth
        except StorageFault:
            told += 1
    assert told > 20


@pytest.mark.parametrize("wrong", ["x", 1.5, None])
def test_what_is_no_number_prunes_nothing(wrong: object) -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(ROWS, [(6, 8, "why")]), 6, names)
        for call in (outbox.prune, outbox.prune_undecided, outbox.undecided, outbox.notifications):
            with pytest.raises((TypeError, InputError), match=r"a whole number|'x' is no cursor"):
                call(wrong)  # type: ignore[arg-type]
            for far in (-1, 1 << 70):
                with pytest.raises(InputError, match=str(far)):
                    call(far)
        assert len(seen(outbox)) == len(ROWS)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch(ROWS), 6, names)
    path = tmp_path / "outbox.sqlite"
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(StorageFault), Outbox.read_only(tmp_path) as follower:
        follower.check()
    path.write_bytes(b"not a database" * 1_000)
    with pytest.raises(StorageFault, match="damaged"):
        Outbox.open(tmp_path)
