"""Containment between items by brute force: each mapping of the general one's variables to the special one's nodes."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from triplecast.kernels.build import ALWAYS, Items
from triplecast.kernels.layout import CONTINUES
from triplecast.model.comparison_codes import Comparison, Lane

Atom = tuple[int, int, int, float]
"""Variable, operator, lane, constant."""

_FOLLOWS = {
    Comparison.LESS: (Comparison.LESS,),
    Comparison.AT_MOST: (Comparison.LESS, Comparison.AT_MOST, Comparison.EQUAL),
    Comparison.GREATER: (Comparison.GREATER,),
    Comparison.AT_LEAST: (Comparison.GREATER, Comparison.AT_LEAST, Comparison.EQUAL),
}
"""From which comparisons with a constant on the right side of its own each follows."""


class Conjunction(NamedTuple):
    patterns: tuple[tuple[int, int, int], ...]
    clauses: tuple[tuple[Atom, ...], ...]

    @property
    def variables(self) -> list[int]:
        return sorted({node for pattern in self.patterns for node in pattern if node < 0})


def conjunction(items: Items, item: int) -> Conjunction:
    patterns = items.patterns[items.offsets[item] : items.offsets[item + 1]].tolist()
    clauses: list[list[Atom]] = [[]]
    for at in range(int(items.atom_offsets[item]), int(items.atom_offsets[item + 1])):
        variable, operator, lane, more = items.atom_code[at].tolist()
        clauses[-1].append((-variable - 1, operator, lane, float(items.atom_value[at])))
        if not more & CONTINUES:
            clauses.append([])
    rows = tuple((s, p, o) for s, p, o in patterns if s != ALWAYS)
    return Conjunction(rows, tuple(tuple(clause) for clause in clauses if clause))


def contains(general: Conjunction, special: Conjunction, synthetic: set[int]) -> bool:
    """Whether some mapping makes each pattern one of the other's, and its conditions follow."""
    wanted, rows = general.variables, set(special.patterns)
    if not all(any(_may_map(row, to) for to in rows) for row in general.patterns):
        return False
    predicates = {predicate for _, predicate, _ in general.patterns}
    nodes = sorted({node for row in rows for node in row})
    for chosen in product(nodes, repeat=len(wanted)):
        to = dict(zip(wanted, chosen, strict=True))
        if any(to[node] in synthetic for node in predicates if node < 0):
            continue
        image = [tuple(to.get(node, node) for node in row) for row in general.patterns]
        if all(row in rows for row in image) and all(
            any(all(any(_follows(b, a, to) for b in clause) for a in other) for other in special.clauses)
            for clause in general.clauses
        ):
            return True
    return False


def _may_map(pattern: tuple[int, int, int], to: tuple[int, int, int]) -> bool:
    return all(node < 0 or node == other for node, other in zip(pattern, to, strict=True))


def _follows(general: Atom, special: Atom, to: dict[int, int]) -> bool:
    variable, operator, lane, value = general
    if to.get(variable) != special[0] or lane != special[2]:
        return False
    if (operator, value) == (special[1], special[3]):
        return True
    if not (Lane.BOOLEAN <= lane <= Lane.DAYTIMEDURATION or lane == Lane.STRING_ORDER):
        return False
    right = special[3] <= value if operator in (Comparison.LESS, Comparison.AT_MOST) else special[3] >= value
    return right and special[1] in _FOLLOWS.get(Comparison(operator), ())
