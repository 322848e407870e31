"""Conditions but for the names of their variables, as texts that operator statistics are kept of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from triplecast.compile.residual import Residual
from triplecast.model.algebra import Call, Expression, Node, Operation, Variable, subexpressions
from triplecast.model.operators import OperatorSet

Columns: TypeAlias = tuple[str, ...]
"""Names of variables."""


class ConditionTemplate(NamedTuple):
    """A condition but for the names of its variables: two that unify have one text (the operators paper, section 3)."""

    text: str
    names: Columns
    """The variables, in the order of their numbers."""
    cost: float
    """Seconds that the declarations of its operators expect together."""


def template_of(residuals: Sequence[Residual], operators: OperatorSet) -> ConditionTemplate:
    """Name the variables of a condition by number. Operators have their version with them: what is known of one version
    says nothing of another."""
    names: dict[str, str] = {}
    parts: list[str] = []
    given: set[str] = set()
    cost = 0.0

    def written(node: Expression | Node) -> str:
        if isinstance(node, Variable):
            return names.setdefault(node.name, f"?{len(names)}")
        if isinstance(node, Call):
            return f"{versioned(node.function, operators)}({', '.join(map(written, node.arguments))})"
        if isinstance(node, Operation):
            return f"({node.operator} {' '.join(map(written, node.arguments))})"
        return str(node)

    for each in residuals:
        parts += map(written, (each.expression, *each.free))
        if each.variable is not None:
            parts.append(f"-> {written(each.variable)}")
        given.update(variable.name for variable in each.gives())
        calls = [part.function for part in subexpressions(each.expression) if isinstance(part, Call)]
        cost += sum(found.cost for found in map(operators.find, calls) if found is not None)
    return ConditionTemplate(" ".join(parts), tuple(name for name in names if name not in given), cost or 1e-6)


def places_of(template: ConditionTemplate, columns: Columns) -> tuple[int, ...]:
    """The columns of a template's variables, -1 where a variable has none."""
    return tuple(columns.index(name) if name in columns else -1 for name in template.names)


def versioned(function: str, operators: OperatorSet) -> str:
    """An operator's IRI with its version; the name of any other function."""
    declared = operators.find(function) if ":" in function else None
    return function if declared is None else f"{function}@{declared.version}"
