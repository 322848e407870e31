"""A recorder that remembers, for each part of a query, how many rows came and left, and the first few of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from triplecast.evaluate.rows import Row
from triplecast.model.algebra import Expression

SHOWN = 3
"""Solutions, verdicts and near misses that an explanation shows."""


TRUE, FALSE = "true", "false"


class Verdict(NamedTuple):
    row: Row
    text: str
    """`TRUE`, `FALSE` or the text of a type error."""


@dataclass
class Trace:
    """Rows that came to and out of each part of a query, by the part's identity."""

    came: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    first_in: dict[int, list[Row]] = field(default_factory=dict)
    first_out: dict[int, list[Row]] = field(default_factory=dict)
    verdicts: dict[int, list[Verdict]] = field(default_factory=dict)

    def tried(self, item: object, row: Row) -> None:
        _count(self.came, self.first_in, item, row)

    def kept(self, item: object, row: Row) -> None:
        _count(self.left, self.first_out, item, row)

    def judged(self, condition: Expression, row: Row, verdict: str) -> None:
        """Keeps the first of each kind of verdict too, so that a support finds a ``true`` among many others."""
        kept = self.verdicts.setdefault(id(condition), [])
        if len(kept) < SHOWN or (len(kept) == SHOWN and all(verdict != other.text for other in kept)):
            kept.append(Verdict(dict(row), verdict))

    def of(self, condition: Expression) -> list[Verdict]:
        """The verdicts of a condition that were kept."""
        return self.verdicts.get(id(condition), [])

    def reached(self, item: object) -> bool:
        return self.came.get(id(item), 0) > 0

    def starved(self, item: object) -> bool:
        """Whether rows came to a part and none left it."""
        return self.reached(item) and self.left.get(id(item), 0) == 0


def _count(counts: dict[int, int], firsts: dict[int, list[Row]], item: object, row: Row) -> None:
    counts[id(item)] = counts.get(id(item), 0) + 1
    kept = firsts.setdefault(id(item), [])
    if len(kept) < SHOWN:
        kept.append(dict(row))
