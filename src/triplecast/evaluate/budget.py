"""Step counts, which make *undecided* a function of the input and not of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from typing import TypeAlias

from pyoxigraph import Literal

from triplecast.model.algebra import Term

DEFAULT_STEPS = 500_000
"""Steps allowed for one (publication, query) pair; about a second of work."""
BYTES_A_STEP = 64
"""Characters that are read, written, hashed or compared for one step."""
LONGEST_FREE = 256
"""Characters of a term up to which reading it is part of the step that reads it."""
ENTRIES_A_STEP = 8
"""Bindings of a row that are copied or looked up for one step."""

LongTerms: TypeAlias = dict[int, tuple[Term, int]]
"""Terms beyond `LONGEST_FREE` with the steps that reading them takes, by the identity of the object, which is kept."""


class BudgetExceeded(Exception):
    """The pair is undecided: its evaluation took more steps than it may."""


@dataclass(slots=True)
class Budget:
    """One step is one triple looked at, one solution made, merged, sorted or aggregated (more for one of many
    bindings), one operator applied, one path node visited, or 64 characters of a long term. A budget serves one
    evaluation."""

    steps: int = DEFAULT_STEPS
    left: int = field(init=False)
    long: LongTerms = field(default_factory=dict)
    """Of the publication, of the query's patterns, and bound by the query: joins look terms up without reading them
    here first."""
    regexes: dict[tuple[str, str], object] = field(default_factory=dict)
    """Regular expressions (pattern, flags) whose compilation this evaluation has spent (`regex.open_regex`)."""

    def __post_init__(self) -> None:
        self.left = self.steps

    def spend(self, steps: int = 1) -> None:
        """Raises `BudgetExceeded` when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise BudgetExceeded(f"more than {self.steps} steps")

    def spend_text(self, characters: int) -> None:
        """Spend for text before it is read or written."""
        self.spend(1 + characters // BYTES_A_STEP)

    def spend_row(self, row: Sized) -> None:
        """Spend for a row that is made, merged, kept or cut."""
        self.spend(1 + len(row) // ENTRIES_A_STEP)

    def spend_terms(self, terms: Iterable[Term | None]) -> None:
        """Spend for terms before they are read; short ones are free."""
        for term in terms:
            if term is None:
                continue
            if self.long and id(term) in self.long:
                self.spend(self.long[id(term)][1])
            elif len(term.value) > LONGEST_FREE:
                self.spend(len(term.value) // BYTES_A_STEP)

    def spend_noted(self, *terms: Term | None) -> None:
        """Spend for terms before a join looks them up or compares them; only noted ones cost."""
        if self.long:
            for term in terms:
                noted = self.long.get(id(term))
                if noted is not None:
                    self.spend(noted[1])

    def note(self, term: Term) -> None:
        """Note a long term that joins will read."""
        length = measure(term)
        if length > LONGEST_FREE:
            self.long[id(term)] = term, length // BYTES_A_STEP


def measure(term: Term) -> int:
    """Count the characters of a term and of its datatype's IRI."""
    return len(term.value) + len(term.datatype.value) if isinstance(term, Literal) else len(term.value)
