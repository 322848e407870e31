"""Queries that the index decides: unions of conjunctions whose filters are comparisons of a variable with a constant,
with tests whether other conjunctions have a solution (`compile.cases`).

`SELECT` (plain, `DISTINCT`, `REDUCED`), `ASK`, and `CONSTRUCT` when every solution makes a triple. Paths of single
steps, `^` and `/` are patterns with variables of their own, which keeps SPARQL's multiplicities (18.4: a sequence is a
join).
"""

from __future__ import annotations

from typing import NamedTuple

from pyoxigraph import Literal

from triplecast.compile.cases import Cases, Reader, Test, Undecidable, unbound_of
from triplecast.compile.combination import Agreement, Check, Combination, Part
from triplecast.compile.constants import Constant
from triplecast.compile.marks import is_mark
from triplecast.compile.necessary import Conjunction
from triplecast.compile.plan import CASES_LIMIT, PATTERNS_LIMIT
from triplecast.model.algebra import Distinct, Node, Project, Query, Reduced, TriplePattern, Variable


class Kept(NamedTuple):
    """Of the solutions of one conjunction: the terms of `variables` (sorted by name), deduplicated if `distinct`; with
    `ask` only whether there is one."""

    variables: tuple[Variable, ...]
    distinct: bool
    ask: bool


class Decided(NamedTuple):
    """The query's solutions are what the combination makes of the conjunctions'; without one, those of the only
    conjunction."""

    conjunctions: tuple[Conjunction, ...]
    kept: tuple[Kept, ...]
    combination: Combination | None
    unlike: tuple[tuple[Constant, ...], ...]
    """Constants that have to be different from each other for this to hold."""


def decide_query(query: Query, constants: tuple[str, ...], entailed: bool = False) -> Decided:
    """`entailed`: publications are read with a taxonomy. Raises `Undecidable`."""
    pattern, distinct = query.pattern, False
    if isinstance(pattern, Distinct | Reduced):
        distinct = isinstance(pattern, Distinct)
        pattern = pattern.pattern
    if isinstance(pattern, Project):
        pattern = pattern.pattern
    reader = Reader(constants, entailed)
    cases = reader.cases(pattern)
    if not cases:
        raise Undecidable("FILTER on a variable that no triple pattern of its group binds")
    if query.form == "construct" and not all(
        any(_always_made(triple, case.conjunction) for triple in query.template) for case in cases
    ):
        raise Undecidable("CONSTRUCT whose triples may be left out")
    combined = _combine(cases, query, distinct)
    for conjunction in combined.conjunctions:
        _check_conjunction(conjunction)
    _check_marks([each for conjunction in combined.conjunctions for each in conjunction.patterns])
    return combined._replace(unlike=tuple(reader.unlike))


def _combine(cases: Cases, query: Query, distinct: bool) -> Decided:
    """Numbers the conjunctions of the cases and their tests, and finds what has to be kept of each."""
    ask, asked = query.form == "ask", set(query.variables)
    branches, parts, shown = _Branches(), [], set[Variable]()
    for case in cases:
        base = branches.number_of(case.conjunction)
        if not ask:
            bound = asked.intersection(case.conjunction.variables())
            shown |= bound.union(asked.intersection(case.conjunction.computed()))
            branches.show(base, bound)
        parts.append(Part(base, tuple(branches.check(base, test) for test in case.tests)))
    conjunctions = branches.conjunctions
    if len(conjunctions) > CASES_LIMIT:
        raise Undecidable(f"more than {CASES_LIMIT} conjunctions of what is asked and of what is tested")
    kept = branches.kept(distinct)
    combination = Combination(
        tuple(
            tuple(variable.name for variable in (*each.variables, *conjunction.computed()))
            for each, conjunction in zip(kept, conjunctions, strict=True)
        ),
        tuple(parts),
        tuple(variable.name for variable in _by_name(shown)),
        distinct,
        ask,
        any(conjunction.residual for conjunction in conjunctions),
    )
    if len(parts) == 1 and not parts[0].checks and not combination.residual:
        return Decided(conjunctions, (kept[0]._replace(distinct=distinct),), None, ())
    return Decided(conjunctions, kept, combination, ())


class _Branches:
    """The conjunctions of one query, each once, numbered in the order in which they are first met; and what is needed
    of the rows of each."""

    def __init__(self) -> None:
        self._numbers: dict[Conjunction, int] = {}
        self._needed: list[set[Variable]] = []
        """By number: what is shown, compared or calculated with."""
        self._shown: set[int] = set()
        """Those whose rows the answer holds, as often as there are."""

    @property
    def conjunctions(self) -> tuple[Conjunction, ...]:
        return tuple(self._numbers)

    def number_of(self, conjunction: Conjunction) -> int:
        found = self._numbers.setdefault(conjunction, len(self._needed))
        if found == len(self._needed):
            seen = {name for each in conjunction.residual for name in each.names}
            self._needed.append(seen.intersection(conjunction.variables()))
        return found

    def show(self, branch: int, variables: set[Variable]) -> None:
        self._needed[branch] |= variables
        self._shown.add(branch)

    def check(self, base: int, test: Test) -> Check:
        """The test of a row of the branch `base`: what is compared is needed of both sides."""
        choices = []
        for choice in test.choices:
            branch = self.number_of(choice.conjunction)
            self._needed[base].update(choice.shared)
            self._needed[branch].update(choice.shared)
            choices.append(Agreement(branch, tuple(variable.name for variable in choice.shared)))
        return Check(tuple(choices), test.wanted)

    def kept(self, distinct: bool) -> tuple[Kept, ...]:
        """Of rows that only others are compared with it matters which there are; where nothing is compared, whether
        there is one."""
        return tuple(
            Kept(_by_name(variables), distinct or each not in self._shown, not variables and each not in self._shown)
            for each, variables in enumerate(self._needed)
        )


def _by_name(variables: set[Variable]) -> tuple[Variable, ...]:
    return tuple(sorted(variables, key=lambda variable: variable.name))


def _check_conjunction(conjunction: Conjunction) -> None:
    for variable in unbound_of(conjunction):
        raise Undecidable(f"VALUES of ?{variable.name}, which no triple pattern binds")
    if len(conjunction.patterns) + len(conjunction.words) > PATTERNS_LIMIT:
        raise Undecidable(f"more than {PATTERNS_LIMIT} triple patterns and words")
    marks = [pattern for pattern in conjunction.patterns if is_mark(pattern)]
    nodes = {
        node for pattern in conjunction.patterns if not is_mark(pattern) for node in (pattern.subject, pattern.object)
    }
    if any(mark.subject not in nodes for mark in marks):
        raise Undecidable("a path or function of the taxonomy whose variable stands in no other pattern as a node")


def _check_marks(patterns: list[TriplePattern]) -> None:
    """A path along the taxonomy may have no step at all, so its start has to be a node of the graph by another pattern;
    and a mark is no triple that a variable predicate may meet."""
    if any(map(is_mark, patterns)) and any(isinstance(pattern.predicate, Variable) for pattern in patterns):
        raise Undecidable("a variable predicate beside a path or function of the taxonomy")


def _always_made(triple: TriplePattern, conjunction: Conjunction) -> bool:
    """Whether every solution makes this triple of a CONSTRUCT template: no place can be unbound or of a wrong kind."""
    subjects = {pattern.subject for pattern in conjunction.patterns if not is_mark(pattern)}
    predicates = {pattern.predicate for pattern in conjunction.patterns}
    bound = set(conjunction.variables())
    subject, predicate, end = triple.subject, triple.predicate, triple.object
    return (
        (not isinstance(subject, Variable | Literal) or subject in subjects or _is_new_blank(subject, bound))
        and (not isinstance(predicate, Variable | Literal) or predicate in predicates)
        and (not isinstance(end, Variable) or end in bound or end.hidden)
    )


def _is_new_blank(node: Node, bound: set[Variable]) -> bool:
    return isinstance(node, Variable) and node.hidden and node not in bound
