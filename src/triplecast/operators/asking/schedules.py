"""The order in which operator conditions are evaluated, so that few are (docs/schedules.md; operators paper, section
4).

The answers are the same under every schedule; which predicates are evaluated is not. Asking a run for many predicates
at once means choosing with fewer answers known: it costs nearly nothing with adaptive, a tenth with Sub-Order. Where
the paper says "any" or "arbitrarily", the rows and the predicates of a row are taken as they are given. No I/O and no
clocks: whoever measures an evaluation tells `Experience`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from triplecast.model.operators import check_schedule
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import AdaptiveRun, Conjunctions, NaiveRun, OrderedRun, Run, SequentialRun
from triplecast.operators.asking.sub_order import SubOrder


class Schedule(Protocol):
    """Makes a run for each publication."""

    @property
    def start(self) -> Callable[[Conjunctions], Run]:
        """Start a run over what is left to decide of one publication after everything cheap."""
        ...


@dataclass(frozen=True, slots=True)
class RowsAlone:
    """A schedule that needs to know nothing but the rows of the publication."""

    start: Callable[[Conjunctions], Run]


SCHEDULES: Mapping[str, Callable[[Experience], Schedule]] = MappingProxyType(
    {
        "naive": lambda _: RowsAlone(NaiveRun),
        "sequential": lambda _: RowsAlone(SequentialRun),
        "stopping": lambda _: RowsAlone(OrderedRun),
        "sub-order": SubOrder,
        "adaptive": lambda _: RowsAlone(AdaptiveRun),
    }
)
"""The paper's: naive, sequential (algorithm 1; stopping is its early stop) and sub-order. Ours: adaptive."""


def make_schedule(name: str, experience: Experience) -> Schedule:
    """Raises `InputError` for an unknown name."""
    return SCHEDULES[check_schedule(name)](experience)
