"""The schedules by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from triplecast.operators.schedules.experience import Experience
from triplecast.operators.schedules.interface import Schedule
from triplecast.operators.schedules.sub_order import SubOrder
from triplecast.operators.schedules.unordered import Adaptive, Naive, Sequential, Stopping

SCHEDULES: Mapping[str, Callable[[Experience], Schedule]] = MappingProxyType(
    {
        "naive": lambda _: Naive(),
        "sequential": lambda _: Sequential(),
        "stopping": lambda _: Stopping(),
        "sub-order": SubOrder,
        "adaptive": lambda _: Adaptive(),
    }
)
"""Of the paper: naive, sequential (algorithm 1; stopping is its early stop) and sub-order. Ours: adaptive."""


def make_schedule(name: str, experience: Experience) -> Schedule:
    """Raises `ValueError` for an unknown name."""
    if name not in SCHEDULES:
        raise ValueError(f"no schedule is called {name!r}: there are {', '.join(SCHEDULES)}")
    return SCHEDULES[name](experience)
