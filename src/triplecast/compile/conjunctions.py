"""Queries that the index decides: unions of conjunctions whose filters are comparisons of a variable with a constant,
with tests whether other conjunctions have a solution (`compile.cases`).

`SELECT` (plain, `DISTINCT`, `REDUCED`), `ASK`, and `CONSTRUCT` when every solution makes a triple. Paths of single
steps, `^` and `/` are patterns with variables of their own, which keeps SPARQL's multiplicities (18.4: a sequence is a
join).
"""

from __future__ import annotations

from typing import NamedTuple

from pyoxigraph import Literal

from triplecast.compile.cases import Cases, Test, Undecidable, unbound_of
from triplecast.compile.combination import Agreement, Check, Combination, Part
from triplecast.compile.marks import is_mark
from triplecast.compile.necessary import Conjunction
from triplecast.compile.plan import CASES_LIMIT, PATTERNS_LIMIT
from triplecast.model.algebra import Distinct, Node, Query, TriplePattern, Variable


class Kept(NamedTuple):
    """What is kept of a conjunction's solutions: the terms of `variables` (sorted by name), deduplicated if `distinct`;
    with `ask`, only whether there is one."""

    variables: tuple[Variable, ...]
    distinct: bool
    ask: bool


class CombinedCases(NamedTuple):
    """The conjunctions of a query, and how their solutions make the query's: by `combination`, or, without one, the
    only conjunction's solutions are the query's."""

    conjunctions: tuple[Conjunction, ...]
    kept: tuple[Kept, ...]
    combination: Combination | None


def combine(cases: Cases, query: Query) -> CombinedCases:
    """Number the conjunctions of the cases and of their tests, and find what has to be kept of each. Raises
    `Undecidable`."""
    if not cases:
        raise Undecidable("FILTER on a variable that no triple pattern of its group binds")
    if query.form == "construct" and not all(
        any(_always_made(triple, case.conjunction) for triple in query.template) for case in cases
    ):
        raise Undecidable("CONSTRUCT whose triples may be left out")
    combined = _combine(cases, query)
    for conjunction in combined.conjunctions:
        _check_conjunction(conjunction)
    _check_marks([each for conjunction in combined.conjunctions for each in conjunction.patterns])
    return combined


def _combine(cases: Cases, query: Query) -> CombinedCases:
    ask, wanted = query.form == "ask", set(query.variables)
    distinct = isinstance(query.pattern, Distinct)
    branches, parts, shown = _Branches(), [], set[Variable]()
    for case in cases:
        base = branches.number_of(case.conjunction)
        if not ask:
            bound = wanted.intersection(case.conjunction.variables())
            shown |= bound.union(wanted.intersection(case.conjunction.computed()))
            branches.show(base, bound)
        parts.append(Part(base, tuple(branches.check(base, test) for test in case.tests)))
    conjunctions = branches.conjunctions
    if len(conjunctions) > CASES_LIMIT:
        raise Undecidable(f"more than {CASES_LIMIT} conjunctions in the query and its tests")
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
        return CombinedCases(conjunctions, (kept[0]._replace(distinct=distinct),), None)
    return CombinedCases(conjunctions, kept, combination)


class _Branches:
    """The distinct conjunctions of one query, numbered by first appearance, and the variables needed of each."""

    def __init__(self) -> None:
        self._numbers: dict[Conjunction, int] = {}
        self._needed: list[set[Variable]] = []
        """By number: the variables shown, compared or calculated with."""
        self._shown: set[int] = set()
        """The numbers of conjunctions whose rows are in the answer, with multiplicity."""

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
        """Of rows that are only compared with, the distinct ones matter; without compared variables, whether there is
        one."""
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
        raise Undecidable("a path or function of the taxonomy whose variable is no node of another pattern")


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
