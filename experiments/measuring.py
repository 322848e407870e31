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


def time_each(
    match: Callable[[Item], object],
    items: Sequence[Item],
    x: float,
    counter: Counter[str] | None = None,
    seconds: float | None = None,
) -> Point:
    """A point of milliseconds an item: each is matched once, after the first was once uncounted.

    `counter` is what `match` adds its steps to; the point has them per item. Beyond `seconds` no further item is begun,
    so that a slow algorithm is measured on fewer; at least one is.
    """
    match(items[0])
    if counter is not None:
        counter.clear()
    gc.collect()
    taken: list[float] = []
    for item in items:
        if taken and seconds is not None and sum(taken) > seconds * 1e3:
            break
        start = time.perf_counter()
        match(item)
        taken.append((time.perf_counter() - start) * 1e3)
    work = {kind: steps / len(taken) for kind, steps in sorted((counter or {}).items())}
    return Point(x, sum(taken) / len(taken), min(taken), max(taken), work)


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
