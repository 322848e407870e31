"""What is told before operators have answered, and after: nothing twice, nothing lost, each subscriber's in order."""

from __future__ import annotations

import random
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from outbox_samples import batch, names

from triplecast.errors import StorageFault
from triplecast.outbox import OpenPart, Outbox, OutboxReader

ROWS = [(1, 5, "[{}]"), (1, 7, "[{}]"), (2, 5, "[]"), (3, 7, "[]"), (4, 5, "[{}]"), (4, 7, "[{}]")]
"""With 5 waiting at 2, and 7 at 1."""
AWAITED = [(1, 7), (2, 5)]


def decided(rows: list[tuple[int, int, str]], awaited: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
    return [row for row in rows if row[:2] not in awaited]


def told(outbox: OutboxReader) -> list[tuple[int, int, str]]:
    return [(each.version, each.registration, each.json) for each in outbox.notifications()]


def test_what_is_decided_is_told_at_once_and_the_rest_when_it_is_settled(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox, Outbox.read_only(tmp_path) as follower:
        outbox.commit(batch(decided(ROWS, AWAITED), awaited=AWAITED), 4, names)
        assert told(follower) == [ROWS[0]]
        assert (follower.told, follower.progress, follower.pending(0, 9).pairs) == (4, 0, AWAITED)
        committed = outbox.settle(batch(ROWS), 4, names)
        assert committed[:4] == (2, 6, 4, ()), "four of the rows are of pairs that are not open"
        assert told(follower) == ROWS
        assert (follower.told, follower.progress, follower.pending(0, 9).positions) == (4, 4, [])
        follower.check()


def test_a_subscriber_is_never_told_of_a_publication_before_an_earlier_one() -> None:
    """Rows of a registration that has an open pair are withheld, also those of later batches, and recorded with it."""
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([], awaited=[(1, 7)]), 1, names)
        outbox.commit(batch([(2, 5, "[]"), (2, 7, "[]")]), 2, names)
        outbox.commit(batch([(3, 7, "[3]")], awaited=[(4, 7)]), 5, names)
        assert told(outbox) == [(2, 5, "[]")]
        assert (outbox.progress, outbox.pending(0, 9).positions) == (0, [1, 4])
        outbox.settle(batch([(1, 7, "[{}]")]), 1, names)
        assert (outbox.progress, outbox.pending(0, 9).pairs) == (3, [(4, 7)])
        assert told(outbox) == [(2, 5, "[]"), (1, 7, "[{}]"), (2, 7, "[]"), (3, 7, "[3]")]
        outbox.commit(batch([(6, 7, "[]")]), 6, names)
        outbox.check()
        outbox.settle(batch([]), 4, names)
        assert told(outbox)[4:] == [(6, 7, "[]")]
        outbox.commit(batch([(7, 7, "[]")]), 7, names)
        assert (told(outbox)[-1], outbox.progress) == ((7, 7, "[]"), 7)


def test_what_is_settled_behind_an_open_pair_is_withheld() -> None:
    """The first pair cannot be asked about: it is passed by, and the answer about the second waits for it."""
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([], awaited=[(1, 7), (3, 7)]), 4, names)
        outbox.settle(batch([(3, 7, "[3]")]), 4, names, after=1)
        assert (told(outbox), outbox.pending(0, 9).pairs) == ([], [(1, 7)])
        outbox.settle(batch([(1, 7, "[1]")]), 1, names)
        assert told(outbox) == [(1, 7, "[1]"), (3, 7, "[3]")]


def test_what_is_known_of_open_pairs_is_kept_until_the_last_is_settled(tmp_path: Path) -> None:
    parts = [OpenPart(0, 3, 1, b"first \0"), OpenPart(3, 6, 1, b"second")]
    with Outbox.open(tmp_path) as outbox:
        waits = [(1, 7), (2, 8), (5, 7)]
        outbox.commit(batch([(4, 8, "[]")], awaited=waits), 6, names, open=parts)
    with Outbox.open(tmp_path) as outbox:
        assert outbox.pending(0, 9) == ([1, 2, 5], waits, parts)
        assert outbox.pending(0, 1) == ([1], [(1, 7)], parts[:1])
        assert outbox.pending(2, 9) == ([5], [(5, 7)], parts)
        outbox.settle(batch([(1, 7, "[1]")]), 1, names)
        assert outbox.pending(0, 9) == ([2, 5], waits[1:], parts)
        outbox.settle(batch([(2, 8, "[2]")], awaited=[(5, 7)]), 6, names)
        assert outbox.pending(0, 9) == ([5], [(5, 7)], parts[1:])
        outbox.check()
        outbox.settle(batch([]), 6, names)
        assert outbox.pending(0, 9) == ([], [], [])
        assert outbox._database.ask("SELECT * FROM open_part") == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE open_part SET body = CAST('x' AS BLOB)",
        "UPDATE open_part SET format = 2",
        "UPDATE open_part SET upto = 7",
    ],
)
def test_a_damaged_part_is_left_out_and_reported_by_a_check(tmp_path: Path, change: str) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([], awaited=[(1, 7)]), 1, names, open=[OpenPart(0, 1, 1, b"first")])
        outbox._database.ask(change)
        assert outbox.pending(0, 9) == ([1], [(1, 7)], [])
        with pytest.raises(StorageFault, match=r"open_part \d is damaged"):
            outbox.check()


def test_a_pair_that_waits_may_come_to_nothing_or_stay_undecided() -> None:
    with Outbox.in_memory() as outbox:
        outbox.commit(batch([(1, 5, "[]")], [(2, 9, "budget")], [(1, 7), (1, 8)]), 2, names)
        assert outbox.undecided() == []
        outbox.settle(batch([(1, 5, "[]")], [(1, 8, "it hangs")]), 2, names)
        assert [(pair.position, pair.registration) for pair in outbox.undecided()] == [(1, 8), (2, 9)]
        assert (told(outbox), outbox.progress) == ([(1, 5, "[]")], 2)
        outbox.check()


def test_replays_of_either_half_add_nothing_and_differences_are_reported(tmp_path: Path) -> None:
    first = decided(ROWS, AWAITED)
    with Outbox.open(tmp_path) as outbox:
        for _ in range(2):
            assert outbox.commit(batch(first, awaited=AWAITED), 4, names).differing == ()
    with Outbox.open(tmp_path) as outbox:
        assert told(outbox) == [ROWS[0]]
        for _ in range(2):
            outbox.settle(batch([(1, 5, "[{},{}]"), *ROWS[1:3]]), 2, names)
            assert told(outbox) == ROWS, "what the first commit had stays, and no open pair is left to wait for"
        assert outbox.progress == 4
        assert outbox.commit(batch(first, awaited=AWAITED), 4, names, after=0)[:4] == (7, 6, 4, ())
        assert outbox.commit(batch(first[1:], awaited=AWAITED), 4, names, after=0).differing == (1,)
        assert outbox.commit(batch([*first[:3], (4, 7, "[]")]), 4, names).differing == (4,)
        with pytest.raises(ValueError, match="beyond position 4"):
            outbox.settle(batch([]), 5, names)
        with pytest.raises(ValueError, match="a publication at 4"):
            outbox.settle(batch(ROWS), 3, names)


@pytest.mark.parametrize("point", range(40))
def test_any_order_of_halves_tells_the_same(point: int) -> None:
    """Random rows and waiting pairs, told and settled in random steps, some of them twice."""
    chance = random.Random(f"late {point}")
    rows = [
        (position, registration, "[{}]")
        for position in range(1, 20)
        for registration in range(20, 26)
        if chance.random() < 0.4
    ]
    awaited = sorted(
        {row[:2] for row in rows if chance.random() < 0.3}
        | {(position, 22) for position in range(1, 20) if chance.random() < 0.1 and (position, 22, "[{}]") not in rows}
    )
    with Outbox.in_memory() as outbox:
        while outbox.progress < 19:
            if chance.random() < 0.5 and outbox.told < 19:
                after = outbox.told
                upto = chance.randint(after + 1, 19)
                part = [row for row in decided(rows, awaited) if after < row[0] <= upto]
                waits = [pair for pair in awaited if after < pair[0] <= upto]
                for _ in range(chance.choice((1, 2))):
                    outbox.commit(batch(part, awaited=waits), upto, names)
            elif outbox.progress < outbox.told:
                upto = chance.randint(outbox.progress + 1, outbox.told)
                waiting = outbox.pending(0, 99).positions
                given = [row for row in rows if row[0] in waiting and row[0] <= upto]
                if chance.random() < 0.5:
                    given = [row for row in given if row[:2] in awaited]
                for _ in range(chance.choice((1, 2))):
                    assert outbox.settle(batch(given), upto, names).differing == ()
            outbox.check()
        assert sorted(told(outbox)) == rows
        for registration in range(20, 26):
            positions = [version for version, each, _ in told(outbox) if each == registration]
            assert positions == sorted(positions)
        assert all(one + 1 == other for one, other in pairwise(each.sequence for each in outbox.notifications()))


@pytest.mark.parametrize("point", range(40))
def test_pairs_that_could_not_be_asked_wait_on_and_hold_up_their_registration_alone(point: int) -> None:
    """Some registrations cannot be asked about for a while; steps pass them by, and go over them again."""
    chance = random.Random(f"held {point}")
    rows = [
        (position, registration, f"[{position}]")
        for position in range(1, 20)
        for registration in range(20, 26)
        if chance.random() < 0.4
    ]
    awaited = sorted(row[:2] for row in rows if chance.random() < 0.4)
    away = {20, 23}
    with Outbox.in_memory() as outbox:
        outbox.commit(batch(decided(rows, awaited), awaited=awaited), 19, names)
        after = steps = 0
        while outbox.progress < 19:
            steps += 1
            after = 0 if after >= 19 else after
            away = away if steps < 20 else set()
            upto = chance.randint(after + 1, 19)
            waiting = [position for position in outbox.pending(after, 99).positions if position <= upto]
            held = [pair for pair in awaited if pair[0] in waiting and pair[1] in away]
            part = [row for row in decided(rows, held) if row[0] in waiting]
            for _ in range(chance.choice((1, 2))):
                assert outbox.settle(batch(part, awaited=held), upto, names, after).differing == ()
            after = upto
            outbox.check()
            now = told(outbox)
            for registration in range(20, 26):
                mine = _of(rows, registration)
                first = min((pair[0] for pair in awaited if pair[1] == registration), default=99)
                if registration in away:
                    assert _of(now, registration) == [row for row in mine if row[0] < first]
                else:
                    assert _of(now, registration) == mine[: len(_of(now, registration))]
        assert sorted(told(outbox)) == rows
        assert outbox.pending(0, 9) == ([], [], [])


def _of(rows: list[tuple[int, int, str]], registration: int) -> list[tuple[int, int, str]]:
    return [row for row in rows if row[1] == registration]


def test_pruning_keeps_what_later_notifications_of_earlier_publications_need(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([(1, 5, "[]"), (2, 5, "[]"), (3, 5, "[]")], awaited=[(1, 7)]), 3, names)
        assert outbox.prune(2) == 2
        outbox.settle(batch([(1, 5, "[]"), (1, 7, "[{}]")]), 3, names)
        outbox.commit(batch([(4, 5, "[]")]), 4, names)
        assert told(outbox) == [(3, 5, "[]"), (1, 7, "[{}]"), (4, 5, "[]")]
        assert outbox.prune(3) == 1
        outbox.check()
        assert told(outbox) == [(1, 7, "[{}]"), (4, 5, "[]")]
        assert outbox.prune(4) == 1
        outbox.check()
        assert told(outbox) == [(4, 5, "[]")]


def test_a_pair_that_waits_is_damaged_aloud(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([], awaited=[(1, 7)]), 1, names)
    with sqlite3.connect(tmp_path / "outbox.sqlite") as raw:
        raw.execute("UPDATE open_pair SET registration = 8")
    with Outbox.read_only(tmp_path) as follower, pytest.raises(StorageFault, match="open_pair 1 is damaged"):
        follower.check()


@pytest.mark.parametrize("point", range(25))
def test_pruning_anywhere_keeps_what_readers_have_not_seen(point: int) -> None:
    """Random commits, settlements and prunes: an undecided pair goes only with the last notification of what precedes
    it. Earlier tests pruned at chosen places, so that a change of one bound was seen by the slow loops alone."""
    chance = random.Random(f"prune {point}")
    pairs = [(position, registration) for position in range(1, 16) for registration in range(20, 25)]
    kind = {pair: chance.choice(("row", "row", "late", "undecided", "late undecided", "none")) for pair in pairs}
    rows = [(*pair, "[{}]") for pair in pairs if kind[pair] in ("row", "late")]
    undecided = [(*pair, "slow") for pair in pairs if "undecided" in kind[pair]]
    awaited = [pair for pair in pairs if "late" in kind[pair]]
    gone = 0
    with Outbox.in_memory() as outbox:
        while outbox.progress < 15:
            if outbox.told < 15 and chance.random() < 0.5:
                after, upto = outbox.told, chance.randint(outbox.told + 1, 15)
                now = [each for each in decided(rows, awaited) if after < each[0] <= upto]
                slow = [each for each in decided(undecided, awaited) if after < each[0] <= upto]
                waits = [pair for pair in awaited if after < pair[0] <= upto]
                outbox.commit(batch(now, slow, waits), upto, names)
            elif outbox.progress < outbox.told:
                upto = chance.randint(outbox.progress + 1, outbox.told)
                known = [each for each in rows if each[0] <= upto], [each for each in undecided if each[0] <= upto]
                outbox.settle(batch(*known), upto, names)
            if chance.random() < 0.6:
                before = [each.position for each in outbox.notifications()]
                if outbox.prune(chance.randint(outbox.state.pruned, outbox.state.sequence)):
                    left = [each.position for each in outbox.notifications()]
                    gone = max(gone, min(min(left) - 1 if left else before[-1], outbox.progress))
                outbox.check()
        kept = {(pair.position, pair.registration) for pair in outbox.undecided()}
        assert {pair[:2] for pair in undecided if pair[0] > gone} <= kept <= {pair[:2] for pair in undecided}
        outbox.prune(outbox.state.sequence)
        assert list(outbox.notifications()) == []
        assert outbox.prune_undecided(15) >= 0
        assert outbox.undecided() == []
        outbox.check()
