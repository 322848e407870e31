"""N(P) of semantics 4: what every match of a query fulfils, as alternatives of triple patterns and comparisons.

Law: for every solution of P over a publication there is an alternative and an assignment of its variables to terms of
the publication under which all its patterns are triples of it (in any of its graphs) and all its clauses are true.
Variables that the solution binds keep their names; all others are renamed apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, product
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.compile.comparisons import FilterConditions, NamedClause, read_conditions
from triplecast.compile.marks import path_mark
from triplecast.compile.plan import BRANCHES_LIMIT, PATTERNS_LIMIT
from triplecast.compile.residual import Residual
from triplecast.compile.texts import NamedText, NeededWord
from triplecast.model import algebra
from triplecast.model.algebra import Node, Pattern, Slot, TriplePattern, Variable


class Conjunction(NamedTuple):
    """Patterns, clauses and words that hold together, and what is done with their rows, in order."""

    patterns: tuple[TriplePattern, ...] = ()
    clauses: tuple[NamedClause, ...] = ()
    words: tuple[NeededWord, ...] = ()
    """Of variables that the patterns have."""
    residual: tuple[Residual, ...] = ()
    """Of decided queries only."""

    def variables(self) -> tuple[Variable, ...]:
        """Of the patterns, in order of first appearance."""
        nodes = (node for pattern in self.patterns for node in (pattern.subject, pattern.predicate, pattern.object))
        return tuple(dict.fromkeys(node for node in nodes if isinstance(node, Variable)))

    def compared(self) -> tuple[Variable, ...]:
        """Of the clauses, in order of first appearance."""
        return tuple(dict.fromkeys(atom.variable for clause in self.clauses for atom in clause))

    def usable_clauses(self) -> tuple[NamedClause, ...]:
        """The clauses whose variables all occur in patterns."""
        variables = set(self.variables())
        return tuple(clause for clause in self.clauses if all(atom.variable in variables for atom in clause))

    def joined(self, other: Conjunction) -> Conjunction:
        """Join both; a pattern that both have occurs once, which leaves the solutions the same."""
        return Conjunction(
            tuple(dict.fromkeys((*self.patterns, *other.patterns))),
            self.clauses + other.clauses,
            tuple(dict.fromkeys(self.words + other.words)),
            tuple(dict.fromkeys(self.residual + other.residual)),
        )

    def computed(self) -> tuple[Variable, ...]:
        """Variables that are calculated."""
        return tuple(dict.fromkeys(variable for each in self.residual for variable in each.gives()))

    def renamed(self, keep: Iterable[Variable], names: FreshNames) -> Conjunction:
        """Rename every variable outside `keep`; for necessary conditions, which calculate nothing."""
        assert not self.residual
        kept = set(keep)
        new = {variable: names.make() for variable in (*self.variables(), *self.compared()) if variable not in kept}
        if not new:
            return self
        return Conjunction(
            tuple(
                TriplePattern(*(_renamed(node, new) for node in (pattern.subject, pattern.predicate, pattern.object)))
                for pattern in self.patterns
            ),
            tuple(
                tuple(atom._replace(variable=new.get(atom.variable, atom.variable)) for atom in clause)
                for clause in self.clauses
            ),
            tuple(
                word._replace(text=word.text._replace(variable=new.get(word.text.variable, word.text.variable)))
                for word in self.words
            ),
        )


ANYTHING: tuple[Conjunction, ...] = (Conjunction(),)
"""The condition that every publication fulfils."""


@dataclass(frozen=True, slots=True)
class FreshNames:
    """Names that no query can hold (a space is in none), for one compilation."""

    entailed: bool = False
    """Publications are read with a taxonomy, so paths along it are marks."""
    numbers: Iterator[int] = field(default_factory=count)

    def make(self) -> Variable:
        return Variable(f"_: {next(self.numbers)}")


def necessary_conditions(
    pattern: Pattern, constants: tuple[str, ...], entailed: bool = False
) -> tuple[Conjunction, ...]:
    """The alternatives of N(pattern), at most `BRANCHES_LIMIT`."""
    return _find(pattern, constants, FreshNames(entailed))


def _find(pattern: Pattern, constants: tuple[str, ...], names: FreshNames) -> tuple[Conjunction, ...]:
    match pattern:
        case algebra.BasicPattern(triples):
            return _all_of([_find_triple(triple, names) for triple in triples])
        case algebra.Join(left, right):
            return _all_of([_find(left, constants, names), _find(right, constants, names)])
        case algebra.Union(left, right):
            return _any_of([_find(left, constants, names), _find(right, constants, names)])
        case algebra.Filter(condition, inner):
            return _narrow(_find(inner, constants, names), read_conditions(condition, constants), constants, names)
        case algebra.LeftJoin(left, _, _) | algebra.Minus(left, _):
            return _find(left, constants, names)
        case algebra.Project(inner, variables):
            return tuple(branch.renamed(variables, names) for branch in _find(inner, constants, names))
        case algebra.Group(inner, keys, _):
            if not keys:
                return ANYTHING
            return tuple(branch.renamed(keys, names) for branch in _find(inner, constants, names))
        case algebra.Values():
            return ANYTHING
        case _:
            return _find(pattern.pattern, constants, names)


def _narrow(
    branches: tuple[Conjunction, ...], found: FilterConditions, constants: tuple[str, ...], names: FreshNames
) -> tuple[Conjunction, ...]:
    """Add a filter's clauses and the patterns of its EXISTS, whose unbound variables are local."""
    narrowed: list[tuple[Conjunction, ...]] = []
    for branch in branches:
        inner = [_find_exists(exists, branch, constants, names) for exists in found.exists]
        own = branch._replace(patterns=(*branch.patterns, *found.marks), clauses=branch.clauses + found.clauses)
        bound = set(branch.variables())
        texts = [_find_words(text, constants) for text in found.texts if text.variable in bound]
        narrowed.append(_all_of([(own,), *inner, *texts]))
    return _any_of(narrowed)


def _find_words(text: NamedText, constants: tuple[str, ...]) -> tuple[Conjunction, ...]:
    """A literal that a pattern binds has all words of an alternative. (One of ``BIND`` need not be published.)"""
    alternatives = text.needed(constants).alternatives
    return tuple(Conjunction(words=find_words(text, number, alternatives)) for number in range(len(alternatives)))


def find_words(text: NamedText, alternative: int, alternatives: tuple[tuple[str, ...], ...]) -> tuple[NeededWord, ...]:
    """All words and phrases of one of the `alternatives` of what a text needs."""
    return tuple(NeededWord(text, alternative, number) for number in range(len(alternatives[alternative])))


def _find_exists(
    exists: algebra.Exists, branch: Conjunction, constants: tuple[str, ...], names: FreshNames
) -> tuple[Conjunction, ...]:
    bound = branch.variables()
    return tuple(inner.renamed(bound, names) for inner in _find(exists.pattern, constants, names))


def _any_of(choices: list[tuple[Conjunction, ...]]) -> tuple[Conjunction, ...]:
    """The union of alternatives; too many of them, or one that always holds, make no condition."""
    branches = tuple(dict.fromkeys(branch for choice in choices for branch in choice))
    if len(branches) > BRANCHES_LIMIT or any(not branch.patterns for branch in branches):
        return ANYTHING
    return branches


def _all_of(parts: list[tuple[Conjunction, ...]]) -> tuple[Conjunction, ...]:
    """The product of parts; those with many alternatives are dropped where it would exceed `BRANCHES_LIMIT`."""
    kept: list[tuple[Conjunction, ...]] = []
    size = 1
    for part in sorted(parts, key=len):
        if part and size * len(part) <= BRANCHES_LIMIT:
            kept.append(part)
            size *= len(part)
    merged = (
        Conjunction(
            tuple(dict.fromkeys(pattern for branch in choice for pattern in branch.patterns))[:PATTERNS_LIMIT],
            tuple(clause for branch in choice for clause in branch.clauses),
            tuple(dict.fromkeys(word for branch in choice for word in branch.words)),
        )
        for choice in product(*kept)
    )
    return tuple(dict.fromkeys(merged))


def _find_triple(triple: TriplePattern | algebra.PathPattern, names: FreshNames) -> tuple[Conjunction, ...]:
    if isinstance(triple, TriplePattern):
        return (Conjunction((triple,)),)
    return _find_path(triple.subject, triple.path, triple.object, names)


def _find_path(start: Node, path: algebra.PathExpression, end: Node, names: FreshNames) -> tuple[Conjunction, ...]:
    """A path's first and last steps; zero-length paths need nothing (semantics 4.2)."""
    match path:
        case NamedNode() | Slot():
            return (Conjunction((TriplePattern(start, path, end),)),)
        case algebra.Inverse(inner):
            return _find_path(end, inner, start, names)
        case algebra.Alternative(choices):
            return _any_of([_find_path(start, choice, end, names) for choice in choices])
        case algebra.Sequence(steps):
            stops = [start, *(names.make() for _ in steps[1:]), end]
            found = [_find_path(stops[i], step, stops[i + 1], names) for i, step in enumerate(steps)]
            mark = path_mark(stops[-2], steps[-1], end) if names.entailed and _takes_a_step(steps[-2]) else None
            return _all_of(found if mark is None else [*found[:-1], (Conjunction((mark,)),)])
        case algebra.Repeat(inner, at_least, many):
            if at_least == 0:
                return ANYTHING
            if not many:
                return _find_path(start, inner, end, names)
            first = _find_path(start, inner, names.make(), names)
            return _all_of([first, _find_path(names.make(), inner, end, names)])
        case algebra.NegatedSet(forward, inverse):
            if inverse and forward:
                return (Conjunction((TriplePattern(names.make(), names.make(), names.make()),)),)
            ends = (end, start) if inverse else (start, end)
            return (Conjunction((TriplePattern(ends[0], names.make(), ends[1]),)),)
    raise AssertionError(f"unknown path {type(path).__name__}")


def _takes_a_step(path: algebra.PathExpression) -> bool:
    """Whether a path surely ends at a node of the graph."""
    return isinstance(path.path if isinstance(path, algebra.Inverse) else path, NamedNode | Slot)


def _renamed(node: Node, new: dict[Variable, Variable]) -> Node:
    return new.get(node, node) if isinstance(node, Variable) else node
