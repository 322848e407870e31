"""Who waits for a turn at a host has it in the end."""

from __future__ import annotations

from triplecast.delivery.target import WEBHOOK, Target
from triplecast.delivery.turns import HOST_AT_ONCE, HostTurns


def _targets(names: str) -> list[Target]:
    more = "", 0.0, "", None, 0, 0, 1, 0
    return [Target(each, each, 1, "", WEBHOOK, f"https://hook.example/{each}", *more, last_at=1) for each in names]


def test_a_target_waits_once_and_who_leaves_has_no_turn() -> None:
    turns, first = HostTurns(32), _targets("abcdefgh")
    assert len(first) == HOST_AT_ONCE
    assert [turns.take(each, 0) for each in first] == [None] * HOST_AT_ONCE
    often, once, gone = _targets("xyz")
    assert [turns.take(each, 0) for each in (*[often] * 60, gone, once)] == [0] * 62
    turns.forget(gone)
    assert turns.give_back(first[0], True, 0) == ["x"]
    assert turns.take(often, 0) is None
    assert turns.give_back(first[1], True, 0) == ["y"]


def test_who_got_a_turn_otherwise_waits_no_more() -> None:
    turns, first, (late, last) = HostTurns(32), _targets("abcdefgh"), _targets("xy")
    for each in first:
        turns.take(each, 0)
    assert [turns.take(late, 0), turns.take(last, 0)] == [0, 0]
    assert turns.give_back(first[0], True, 0) == ["x"]
    assert [turns.take(last, 0), turns.take(late, 0)] == [None, 0]
    assert turns.give_back(first[1], True, 0) == ["x"]
