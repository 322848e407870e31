"""Milliseconds of matching, publication by publication, and the memory of Python objects.

One rule for all lines of all papers: processor time, Python's collector off, all publications gone through `ROUNDS`
times one after the other, each publication's fastest counts, and a point is their mean. What is too slow for that is
matched on fewer publications and once, and the point says so (`Point.each`, `Point.rounds`).
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from experiments.figures import Point

Item = TypeVar("Item")
Found = TypeVar("Found")

MILLISECONDS = "ms a publication"
ROUNDS = 3


def time_each(
    match: Callable[[Item], Found],
    items: Sequence[Item],
    x: float,
    counter: Counter[str] | None = None,
    *,
    seconds: float | None = None,
    check: Callable[[int, Found], None] | None = None,
) -> Point:
    """A point of milliseconds an item.

    `counter` is what `match` adds its steps to; the point has those of the first round, per item. `check` is given each
    item's number and what was found for it, in the first round, and raises where that is wrong. Beyond `seconds` no
    further item is begun, at least one is; no further round is begun that would end beyond them.
    """
    steps: Counter[str] = Counter()
    steps_each: list[float] = []
    fastest: list[float] = []
    with without_collector():
        for number, item in enumerate(items):
            if fastest and seconds is not None and sum(fastest) > seconds * 1e3:
                break
            if counter is not None:
                counter.clear()
            taken, found = _time(match, item)
            fastest.append(taken)
            if counter is not None:
                steps += counter
                steps_each.append(sum(counter.values()))
            if check is not None:
                check(number, found)
            del found
        round_takes = spent = sum(fastest)
        rounds = 1
        while rounds < ROUNDS and (seconds is None or spent + round_takes <= seconds * 1e3):
            again = [_time(match, item)[0] for item in items[: len(fastest)]]
            fastest = list(map(min, fastest, again))
            spent += sum(again)
            rounds += 1
    work = {kind: count / len(fastest) for kind, count in sorted(steps.items())}
    mean = sum(fastest) / len(fastest)
    return Point(x, mean, min(fastest), max(fastest), work, tuple(fastest), tuple(steps_each), rounds)


def time_batch(match: Callable[[Sequence[Item]], object], batch: Sequence[Item], x: float) -> Point:
    """A point of milliseconds an item of a batch that is matched as a whole: the fastest of `ROUNDS`."""
    whole = time_each(match, [batch], x)
    return replace(whole, value=whole.value / len(batch), low=None, high=None, each=())


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


def _time(match: Callable[[Item], Found], item: Item) -> tuple[float, Found]:
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
