"""Figures 11 to 15: the cost of registering a document against the batch size.

Costs change with what is registered, so no batch is run twice: in each round every rival takes the same new documents,
at each batch size in turn, and a point is the median of the rounds with the least and the most beside it. Work is
counted in one more round. All tell the same matches, or the run ends.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.workloads.mdv import COMP, JOIN, JOIN_EQUAL, OID, PATH, RuleBase
from experiments.figures import ENGINE, Figure, Line, Point
from experiments.mdv.rivals import PAIRS, PRINTED, RIVALS, Rival
from experiments.measuring import without_collector
from experiments.progress import tell

ACROSS, UNIT = "documents in a batch", "ms a document"
SMALL, LARGE = "small rule base", "large rule base"
FIGURES = (
    ("11", OID, "OID rules"),
    ("12", PATH, "PATH rules"),
    ("13", COMP, "COMP rules (10 % of the rule base)"),
    ("14", JOIN, "JOIN rules"),
    ("14-equal", JOIN_EQUAL, "JOIN rules with = for contains"),
)
SHARES = (0.01, 0.05, 0.1, 0.2)
"""Of the rules that a document matches in figure 15."""
LEAST_DOCUMENTS = 20
"""Registered at a batch size in a round, in one batch or more."""
MOST_PAIRS = 1_000_000
"""Matches of a batch at most: each is a row in several tables."""


@dataclass(frozen=True, slots=True)
class Scale:
    bases: tuple[int, int]
    """Rules."""
    batches: tuple[int, ...]
    rounds: int
    batches_of_shares: tuple[int, ...]
    rules_of_shares: int
    slowest: float
    """Seconds of a rival, batch size and round after which it begins no further batch, round or larger size."""


QUICK = Scale((200, 1_000), (1, 10, 100), 3, (1, 10), 200, 0.5)
FULL = Scale((10_000, 100_000), (1, 10, 100, 500, 1_000), 3, (1, 10, 100), 10_000, 2.0)


def measure(quick: bool) -> Iterator[Figure]:
    scale = QUICK if quick else FULL
    for name, kind, title in FIGURES:
        yield _measure_bases(name, kind, title, scale)
    yield _measure_shares(scale)


def _measure_bases(name: str, kind: str, title: str, scale: Scale) -> Figure:
    points: dict[str, list[Point]] = {}
    absent: set[str] = set()
    for base, rules in zip((SMALL, LARGE), scale.bases, strict=True):
        found, slow = _measure_rivals(RuleBase(kind, rules), scale.batches, scale, absent)
        absent |= slow  # what is too slow here is not tried with more rules
        points |= {f"{rival}, {base}": each for rival, each in found.items()}
    lines = tuple(
        Line(f"{rival}, {base}", tuple(each))
        for rival in RIVALS
        for base in (SMALL, LARGE)
        if (each := points.get(f"{rival}, {base}"))
    )
    small, large = scale.bases
    sizes = f"Small rule base: {small:,} rules, large: {large:,}. {_tell_rule(scale)}"
    return Figure(name, title, ACROSS, UNIT, lines, True, sizes)


def _measure_shares(scale: Scale) -> Figure:
    lines: dict[str, list[Point]] = {}
    for share in SHARES:
        base = RuleBase(COMP, scale.rules_of_shares, share)
        found, _ = _measure_rivals(base, scale.batches_of_shares, scale, {PAIRS})
        lines |= {f"{rival}, {share:.0%}": each for rival, each in found.items()}
    ordered = tuple(
        Line(f"{rival}, {share:.0%}", tuple(lines[f"{rival}, {share:.0%}"]))
        for rival in (PRINTED, ENGINE)
        for share in SHARES
    )
    sizes = f"{scale.rules_of_shares:,} rules. {_tell_rule(scale)}"
    return Figure("15", "COMP rules, by the share of them that match", ACROSS, UNIT, ordered, True, sizes)


def _tell_rule(scale: Scale) -> str:
    return (
        f"Medians of {scale.rounds} rounds in turns, processor time; in a round, batches until {LEAST_DOCUMENTS} "
        f"documents. A line ends where a batch would have more than {MOST_PAIRS:,} matches or a round takes "
        f"{scale.slowest:g} s."
    )


def _measure_rivals(
    base: RuleBase, batches: Sequence[int], scale: Scale, absent: set[str]
) -> tuple[Mapping[str, list[Point]], set[str]]:
    """Points by rival, and the rivals that were too slow for some batch size."""
    rivals = {name: make(base) for name, make in RIVALS.items() if name not in absent}
    tell(f"mdv: {base.kind}, {base.rules:,} rules: {len(rivals)} rivals built")
    most = base.rules * base.share if base.kind == COMP else 1
    race = _Race(rivals, [size for size in batches if size * most <= MOST_PAIRS], scale.slowest)
    race.register(range(1), rivals)  # compiles kernels and statements
    for _ in range(scale.rounds):
        with without_collector():
            race.go_round()
    points = {name: [*race.points_of(name)] for name in rivals}
    for rival in rivals.values():
        rival.close()
    return points, set(race.last_size)


class _Race:
    def __init__(self, rivals: Mapping[str, Rival], sizes: Sequence[int], slowest: float) -> None:
        self._rivals = rivals
        self._sizes = sizes
        self._slowest = slowest * 1e3
        self._next = 1
        self._means: dict[tuple[str, int], list[float]] = defaultdict(list)
        self.last_size: dict[str, int] = {}
        """Of those that were too slow: the size at which they were, which is measured once."""

    def go_round(self) -> None:
        for size in self._sizes:
            spent: dict[str, list[float]] = defaultdict(list)
            for _ in range(max(1, LEAST_DOCUMENTS // size)):
                fast = [name for name in self._rivals if sum(spent[name]) <= self._slowest and self._takes(name, size)]
                for name, milliseconds in self.register(self._take(size), fast).items():
                    spent[name].append(milliseconds)
            for name, each in spent.items():
                if not each:
                    continue
                self._means[name, size].append(sum(each) / len(each) / size)
                if sum(each) > self._slowest:
                    self.last_size.setdefault(name, size)

    def _takes(self, name: str, size: int) -> bool:
        return size < self.last_size.get(name, size + 1)

    def _take(self, count: int) -> range:
        first, self._next = self._next, self._next + count
        return range(first, self._next)

    def register(self, numbers: range, names: Iterable[str]) -> dict[str, float]:
        """Milliseconds of each. Raises ValueError where they tell different matches."""
        told = {name: self._rivals[name].register(numbers) for name in names}
        if len({each.matches for each in told.values()}) > 1:
            counts = {name: len(each.matches) for name, each in told.items()}
            raise ValueError(f"documents {numbers}: they tell different matches: {counts}")
        return {name: each.milliseconds for name, each in told.items()}

    def points_of(self, name: str) -> Iterator[Point]:
        for size in self._sizes:
            if means := self._means.get((name, size)):
                work = self._rivals[name].count(self._take(size)) if self._takes(name, size) else {}
                value = statistics.median(means)
                each = {kind: count / size for kind, count in work.items()}
                yield Point(size, value, min(means), max(means), each, turns=tuple((mean,) for mean in means))
