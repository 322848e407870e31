"""A recorder that counts, for each part of a query, the rows that came and left, and keeps the first few."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from triplecast.evaluate.rows import Row
from triplecast.model.algebra import Expression

SHOWN = 3
"""Solutions, outcomes and near misses that an explanation shows."""
TRUE, FALSE = "true", "false"


class Judgement(NamedTuple):
    """What a condition gave for one row."""

    row: Row
    outcome: str
    """`TRUE`, `FALSE` or the text of a type error."""


@dataclass
class Trace:
    """The rows that came to and left each part of a query, by the part's `id`."""

    came: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    first_in: dict[int, list[Row]] = field(default_factory=dict)
    first_out: dict[int, list[Row]] = field(default_factory=dict)
    judgements: dict[int, list[Judgement]] = field(default_factory=dict)

    def tried(self, item: object, row: Row) -> None:
        _count(self.came, self.first_in, item, row)

    def kept(self, item: object, row: Row) -> None:
        _count(self.left, self.first_out, item, row)

    def judged(self, condition: Expression, row: Row, outcome: str) -> None:
        """Keep the first few, and the first of each other outcome: a support looks for a ``true`` among many others."""
        kept = self.judgements.setdefault(id(condition), [])
        if len(kept) < SHOWN or (len(kept) == SHOWN and all(outcome != other.outcome for other in kept)):
            kept.append(Judgement(dict(row), outcome))

    def of(self, condition: Expression) -> list[Judgement]:
        """The judgements of a condition that were kept."""
        return self.judgements.get(id(condition), [])

    def starved(self, item: object) -> bool:
        """Whether rows came to a part and none left it."""
        return id(item) in self.came and id(item) not in self.left


def _count(counts: dict[int, int], firsts: dict[int, list[Row]], item: object, row: Row) -> None:
    counts[id(item)] = counts.get(id(item), 0) + 1
    kept = firsts.setdefault(id(item), [])
    if len(kept) < SHOWN:
        kept.append(dict(row))
