"""What is left of a decided query after the join: conditions and values that are calculated row by row."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.model.algebra import Expression, Node, Variable


class Residual(NamedTuple):
    """A condition that rows have to fulfil, the value of a new `variable`, or, with `free`, what an operator gives."""

    variable: Variable | None
    expression: Expression
    """Of what an operator gives: its call."""
    names: tuple[Variable, ...]
    """The variables that the expression may see: those that may have a value where it stands."""
    free: tuple[Node, ...] = ()
    """Where the terms of each row of an operator go: a variable of `new` binds, other nodes have to agree."""
    new: tuple[Variable, ...] = ()

    def gives(self) -> tuple[Variable, ...]:
        """The variables that have a value by it."""
        return self.new if self.variable is None else (self.variable,)
