"""The thread that asks operators: what it asks about next, how often it comes back, and what fails in it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from triplecast.driver import Driver
from triplecast.driver.turns import BACK, BACK_SECONDS
from triplecast.errors import StorageFault
from triplecast.outbox import Pending
from triplecast.pipeline import operator_jobs
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.operator_jobs import OperatorJobs
from triplecast.pipeline.stages import AskedSlice, Stage

pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")


def covered() -> MovingHorizon:
    horizon = MovingHorizon()
    horizon.cover("m", 0)
    return horizon


@dataclass
class Simulated:
    """A sink and an outbox whose publications come at given times, and whose operators take time of a clock of their
    own."""

    comes: dict[int, float]
    """By position."""
    until: float
    absent: Callable[[int, float], bool] = lambda position, now: False
    takes: Callable[[int], float] = lambda position: 0.1
    now: float = 0.0
    waits: list[int] = field(default_factory=list)
    asked: list[tuple[int, float]] = field(default_factory=list)
    committing: threading.Lock = field(default_factory=threading.Lock)

    told: int = 0
    progress: int = 0

    def __post_init__(self) -> None:
        journal = SimpleNamespace(check_writer=lambda: None, next_document=lambda _: 1, has_hearers=lambda _: False)
        self.driver = Driver(journal, self)  # type: ignore[arg-type]

    def pending(self, after: int, limit: int) -> Pending:
        came = sorted(position for position, at in self.comes.items() if at <= self.now)
        for position in came:
            del self.comes[position]
        self.waits = sorted([*self.waits, *came])
        return Pending([position for position in self.waits if position > after][:limit], [], [])

    def settle(self, collect: Callable[[], Sequence[int]]) -> None:
        positions = collect()
        self.asked += [(position, self.now) for position in positions]
        self.now += sum(map(self.takes, positions))
        self.waits = [each for each in self.waits if each not in positions or self.absent(each, self.now)]

    def run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Runs the thread's loop until the end, here."""
        monkeypatch.setattr(operator_jobs, "time", SimpleNamespace(monotonic=lambda: self.now))
        asker = OperatorJobs.__new__(OperatorJobs)
        asker._stage, asker._sink, asker._ending = Stage(Path("nowhere")), self, self  # type: ignore[assignment]
        asker._horizon = covered()
        asker._jobs = SimpleNamespace(  # type: ignore[assignment]
            run=lambda work, stage, slices: [each for one in slices for each in one.positions]
        )
        monkeypatch.setattr(asker, "_slots", lambda: 1, raising=False)
        asker._repeat()

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now >= self.until


def test_what_was_passed_by_is_asked_again_while_others_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Position 1 cannot be asked for 100 s; every 3 s another one comes, whose operator takes 2 s."""
    sink = Simulated(
        {1: 0.0, **{number: 3.0 * number for number in range(2, 100)}},
        300.0,
        lambda position, now: position == 1 and now < 100,
        lambda position: 0.1 if position == 1 else 2.0,
    )
    sink.run(monkeypatch)
    times = [at for position, at in sink.asked if position == 1]
    assert 20 <= len(times) <= 50, "about as often as BACK_SECONDS and another's call allow"
    assert 100 <= times[-1] <= 100 + BACK_SECONDS + 5
    assert sink.waits == []
    others = [(position, at) for position, at in sink.asked if position > 1]
    assert len(others) == 98
    assert [each for each in others if each[1] > 3.0 * each[0] + 2.5] == []


def test_the_rest_is_as_long_as_what_could_not_be_asked_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of a worker that hangs takes a twentieth of the time, all the same what else is asked."""
    sink = Simulated(
        {1: 0.0, **{number: 3.0 * number for number in range(2, 1000)}},
        3000.0,
        lambda position, now: position == 1,
        lambda position: 10.0 if position == 1 else 1.0,
    )
    sink.run(monkeypatch)
    times = [at for position, at in sink.asked if position == 1]
    rests = [after - before for before, after in itertools.pairwise(times)]
    assert [rest for rest in rests if not BACK * 10.0 <= rest <= BACK * 10.0 + 20.0] == []
    assert len(rests) >= 10


def test_a_round_over_many_comes_to_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits takes longer to go over than `BACK_SECONDS`; the last of it comes back first."""
    sink = Simulated(
        dict.fromkeys(range(1, 1001), 0.0),
        800.0,
        lambda position, now: now < 50 or position < 900,
        lambda position: 0.01,
    )
    sink.run(monkeypatch)
    assert sink.waits == list(range(1, 900))


def test_what_fails_at_the_very_end_is_raised() -> None:
    """With ``--once`` a run ends when nothing waits any more: what fails behind that commit is not lost."""
    fault = StorageFault("outbox", "it is damaged", "restore it")
    committed, ending = threading.Event(), threading.Event()

    class Failing(Simulated):
        def settle(self, collect: Callable[[], Sequence[int]]) -> None:
            committed.set()
            assert ending.wait(10)
            raise fault

    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
    sink = Failing({1: 0.0}, 1.0)

    def follow() -> None:
        with OperatorJobs(spark, Stage(Path("nowhere")), sink, covered(), 1):  # type: ignore[arg-type]
            assert committed.wait(10)
            threading.Timer(0.1, ending.set).start()

    with pytest.raises(StorageFault) as raised:
        follow()
    assert raised.value is fault


def test_slices_cover_what_waits() -> None:
    positions = [*range(11, 60), 70, 80]
    (whole,) = operator_jobs.cut(7, positions, "m", 4)
    assert whole == AskedSlice(7, 80, "m", tuple(positions))
    many = operator_jobs.cut(7, list(range(8, 108)), "m", 4)
    assert [each.after for each in many] == [7, *(each.upto for each in many[:-1])]
    assert [position for each in many for position in each.positions] == list(range(8, 108))
