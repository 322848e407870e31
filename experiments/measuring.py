"""Milliseconds of matching, publication by publication, and the memory of Python objects.

One rule for all lines of all papers: processor time, Python's collector off, and the lines of a point take turns. In
each of `TURNS` turns every line goes through its publications; a publication's value is the median of its turns, a
point is the mean over the publications, and the turns stay beside it: a claim that not all of them bear out is within
the noise (`experiments.claims`). What is slow is matched on fewer publications, and the point says so.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Generic, TypeVar

from experiments.figures import Point

Item = TypeVar("Item")

MILLISECONDS = "ms a publication"
TURNS = 3


@dataclass(slots=True)
class Run(Generic[Item]):
    """What one line does at one point."""

    match: Callable[[Item], object]
    items: Sequence[Item]
    counter: Counter[str] | None = None
    """What `match` adds its steps to; the point has those of the first turn, per item."""
    seconds: float | None = None
    """Beyond them no further item is begun in the first turn; at least one is. Later turns are of the same items."""
    check: Callable[[int, object], None] | None = None
    """Given each item's number and what was found for it, in the first turn; raises where that is wrong."""
    per: int = 1
    """Publications of an item: a value is of one of them."""
    steps: Counter[str] = field(default_factory=Counter)
    steps_each: list[float] = field(default_factory=list)
    turns: list[list[float]] = field(default_factory=list)

    def take_turn(self) -> None:
        if not self.turns:
            self.turns.append(list(self._go_first()))
            return
        self.turns.append([_time(self.match, item)[0] / self.per for item in self.items[: len(self.turns[0])]])

    def _go_first(self) -> Iterator[float]:
        spent = 0.0
        for number, item in enumerate(self.items):
            if number and self.seconds is not None and spent > self.seconds * 1e3:
                return
            if self.counter is not None:
                self.counter.clear()
            taken, found = _time(self.match, item)
            spent += taken
            if self.counter is not None:
                self.steps += self.counter
                self.steps_each.append(sum(self.counter.values()))
            if self.check is not None:
                self.check(number, found)
            yield taken / self.per

    def point(self, x: float) -> Point:
        count = len(self.turns[0])
        work = {kind: steps / count for kind, steps in sorted(self.steps.items())}
        point = make_point(x, self.turns, work, tuple(self.steps_each))
        return point if self.per == 1 else Point(x, point.value, work=work, turns=point.turns)


def take_turns(runs: Mapping[str, Run], x: float, turns: int = TURNS) -> dict[str, Point]:  # type: ignore[type-arg]
    """A point of milliseconds a publication for each line, by name; the lines take turns."""
    with without_collector():
        for _ in range(turns):
            for run in runs.values():
                run.take_turn()
    return {name: run.point(x) for name, run in runs.items()}


def make_point(
    x: float, turns: Sequence[Sequence[float]], work: Mapping[str, float], steps_each: tuple[float, ...] = ()
) -> Point:
    """Of the values of each turn, publication by publication."""
    each = tuple(map(median, zip(*turns, strict=True)))
    return Point(x, fmean(each), min(each), max(each), work, each, steps_each, tuple(map(tuple, turns)))


@contextmanager
def without_collector() -> Iterator[None]:
    """Python's collector off: it would walk millions of nodes of which none is garbage, now in this line, now in
    that."""
    if not gc.isenabled():
        yield
        return
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def time_once(run: Callable[[], object]) -> float:
    """Milliseconds of processor time: others use the machine too."""
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


def _time(match: Callable[[Item], object], item: Item) -> tuple[float, object]:
    start = time.process_time()
    found = match(item)
    return (time.process_time() - start) * 1e3, found


def deep_size(root: object) -> int:
    """Bytes of an object and of all that it holds: containers, slots and instances, each counted once. Classes,
    functions and modules are no part of it."""
    seen: set[int] = set()
    waiting = [root]
    size = 0
    while waiting:
        here = waiting.pop()
        if id(here) in seen or isinstance(here, type) or callable(here):
            continue
        seen.add(id(here))
        size += sys.getsizeof(here)
        waiting += gc.get_referents(here)
    return size
