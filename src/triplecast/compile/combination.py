"""How the rows of several branches make the answer of one query: what `UNION`, `OPTIONAL`, `MINUS` and `EXISTS` come to
once every branch is a conjunction that the index joins by itself.

Rows are by name here: a branch's columns are names of variables, so that renumbering the variables of a branch (as the
index does) changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


class Agreement(NamedTuple):
    """Some row of the `branch` has the same terms as the row at hand under `names`."""

    branch: int
    names: tuple[str, ...]


class Check(NamedTuple):
    """A row stays iff one of the `choices` agrees with it (`wanted`), or iff none does."""

    choices: tuple[Agreement, ...]
    wanted: bool


class Part(NamedTuple):
    """The rows of a branch that pass all checks."""

    branch: int
    checks: tuple[Check, ...]


Columns: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Combination:
    """The answer is the multiset union of the parts' rows, cut to `names`; a name that a part's branch has no column
    for is unbound in its rows."""

    columns: Columns
    """The names of each branch's columns, sorted, then those of what is calculated of its rows (`Plan.residuals`)."""
    parts: tuple[Part, ...]
    names: tuple[str, ...]
    """Sorted."""
    distinct: bool
    ask: bool
    residual: bool
    """Whether anything is calculated of the rows of some branch."""


def write_combination(combination: Combination) -> list[Any]:
    """As JSON holds it."""
    parts = [
        [part.branch, [[check.wanted, [list(choice) for choice in check.choices]] for check in part.checks]]
        for part in combination.parts
    ]
    return [
        [list(names) for names in combination.columns],
        parts,
        list(combination.names),
        combination.distinct,
        combination.ask,
        combination.residual,
    ]


def read_combination(written: list[Any]) -> Combination:
    """What `write_combination` wrote."""
    columns, parts, names, distinct, ask, residual = written
    return Combination(
        tuple(tuple(each) for each in columns),
        tuple(Part(branch, tuple(_read_check(*check) for check in checks)) for branch, checks in parts),
        tuple(names),
        distinct,
        ask,
        residual,
    )


def _read_check(wanted: bool, choices: list[Any]) -> Check:
    return Check(tuple(Agreement(branch, tuple(names)) for branch, names in choices), wanted)
