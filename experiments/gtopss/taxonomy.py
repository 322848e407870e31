"""The class taxonomy and ``CheckConstraint`` (2005, sections 3.4 and 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.gtopss.corrections import Corrections
from experiments.gtopss.model import COMPARISONS, Constraint, Node, Row, compares

WALKED = "taxonomy nodes"
CHECKED = "constraint checks"


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Acyclic; classes and instances may have several parents."""

    broader: Mapping[Node, Sequence[Node]] = field(default_factory=dict)
    """Class → its direct superclasses."""
    types: Mapping[Node, Sequence[Node]] = field(default_factory=dict)
    """Instance → its direct classes."""

    def is_class(self, node: Node) -> bool:
        return node in self.broader or any(node in above for above in (*self.broader.values(), *self.types.values()))

    def parents(self, node: Node) -> Sequence[Node]:
        return (*self.types.get(node, ()), *self.broader.get(node, ()))

    def is_descendant(self, node: Node, ancestor: Node, work: Counter[str]) -> bool:
        """``isNodeDescendant``: walks up from `node`, every node once."""
        seen = {node}
        waiting = [node]
        while waiting:
            here = waiting.pop()
            work[WALKED] += 1
            for parent in self.parents(here):
                if parent == ancestor:
                    return True
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return False


NO_TAXONOMY = Taxonomy()


def check_constraints(
    row: Row, constraints: Sequence[Constraint], taxonomy: Taxonomy, corrections: Corrections, work: Counter[str]
) -> bool:
    """``CheckConstraint(R, C_S, T)``."""
    for constraint in constraints:
        work[CHECKED] += 1
        holds = is_true(row[-constraint.star - 1], constraint, taxonomy, corrections, work)
        if not holds or not corrections.c7_all_constraints_count:
            return holds
    return True


def is_true(
    value: Node, constraint: Constraint, taxonomy: Taxonomy, corrections: Corrections, work: Counter[str]
) -> bool:
    """``isTrue(v, op, c, T)``, and the comparison of values that the prose above it describes."""
    if constraint.operator in COMPARISONS:
        return compares(value, constraint.operator, constraint.value)
    wanted = constraint.value
    if constraint.operator == "is-a =":
        if corrections.c8_equal_means_direct_instance:
            return wanted in _types_of(value, taxonomy)
        return value == wanted
    upwards = constraint.operator == "is-a <="
    starts = _types_of(value, taxonomy) if corrections.c9_types_stand_for_their_instance else (value,)
    for start in starts:
        if start == wanted and corrections.c9_types_stand_for_their_instance:
            return True
        below, above = (start, wanted) if upwards else (wanted, start)
        if taxonomy.is_descendant(below, above, work):
            return True
    return False


def _types_of(value: Node, taxonomy: Taxonomy) -> Sequence[Node]:
    stated = taxonomy.types.get(value, ())
    return (*stated, value) if taxonomy.is_class(value) else stated
