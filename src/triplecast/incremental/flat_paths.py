"""Paths of plain steps written as triples, which joins can begin at any step (SPARQL 18.4: a sequence is a join)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, pairwise

from pyoxigraph import NamedNode

from triplecast.model import algebra
from triplecast.model.algebra import BasicPattern, Inverse, Node, PathPattern, Pattern, Slot, TriplePattern, Variable


def flatten_paths(pattern: Pattern) -> Pattern:
    """The same pattern, outside EXISTS; the nodes between steps are hidden variables, equal for equal patterns."""
    return _flatten(pattern, count())


def _flatten(pattern: Pattern, numbers: Iterator[int]) -> Pattern:
    match pattern:
        case BasicPattern(triples):
            flat = [each for triple in triples for each in _triples_of(triple, numbers)]
            return pattern if len(flat) == len(triples) else BasicPattern(tuple(flat))
        case algebra.Join() | algebra.LeftJoin() | algebra.Union() | algebra.Minus():
            return replace(pattern, left=_flatten(pattern.left, numbers), right=_flatten(pattern.right, numbers))
        case algebra.Values():
            return pattern
    return replace(pattern, pattern=_flatten(pattern.pattern, numbers))


def _triples_of(pattern: TriplePattern | PathPattern, numbers: Iterator[int]) -> list[TriplePattern | PathPattern]:
    if not isinstance(pattern, PathPattern) or not isinstance(pattern.path, algebra.Sequence):
        return [pattern]
    steps = pattern.path.steps
    if not all(isinstance(each.path if isinstance(each, Inverse) else each, NamedNode | Slot) for each in steps):
        return [pattern]
    between = [Variable(f"_: way {next(numbers)}") for _ in steps[1:]]
    nodes: list[Node] = [pattern.subject, *between, pattern.object]
    found: list[TriplePattern | PathPattern] = []
    for step, (start, end) in zip(steps, pairwise(nodes), strict=True):
        if isinstance(step, Inverse):
            found.append(TriplePattern(end, step.path, start))  # type: ignore[arg-type]
        else:
            found.append(TriplePattern(start, step, end))  # type: ignore[arg-type]
    return found
