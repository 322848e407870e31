"""Which broad subscriptions of the files are registered: no more of one owner than the quota says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.unit.registry.test_file_source import Desk
from triplecast.index.snapshot import take_census
from triplecast.model.subscription import Subscription, SubscriptionCounts
from triplecast.registry.admission import admit

BROAD = "SELECT ?a {{ ?a ?b ?c{} }}"
NARROW = "SELECT ?a { ?a <http://e/p> 1 }"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, broad_per_owner=2)
    yield desk
    desk.journal.close()


def line(name: str, text: str = BROAD.format(""), owner: str | None = None) -> dict[str, str]:
    return {"id": name, "text": text, **({} if owner is None else {"owner": owner})}


def write(desk: Desk, *lines: dict[str, str]) -> None:
    desk.write("all.jsonl", "".join(json.dumps(each) + "\n" for each in lines))


def test_places_go_in_file_order_and_the_others_are_told_and_wait(desk: Desk) -> None:
    write(desk, line("a"), line("n", NARROW), line("b"), line("c"), line("d", owner="ada"))
    desk.start()
    assert sorted(desk.live()) == ["a", "b", "d", "n"]
    (fault,) = desk.source.faults
    assert fault.place == f"{desk.files}/all.jsonl:4"
    assert fault.reason.startswith(
        "c: another broad subscription is refused: subscriptions without an owner hold 2 places of 2 for broad ones"
    )
    assert "--broad-per-owner" in fault.hint
    assert take_census(desk.registry.index.snapshot) == SubscriptionCounts(narrow=1, broad=3, index=4)
    before = desk.live()
    desk.restart()
    assert desk.live() == before
    assert [each.place for each in desk.source.faults] == [fault.place]
    write(desk, line("a"), line("n", NARROW), line("c"), line("d", owner="ada"))
    desk.look()
    assert sorted(desk.live()) == ["a", "c", "d", "n"], "b has gone and c is taken up, in one change"
    assert desk.source.faults == ()


def test_who_stands_keeps_the_place_also_for_another_text(desk: Desk) -> None:
    write(desk, line("y"), line("z"))
    desk.start()
    write(desk, line("a"), line("y"), line("z", BROAD.format(" . ?c ?d ?e")))
    desk.look()
    assert sorted(desk.live()) == ["y", "z"]
    assert desk.told[-1].place.endswith("all.jsonl:1")
    write(desk, line("a"), line("y", NARROW), line("z"))
    desk.look()
    assert sorted(desk.live()) == ["a", "y", "z"]
    write(desk, line("a"), line("y"), line("z"))
    desk.look()
    found = desk.journal.live_registration("y")
    assert found is not None
    assert found.subscription.text == NARROW, "an edit that finds no place leaves the text before in force"
    assert desk.source.faults[0].hint.endswith("what was registered before stays in force")


def test_one_that_moves_to_another_owner_needs_a_place_there(desk: Desk) -> None:
    write(desk, line("a", owner="ada"), line("b", owner="ada"), line("c", owner="bob"))
    desk.start()
    write(desk, line("new", owner="bob"), line("a", owner="bob"), line("b", owner="bob"), line("c", owner="bob"))
    desk.look()
    owners = {found.subscription.name: found.subscription.owner for found in desk.journal.live_registrations()}
    assert owners == {"a": "bob", "b": "ada", "c": "bob"}


def test_a_lower_quota_takes_nothing_away(desk: Desk) -> None:
    write(desk, line("a"), line("b"))
    desk.start()
    desk.broad_per_owner = 1
    desk.restart()
    assert sorted(desk.live()) == ["a", "b"]
    write(desk, line("b"), line("c"))
    desk.look()
    assert sorted(desk.live()) == ["b"]


def test_random_changes_never_pass_the_quota_nor_leave_a_place_that_somebody_waits_for(desk: Desk, seed: int) -> None:
    source = Random(seed)
    write(desk, line("n", NARROW))
    desk.start()
    for _ in range(25):
        names = source.sample("abcdefgh", source.randrange(1, 9))
        lines = [
            line(
                name,
                source.choice([BROAD.format(""), BROAD.format(" . ?c ?d ?a"), NARROW, "ASK {"]),
                source.choice("xy"),
            )
            for name in names
        ]
        write(desk, *lines)
        desk.look()
        if source.random() < 0.2:
            desk.restart()
        live = [found.subscription for found in desk.journal.live_registrations()]
        held = {owner: sum(is_broad(each) and each.owner == owner for each in live) for owner in "xy"}
        assert max(held.values()) <= 2
        texts = {(each.name, each.text, each.owner) for each in live}
        for each in lines:
            if each["text"] != "ASK {" and (each["id"], each["text"], each["owner"]) not in texts:
                assert held[each["owner"]] == 2, (seed, each, texts)


def is_broad(subscription: Subscription) -> bool:
    return admit(subscription).cost == "broad"
