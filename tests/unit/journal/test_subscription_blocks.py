"""Subscriptions of one call share records: whatever is read of them is what one call each would have recorded."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from journal_samples import StepClock

from triplecast.errors import InputError, StorageFault
from triplecast.journal import Journal
from triplecast.journal.record import LONGEST_SPAN
from triplecast.journal.subscription_blocks import CHARACTERS
from triplecast.model.subscription import Lease, Subscription

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def some(rng: random.Random, count: int) -> list[Subscription]:
    """Of few kinds, so that columns are values and lists; some texts are long, or beyond ASCII."""
    made = []
    alike = rng.random() < 0.5
    for number in range(count):
        text = rng.choice(["ASK {}", "é\u2028😀", "x" * rng.choice([10, CHARACTERS // 3, CHARACTERS + 1])])
        language, owner, entailment = ("sparql", None, None) if alike else (rng.choice("ab"), rng.choice("ab"), "rdfs")
        made.append(Subscription(f"s{number}", f"{text} {number}", language, "publication", entailment, owner))
    return made


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_many_at_once_read_like_one_after_the_other(seed: int, tmp_path: Path) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/journal/test_subscription_blocks.py"""
    rng = random.Random(seed)
    count = rng.choice([1, 2, LONGEST_SPAN, LONGEST_SPAN + 1, 300])
    subscriptions, lease = some(rng, count), Lease(rng.choice([None, 1 << 57]))
    tickets = [rng.randbytes(32) for _ in subscriptions] if rng.random() < 0.7 else None
    ended = sorted(rng.sample(range(1, count + 1), rng.randrange(count + 1)))
    left = [id for id in range(1, count + 1) if id not in ended]
    renewed = [(id, rng.choice([None, 1 << 57, (1 << 57) + 1])) for id in left if rng.random() < 0.1]
    bulk, singly = Journal.open(tmp_path / "bulk", StepClock()), Journal.open(tmp_path / "singly", StepClock())
    with bulk, singly:
        added = bulk.subscribe(subscriptions, lease, tickets)
        for number, each in enumerate(subscriptions):
            singly.subscribe([each], lease, tickets and [tickets[number]])
        for journal in (bulk, singly):
            journal.cancel(ended)
            for id, end in renewed:
                journal.renew(id, Lease(end))
        assert [each.subscription for each in added] == subscriptions, seed
    with Journal.open(tmp_path / "bulk", StepClock()) as bulk, Journal.open(tmp_path / "singly", StepClock()) as singly:
        head = bulk.head()
        for journal in (bulk, singly):
            journal.check()
        assert head == singly.head() == count + len(ended) + len(renewed)
        assert bulk.registry_changes(0, head) == singly.registry_changes(0, head)
        assert bulk.lease_ends() == singly.lease_ends()
        assert bulk.lease_ends(left[::3]) == singly.lease_ends(left[::3])
        assert bulk.count_live(1 << 57) == singly.count_live(1 << 57)
        for _ in range(20):
            after, upto = sorted(rng.choices(range(head + 2), k=2))
            assert bulk.registry_changes(after, upto) == singly.registry_changes(after, upto), (seed, after, upto)
            ids = rng.choices(range(head + 3), k=rng.choice([1, 5, 700]))
            assert bulk.registrations(ids) == singly.registrations(ids), seed
            assert bulk.next_registry_change(after) == singly.next_registry_change(after)
            assert bulk.ticket_hash(ids[0]) == singly.ticket_hash(ids[0])
            most = rng.choice([1, LONGEST_SPAN, 100, 1_000])
            slices = [*bulk.registry_slices(after, upto, most)]
            assert [each for part in slices for each in part.changes.added] == singly.registry_changes(
                after, upto
            ).added, seed
            assert all(len(part.changes.added) <= max(most, LONGEST_SPAN) for part in slices)
            assert bulk.events(after, upto) == [], "nothing is missed in between"
        (rows,) = bulk._database.ask_one("SELECT count(*) FROM record WHERE kind = 3")
        assert rows >= count / LONGEST_SPAN
        assert rows < count or count == 1 or max(len(each.text) for each in subscriptions) > CHARACTERS // 4


def test_a_name_in_use_registers_none(tmp_path: Path) -> None:
    many = [Subscription(f"s{number}", "ASK {}") for number in range(100)]
    with Journal.open(tmp_path) as journal:
        journal.subscribe([many[70]])
        for wanted, name in ((many, "s70"), ([*many[:70], many[3]], "s3")):
            with pytest.raises(InputError, match=f"id '{name}' is in use"):
                journal.subscribe(wanted)
            assert [each.subscription for each in journal.live_registrations()] == [many[70]]
        journal.check()


@pytest.mark.parametrize("column", ["body = x'00'", "flags = flags - 1", "digest = x'00'", "name = 'b'"])
def test_a_damaged_record_names_a_subscription_of_it(tmp_path: Path, column: str) -> None:
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("first", "ASK {}"), Subscription("second", "ASK {}")])
    with closing(sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)) as raw:
        raw.execute(f"UPDATE record SET {column}")
    found = r"record 2 \(subscription '(first|b)' and those with it\) is damaged"
    with Journal.read_only(tmp_path) as journal:
        for read in (
            lambda: journal.registration(1),
            lambda: journal.registry_changes(0, 2),
            lambda: journal.ticket_hash(2),
            journal.check,
        ):
            with pytest.raises(StorageFault, match=found):
                read()


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_names_come_with_those_of_their_record(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/journal/test_subscription_blocks.py"""
    rng = random.Random(seed)
    subscriptions = some(rng, rng.choice([1, LONGEST_SPAN, 300]))
    with Journal.in_memory() as journal:
        journal.subscribe(subscriptions)
        wanted = sorted(rng.sample(range(1, len(subscriptions) + 1), rng.randrange(1, len(subscriptions) + 1)))
        called: dict[int, tuple[str, str | None]] = {}
        for named in journal.names_with([*wanted, *wanted[:1]]):
            assert any(named.first <= each <= named.last for each in wanted), seed
            called |= {named.first + at: pair for at, pair in enumerate(zip(named.names, named.owners, strict=True))}
        assert {*wanted} <= called.keys(), seed
        assert called == {id: (subscriptions[id - 1].name, subscriptions[id - 1].owner) for id in called}, seed
        with pytest.raises(StorageFault, match="there is no subscription at position 301"):
            journal.names_with([1, 301])
