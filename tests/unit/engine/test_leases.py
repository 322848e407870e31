"""Leases and tickets: when a subscription ends, who may end or renew it, and that no clock brings one back."""

from __future__ import annotations

import random
import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, TITLES, turtle

from triplecast import FOREVER, Engine, InputError, Subscription
from triplecast.journal import Journal
from triplecast.registry.tickets import make_tickets

START = 1_800_000_000_000_000
SECOND = 1_000_000


@dataclass
class SetClock:
    """Microseconds since 1970, as they are set."""

    now: int = START

    def __call__(self) -> int:
        return self.now


def told(engine: Engine, title: str) -> list[str]:
    return [match.subscription for match in engine.publish(turtle(title), "text/turtle", "urn:d").matches]


def test_a_lease_ends_before_the_next_publication_is_stamped(tmp_path: Path) -> None:
    clock = SetClock()
    with Engine.open(tmp_path, clock) as engine:
        short = engine.subscribe(TITLES, id="short", lease=10)
        engine.subscribe(TITLES, id="kept", lease=FOREVER)
        assert short.expires == "2027-01-15T08:00:10.000000Z"
        clock.now += 10 * SECOND - 1
        assert told(engine, "A") == ["short", "kept"]
        assert [engine._journal.count_live(clock.now + more) for more in (0, 1)] == [2, 1]
        clock.now += 1
        assert told(engine, "B") == ["kept"]
        assert [standing.id for standing in engine.subscriptions()] == ["kept"]
    with Journal.open(tmp_path) as journal:
        assert [found.removed for found in journal.registrations([1, 2])] == [4, None]
        assert [publication.position for publication in journal.publications(0, 99)] == [3, 5]
        journal.check()


def test_a_day_is_the_lease_of_one_that_asks_for_none() -> None:
    clock = SetClock()
    with Engine(clock) as engine:
        assert engine.subscribe(TITLES, id="one").expires == "2027-01-16T08:00:00.000000Z"
        (two,) = engine.subscribe_many([Subscription("two", TITLES)])
        assert getattr(two, "expires", None) == "2027-01-16T08:00:00.000000Z"
        clock.now += 86_400 * SECOND
        assert told(engine, "A") == []


def test_a_clock_that_runs_back_brings_nothing_back(tmp_path: Path) -> None:
    clock = SetClock()
    with Engine.open(tmp_path, clock) as engine:
        engine.subscribe(TITLES, id="short", lease=10)
        clock.now += 11 * SECOND
        assert told(engine, "A") == []
    clock.now = START - 3600 * SECOND
    with Engine.open(tmp_path, clock) as engine:
        assert told(engine, "B") == []
        again = engine.subscribe(TITLES, id="short", lease=5)
        assert again.expires == "2027-01-15T08:00:16.000000Z", "counted from the journal's time"
        assert told(engine, "C") == ["short"]


def test_a_name_is_free_once_its_lease_is_over() -> None:
    clock = SetClock()
    with Engine(clock) as engine:
        first = engine.subscribe(TITLES, id="rail", lease=1)
        clock.now += SECOND
        second = engine.subscribe(ANY_TITLE, id="rail")
        assert second.registration > first.registration + 1, "the end stands between them"
        with pytest.raises(InputError, match="does not belong to 'rail'"):
            engine.renew("rail", first.ticket)


def test_renewing_sets_the_end_sooner_later_or_never() -> None:
    clock = SetClock()
    with Engine(clock) as engine:
        rail = engine.subscribe(TITLES, id="rail", lease=timedelta(seconds=10))
        assert engine.renew("rail", rail.ticket, 20) == "2027-01-15T08:00:20.000000Z"
        clock.now += 15 * SECOND
        assert told(engine, "A") == ["rail"]
        assert engine.renew("rail", until=datetime(2027, 1, 15, 8, 0, 16, tzinfo=UTC)) == "2027-01-15T08:00:16.000000Z"
        (standing,) = engine.subscriptions()
        assert standing.expires == "2027-01-15T08:00:16.000000Z"
        assert engine.renew("rail", until=FOREVER) is None
        clock.now += 10**9 * SECOND
        assert told(engine, "B") == ["rail"]
        assert engine.renew("rail") is not None
        clock.now += 86_400 * SECOND
        with pytest.raises(InputError, match="no live subscription"):
            engine.renew("rail", rail.ticket)


@pytest.mark.parametrize(
    ("lease", "said"),
    [
        (0, "ends before it begins"),
        (-1, "ends before it begins"),
        (datetime(2020, 1, 1, tzinfo=UTC), "ends before it begins"),
        (datetime(2030, 1, 1), "no time zone"),
        (timedelta(days=4_000_000), "year 9999"),
        (1e300, "cannot be 1e"),
        (float("nan"), "cannot be nan"),
        ("tomorrow", "not str"),
        (True, "not bool"),
    ],
)
def test_a_lease_that_cannot_be_is_refused(lease: object, said: str) -> None:
    with Engine(SetClock()) as engine:
        with pytest.raises(InputError, match=said):
            engine.subscribe(TITLES, id="rail", lease=lease)  # type: ignore[arg-type]
        assert list(engine.subscriptions()) == []


def test_a_ticket_is_no_option_of_a_command_and_needs_no_quoting() -> None:
    for byte in (b"\0", b"\xfb", b"\xff", bytes(range(32))):
        ticket = make_tickets(lambda count, byte=byte: (byte * count)[:count], 1)[0]  # type: ignore[misc]
        assert re.fullmatch(r"[\w.]{43}", ticket, re.ASCII), ticket


def test_tickets_are_kept_as_hashes_only(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        tickets = [engine.subscribe(TITLES).ticket for _ in range(50)]
        assert len({*tickets}) == 50
        assert {len(ticket) for ticket in tickets} == {43}
        with pytest.raises(InputError, match="does not belong to"):
            engine.unsubscribe("subscription-1", ticket=tickets[1])
        with pytest.raises(InputError, match="does not belong to"):
            engine.unsubscribe("subscription-1", ticket="\ud800")
        engine.unsubscribe("subscription-1", ticket=tickets[0])
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [ticket for ticket in tickets if ticket.encode() in written]


def test_a_lease_changed_on_disk_is_a_fault(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, id="rail")
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:
        database.execute("UPDATE lease SET end = end + 1")
    with pytest.raises(Exception, match="the lease of 1 is damaged"), Journal.open(tmp_path) as journal:
        journal.check()


@pytest.mark.parametrize("seed", range(20))
def test_random_histories_tell_whom_a_slow_reader_says(seed: int, tmp_path: Path) -> None:
    """Whoever was live at the journal's time: the latest that the clock showed when it was written to, not opened."""
    dice, clock = random.Random(seed), SetClock()
    engine = Engine.open(tmp_path, clock)
    live: dict[str, int | None] = {}
    floor = 0
    for step in range(60):
        clock.now += dice.choice([0, 1, 5, 30, -40]) * SECOND
        if dice.random() < 0.2:
            engine.close()
            engine = Engine.open(tmp_path, clock)
            continue
        floor = max(floor, clock.now)
        live = {name: end for name, end in live.items() if end is None or end > floor}
        name, length = dice.choice("abcd"), dice.choice([1, 7, 60, None])
        end = None if length is None else floor + length * SECOND
        until = FOREVER if length is None else length
        what = dice.choice(["subscribe", "subscribe", "renew", "cancel", "publish", "publish"])
        if what == "subscribe" and name not in live:
            engine.subscribe(TITLES, id=name, lease=until)
            live[name] = end
        elif what == "renew" and name in live:
            engine.renew(name, until=until)
            live[name] = end
        elif what == "cancel" and name in live:
            engine.unsubscribe(name)
            del live[name]
        else:
            assert sorted(told(engine, f"title {step}")) == sorted(live), f"seed {seed}, step {step}"
            assert sorted(standing.id for standing in engine.subscriptions()) == sorted(live)
    engine.close()
    with Journal.open(tmp_path, clock) as journal:
        journal.check()
