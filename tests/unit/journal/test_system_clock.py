"""A clock that jumps forward and is soon corrected ends no lease. Earlier tests set a clock without time passing."""

from __future__ import annotations

import random
from pathlib import Path

from triplecast.journal import Journal
from triplecast.journal.record import HOLD, JUMP, SystemClock
from triplecast.model.subscription import Subscription, read_lease

START, SECOND, DAY = 1_800_000_000_000_000, 1_000_000, 86_400_000_000


class Machine:
    """Its clock, which may be set, and the time that really passes."""

    def __init__(self) -> None:
        self.passed = 0
        self.wrong = 0
        self.clock = SystemClock(lambda: (START + self.passed + self.wrong) * 1000, lambda: self.passed * 1000)


def test_a_jump_that_is_corrected_soon_ends_no_lease(tmp_path: Path) -> None:
    machine = Machine()
    with Journal.open(tmp_path, machine.clock) as journal:
        journal.subscribe([Subscription("a", "ASK {}")], read_lease(3600))
        machine.wrong = 365 * DAY
        for _ in range(3):
            machine.passed += 60 * SECOND
            journal.end_leases()
            assert journal.count_live(machine.clock()) == 1
        machine.wrong = 0
        machine.passed += 3_500 * SECOND
        journal.end_leases()
        assert journal.live_registrations() == [], "at its own time"


def test_a_jump_that_lasts_is_believed() -> None:
    machine = Machine()
    assert machine.clock() == START
    machine.wrong = DAY
    assert machine.clock() == START
    machine.passed = HOLD
    assert machine.clock() == START + HOLD + DAY
    machine.wrong = 0
    assert machine.clock() == START + HOLD, "the journal's time does not fall, this clock may"
    machine.wrong = DAY
    assert machine.clock() == START + HOLD, "each jump has to last"
    machine.wrong = 0
    machine.passed = 2 * HOLD
    assert machine.clock() == START + 2 * HOLD
    machine.wrong = DAY
    assert machine.clock() == START + 2 * HOLD, "one that was corrected counts for no other"


def test_small_steps_and_steps_back_are_followed(seed: int) -> None:
    machine, dice = Machine(), random.Random(seed)
    for _ in range(200):
        machine.passed += dice.randrange(100 * SECOND)
        machine.wrong += dice.randint(-100 * SECOND, JUMP)
        assert machine.clock() == START + machine.passed + machine.wrong
