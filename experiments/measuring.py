"""Seconds of matching, publication by publication, and the memory of Python objects."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from experiments.figures import Point

Item = TypeVar("Item")

MILLISECONDS = "ms a publication"
ROUNDS = 10
SHORT = 0.1
"""Seconds: what takes less is matched again, up to `ROUNDS` times."""


def time_each(
    match: Callable[[Item], object],
    items: Sequence[Item],
    x: float,
    counter: Counter[str] | None = None,
    seconds: float | None = None,
) -> Point:
    """A point of milliseconds of processor time an item, after the first was matched once uncounted; where they are
    short each is matched several times, and its fastest counts.

    `counter` is what `match` adds its steps to; the point has them per item. Beyond `seconds` no further item is begun,
    so that a slow algorithm is measured on fewer; at least one is.
    """
    rounds = max(1, min(ROUNDS, int(SHORT / max(_time(match, items[0]), 1e-6))))
    if counter is not None:
        counter.clear()
    gc.collect()
    fastest: list[float] = []
    spent = 0.0
    for item in items:
        if fastest and seconds is not None and spent > seconds:
            break
        taken = [_time(match, item) for _ in range(rounds)]
        spent += sum(taken)
        fastest.append(min(taken) * 1e3)
    work = {kind: steps / (rounds * len(fastest)) for kind, steps in sorted((counter or {}).items())}
    return Point(x, sum(fastest) / len(fastest), min(fastest), max(fastest), work)


def _time(match: Callable[[Item], object], item: Item) -> float:
    """Seconds of processor time: others use the machine too."""
    start = time.process_time()
    match(item)
    return time.process_time() - start


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
