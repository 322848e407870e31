"""Plans: what the index keeps of a template.

A plan is made once per template; a subscription adds its constants. Numbers inside a plan: a *node* of a pattern is
``-(v + 1)`` for variable number v, else a *reference*. References count the subscription's constants first, then
`Plan.words` (what its texts need), then `Plan.fixed` (constants that the template itself holds).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from triplecast.compile.combination import Combination
from triplecast.compile.residual import Residual
from triplecast.compile.texts import NamedText, NeededWord
from triplecast.model.comparison_codes import Comparison, Lane

PATTERNS_LIMIT = 64
"""Triple patterns of one branch; a longer query is verified by the evaluator, on its first so many patterns. With three
variables each, a variable's number fits a byte."""
BRANCHES_LIMIT = 16
"""Alternatives of one query that the index files; a union that would make more is not used to find candidates."""
CASES_LIMIT = 32
"""Branches of one query that the index decides; beyond, the evaluator does."""
ATOMS_LIMIT = 64
"""Comparisons of one branch that the index decides, or of all branches of another query; beyond, conditions are left to
the evaluator."""

Node: TypeAlias = int
PatternNodes: TypeAlias = tuple[Node, Node, Node]


class Atom(NamedTuple):
    """``variable operator constant``; `reference` names the constant."""

    variable: int
    operator: Comparison
    lane: Lane
    reference: int


Clause: TypeAlias = tuple[Atom, ...]
"""True iff one of its atoms is true. Errors count as not true, which is exact inside a filter's conjunction."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One conjunction: every match has a solution of all `patterns` under which all `clauses` are true."""

    patterns: tuple[PatternNodes, ...]
    clauses: tuple[Clause, ...]
    variables: int
    """How many; numbered from 0."""


class Answer(NamedTuple):
    """What is kept of a branch's solutions, where the index decides."""

    columns: tuple[tuple[str, int], ...]
    """(name, variable number), by name."""
    distinct: bool
    ask: bool
    """Whether there is one, nothing else."""


class Cost(Enum):
    """How narrow the keys are that a subscription is filed under."""

    NARROW = "narrow"
    """Every alternative has a key with a subject or an object: the subscription is seldom a candidate."""
    PREDICATE = "predicate"
    """Some alternative has nothing rarer than a predicate, which makes the subscription a candidate wherever it is
    used."""
    BROAD = "broad"
    """The subscription is a candidate for every publication."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the index keeps of a template.

    `decided`: the solutions of the branches make those of the query, as `combination` says, or as they are where there
    is one branch and no combination. Otherwise each match of the query has a solution in some branch (a necessary
    condition), and the evaluator decides.
    """

    decided: bool
    branches: tuple[Branch, ...]
    slots: int
    fixed: tuple[str, ...]
    answers: tuple[Answer, ...]
    """Of decided plans, one for each branch."""
    combination: Combination | None
    residuals: tuple[tuple[Residual, ...], ...]
    """Of decided plans, what is calculated of each branch's rows; its slots are the subscription's constants."""
    reason: str
    """Why the evaluator has to decide; empty when it has not."""
    cost: Cost
    bare: bool
    """It is decided through a variable predicate, which no mark may match (`EntailmentMode`)."""
    comparisons: tuple[int, ...]
    """References of the constants that clauses compare with: the plan holds for constants of the same kinds only."""
    unlike: tuple[tuple[int, ...], ...]
    """References of constants that are different: the plan holds for others only if they are different too."""
    words: tuple[NeededWord, ...]
    texts: tuple[NamedText, ...]
    """All full-text conditions of the query: the plan holds for constants that need alike only."""

    def reference(self, constants: tuple[str, ...], reference: int) -> str:
        """The dictionary's text of what a reference means to a subscription with these constants."""
        if reference < self.slots:
            return constants[reference]
        reference -= self.slots
        if reference < len(self.words):
            return self.words[reference].term(constants)
        return self.fixed[reference - len(self.words)]
