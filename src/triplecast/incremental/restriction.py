"""A pattern restricted to the solutions that agree with some of given rows, as early as each part allows.

`restrict` gives a pattern whose solutions that agree with a seed on its names are those of the original, each as often.
Others may be missing or added; the caller has bound all names of the seeds in every solution (they are certain).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from triplecast.evaluate.patterns import is_open
from triplecast.evaluate.scope import certain_names
from triplecast.model import algebra
from triplecast.model.algebra import Join, Pattern, Term, Values, Variable


class Seeds:
    """Rows of terms for the same names."""

    def __init__(self, names: tuple[str, ...], rows: Iterable[tuple[Term, ...]]) -> None:
        self.names = names
        self.rows = tuple(dict.fromkeys(rows))
        self._made: dict[tuple[str, ...], Values] = {}

    def values(self, names: tuple[str, ...]) -> Values:
        """The distinct rows of some of the names, as VALUES."""
        found = self._made.get(names)
        if found is None:
            places = [self.names.index(name) for name in names]
            rows = dict.fromkeys(tuple(row[place] for place in places) for row in self.rows)
            found = Values(tuple(Variable(name) for name in names), tuple(rows))  # type: ignore[arg-type]
            self._made[names] = found
        return found


def restrict(pattern: Pattern, seeds: Seeds) -> Pattern:
    """Restrict a pattern that binds all names of the seeds for certain."""
    return _restrict(pattern, seeds, frozenset(seeds.names))


def _restrict(pattern: Pattern, seeds: Seeds, names: Set[str]) -> Pattern:
    """Restrict it by those of `names` that it is certain to bind."""
    if not names:
        return pattern
    if is_open(pattern):
        certain = certain_names(pattern)
        used = tuple(name for name in seeds.names if name in names and name in certain)
        return Join(seeds.values(used), pattern) if used else pattern
    match pattern:
        case algebra.Join(left, right):
            closed, other = (right, left) if is_open(left) else (left, right)
            narrowed = _restrict(closed, seeds, names)
            if narrowed is closed or not is_open(other):  # an open part is solved from the rows of the other
                other = _restrict(other, seeds, names)
            return Join(narrowed, other)
        case algebra.Union(left, right):
            return algebra.Union(_restrict(left, seeds, names), _restrict(right, seeds, names))
        case algebra.LeftJoin(left, right, condition):
            inner = right if is_open(right) else _restrict(right, seeds, names & certain_names(left))
            return algebra.LeftJoin(_restrict(left, seeds, names), inner, condition)
        case algebra.Minus(left, right):
            inner = _restrict(right, seeds, names & certain_names(left))
            return algebra.Minus(_restrict(left, seeds, names), inner)
        case algebra.Group(inner, keys, _):
            return replace(pattern, pattern=_restrict(inner, seeds, names & {key.name for key in keys}))
        case algebra.Project(inner, variables):
            shown = {variable.name for variable in variables}
            return replace(pattern, pattern=_restrict(inner, seeds, names & shown))
        case algebra.Slice() | algebra.Values() | algebra.BasicPattern():
            return pattern
    return replace(pattern, pattern=_restrict(pattern.pattern, seeds, names))
