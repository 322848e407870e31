"""What an experiment says: a figure's lines, each point with its value and the work that was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    rounds: int = 0
    """How often each publication was matched, its fastest being its value; 0 of what is no time."""

    @property
    def steps(self) -> float:
        """All counted work."""
        return sum(self.work.values())


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[Point, ...]
    """Ascending in x."""
    threshold: bool = False
    """Nothing measured, but what a claim holds the other lines against."""

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

    def line(self, name: str) -> Line:
        """Raises KeyError where there is no such line."""
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(f"figure {self.name} has no line {name!r}, but {[line.name for line in self.lines]}")
