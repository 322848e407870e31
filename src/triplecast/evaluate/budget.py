"""Work, counted so that *undecided* is a function of the input and not of the machine."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_STEPS = 500_000
"""Steps that one (publication, query) pair may take; about a second of work."""
BYTES_A_STEP = 64
"""Characters that a text function reads or writes for one step."""


class BudgetExceeded(Exception):
    """The pair is undecided: its evaluation took more steps than it may."""


@dataclass(slots=True)
class Budget:
    """One step is one triple looked at, one solution made, merged, sorted or aggregated, one operator applied, one path
    node visited, or 64 characters read or written by a text function. A budget serves one evaluation."""

    steps: int = DEFAULT_STEPS
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.steps

    def spend(self, steps: int = 1) -> None:
        """Raises `BudgetExceeded` when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise BudgetExceeded(f"more than {self.steps} steps")

    def spend_text(self, characters: int) -> None:
        """For text read or written, before it is."""
        self.spend(1 + characters // BYTES_A_STEP)
