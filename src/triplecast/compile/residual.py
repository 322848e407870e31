"""What is left of a decided query after the join: conditions and values that are calculated row by row."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.model.algebra import Expression, Variable


class Residual(NamedTuple):
    """A condition that rows have to fulfil, or the value of a new `variable`."""

    variable: Variable | None
    expression: Expression
    names: tuple[Variable, ...]
    """The variables that the expression may see: those that may have a value where it stands."""
