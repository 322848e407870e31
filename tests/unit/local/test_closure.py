"""The held set against plain reachability."""

from __future__ import annotations

from tests.properties.closures import check_graph
from triplecast.local.closure import HeldSet


def test_random_graphs_hold_what_is_reachable(seed: int) -> None:
    for number in range(1_500):
        check_graph(seed, number)


def test_a_cycle_goes_with_its_last_holder() -> None:
    references = {"root": {"a"}, "a": {"b"}, "b": {"a", "c"}, "c": set()}
    held = HeldSet()
    assert held.change({"root"}, (), (), references.__getitem__).gained == {"root", "a", "b", "c"}
    references["root"] = set()
    change = held.change((), (), {"root"}, references.__getitem__)
    assert change.dropped == {"a", "b", "c"}
    assert {*held.members} == {"root"}


def test_work_follows_what_changes() -> None:
    references = {f"n{number}": {f"n{number + 1}"} for number in range(1_000)} | {"n1000": set(), "other": {"n500"}}
    held, asked = HeldSet(), []

    def look(node: str) -> set[str]:
        asked.append(node)
        return references[node]

    held.change({"n0", "other"}, (), (), look)
    assert len(asked) == 1_002
    asked.clear()
    assert held.change((), {"other"}, (), look).dropped == {"other"}
    assert asked == []
