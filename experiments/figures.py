"""What an experiment says: a figure's lines, each point with its value and the work that was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

ENGINE = "Triplecast"
"""The line of the engine, whole matcher, one publication a call: what the papers call matching time."""
ENGINE_BATCH = "Triplecast, in batches"
"""The same, many publications a call, per publication. Its counted work is that of `ENGINE`."""


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    value: float
    """In the figure's unit; of several publications the mean, with the fastest and the slowest beside it."""
    low: float | None = None
    high: float | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    """Steps by kind, per publication (or whatever the value is per). They do not depend on the machine."""
    each: tuple[float, ...] = ()
    """The values of which `value` is the mean, publication by publication; empty where they cannot be told apart."""
    steps_each: tuple[float, ...] = ()
    """Steps, publication by publication, those counted: of the engine fewer than were timed."""
    turns: tuple[tuple[float, ...], ...] = ()
    """The values of `each` as each turn, or each seed, gave them; empty of what was taken once and of counts."""

    @property
    def steps(self) -> float:
        """All counted work."""
        return sum(self.work.values())

    @property
    def spread(self) -> tuple[float, float] | None:
        """The least and the most of its turns or seeds; of values taken once, of the publications; None of one."""
        if self.turns:
            means = [sum(each) / len(each) for each in self.turns]
            return min(means), max(means)
        return None if self.low is None or self.high is None else (self.low, self.high)

    def of_turn(self, number: int) -> Point:
        """As that turn alone would have given it; itself where nothing was repeated."""
        if not self.turns:
            return self
        each = self.turns[number % len(self.turns)]
        return replace(self, value=sum(each) / len(each), each=each if self.each else (), turns=())


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[Point, ...]
    """Ascending in x."""

    def at(self, x: float) -> Point:
        """Raises KeyError where the line has no such point."""
        for point in self.points:
            if point.x == x:
                return point
        raise KeyError(f"line {self.name!r} has no point at {x:g}, but at {[point.x for point in self.points]}")


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    """As the paper's, e.g. ``9b``."""
    title: str
    across: str
    """What x is."""
    unit: str
    """What the values are, e.g. ``ms a publication``."""
    lines: tuple[Line, ...]
    logarithmic: bool = False
    """Whether the values span decades and are drawn so; x stays linear, as in the papers."""
    sizes: str = ""
    """The parameters that are fixed, and what was scaled down."""
    printed: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """What the paper's prose prints: by line, x to value."""

    def turns(self) -> Iterator[Figure]:
        """As each turn alone would have given it; none where nothing was repeated."""
        count = max((len(point.turns) for line in self.lines for point in line.points), default=0)
        for number in range(count):
            lines = (replace(line, points=tuple(point.of_turn(number) for point in line.points)) for line in self.lines)
            yield replace(self, lines=tuple(lines))

    def line(self, name: str) -> Line:
        """Raises KeyError where there is no such line."""
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(f"figure {self.name} has no line {name!r}, but {[line.name for line in self.lines]}")
