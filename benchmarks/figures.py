"""What a benchmark says: figures with their spread, the work that was counted, and the target."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

REPEATS = 5
SHORTEST = 0.2
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of equal runs after one that is not counted."""

    median: float
    shortest: float
    longest: float
    processor: float
    """Median of the seconds that this process had a core: where others use the machine, the fairer figure."""


@dataclass(frozen=True, slots=True)
class Target:
    bound: float
    at_least: bool
    """Whether more is better."""

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True, slots=True)
class Figure:
    scenario: str
    """What is measured, e.g. ``ids in``."""
    workload: str
    subscriptions: int
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    """The spread over the repeats, in `unit`."""
    work: Mapping[str, float] = field(default_factory=dict)
    """What was counted: matches per publication, structures joined …; rates also per second of core time."""
    target: Target | None = None


def time_runs(run: Callable[[], object], repeats: int | None = None) -> Timing:
    """Times `run` in `REPEATS` repeats; several times in a row where it is short, so that a repeat lasts `SHORTEST` at
    least."""
    start = time.perf_counter()
    run()
    rounds = max(1, math.ceil(SHORTEST / (time.perf_counter() - start)))
    seconds, processor = [], []
    for _ in range(repeats or REPEATS):
        gc.collect()
        start, core = time.perf_counter(), time.process_time()
        for _ in range(rounds):
            run()
        seconds.append((time.perf_counter() - start) / rounds)
        processor.append((time.process_time() - core) / rounds)
    return Timing(statistics.median(seconds), min(seconds), max(seconds), statistics.median(processor))


def make_rate(
    scenario: str,
    size: tuple[str, int],
    timing: Timing,
    count: int,
    unit: str = "publications/s",
    work: Mapping[str, float] | None = None,
    target: Target | None = None,
) -> Figure:
    """`count` things done in each run, told per second; `size` is workload and subscriptions."""
    counted = {**(work or {}), "per core second": count / timing.processor}
    low, high = count / timing.longest, count / timing.shortest
    return Figure(scenario, *size, count / timing.median, unit, low, high, counted, target)


def at_least(bound: float | None) -> Target | None:
    return None if bound is None else Target(bound, at_least=True)


def at_most(bound: float | None) -> Target | None:
    return None if bound is None else Target(bound, at_least=False)
