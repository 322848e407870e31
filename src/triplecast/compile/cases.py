"""A query's pattern as a union of conjunctions, exactly (SPARQL 18.5), with a bound on their number.

The *cases* of a pattern are conjunctions with tests; its solutions are the multiset union of theirs. In one case every
variable is bound in all solutions or in none, so that what a condition makes of an unbound variable is known here.
``UNION`` and ``a|b`` have the cases of each side; a join, those of each pair of sides; ``OPTIONAL`` makes two of one,
with and without what is optional, the second under the test that there is no such thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.compile.comparisons import NamedAtom, read_conditions
from triplecast.compile.constants import Constant, constant_text
from triplecast.compile.marks import path_mark
from triplecast.compile.necessary import Conjunction, FreshNames, find_words
from triplecast.compile.plan import CASES_LIMIT
from triplecast.compile.residual import Residual
from triplecast.evaluate.conjuncts import conjuncts
from triplecast.model import algebra
from triplecast.model.algebra import Call, Expression, Node, Operation, Pattern, Slot, TriplePattern, Variable
from triplecast.model.comparison_codes import Comparison, Lane

RESIDUAL_LIMIT = 64
"""Parts of an expression that is evaluated in this process."""
WITHIN = "an operator within EXISTS"
NOT_GIVEN = "an operator that is given what its group does not bind"
_CALLS = frozenset(
    (
        *("STR", "LANG", "DATATYPE", "ISIRI", "ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "SAMETERM", "LANGMATCHES"),
        *("BOUND", "IF", "COALESCE", "ABS", "CEIL", "FLOOR", "ROUND", "NUMBER", "TEXT"),
        *("STRLEN", "CONTAINS", "STRSTARTS", "STRENDS", "LCASE", "UCASE", "YEAR", "MONTH", "DAY"),
    )
)
"""Functions whose value is at most a little larger than their arguments."""


class Undecidable(Exception):
    """The index cannot decide the query; the message names the construct."""


class TestedConjunction(NamedTuple):
    """A solution of the conjunction that has the same terms under `shared`."""

    conjunction: Conjunction
    shared: tuple[Variable, ...]
    """Variables of the case that is tested, sorted by name."""


class Test(NamedTuple):
    """Whether one of the choices exists (`wanted`), or none."""

    choices: tuple[TestedConjunction, ...]
    wanted: bool


class Case(NamedTuple):
    conjunction: Conjunction = Conjunction()
    tests: tuple[Test, ...] = ()


Cases = tuple[Case, ...]


class CaseFinder:
    """Finds the cases of one query, with the `constants` of one of its subscriptions."""

    def __init__(self, constants: tuple[str, ...], entailed: bool) -> None:
        self.constants = constants
        self.names = FreshNames(entailed)
        self.unlike: list[tuple[Constant, ...]] = []
        """Constants that differ here; the cases hold for subscriptions whose constants differ too."""
        self._within = 0
        """How many EXISTS enclose the current pattern: they replace variables that nothing inside binds."""

    def cases(self, pattern: Pattern) -> Cases:
        """Raises `Undecidable`."""
        match pattern:
            case algebra.BasicPattern(triples):
                return self._all_of([self._triple(triple) for triple in triples])
            case algebra.Join(left, right):
                return self._all_of([self.cases(left), self.cases(right)])
            case algebra.Union(left, right):
                return _bounded((*self.cases(left), *self.cases(right)))
            case algebra.Filter(condition, inner):
                return self._filtered(self.cases(inner), condition)
            case algebra.LeftJoin() | algebra.Minus() if self._within:
                raise Undecidable("OPTIONAL or MINUS within EXISTS")
            case algebra.LeftJoin(left, right, condition):
                optional = self._plain(right, "OPTIONAL within OPTIONAL, or with EXISTS or MINUS inside")
                return _bounded(
                    tuple(case for base in self.cases(left) for case in self._extended(base, optional, condition))
                )
            case algebra.Minus(left, right):
                removing = self._plain(right, "MINUS of what has OPTIONAL, EXISTS or MINUS inside")
                return tuple(_without(base, removing) for base in self.cases(left))
            case algebra.Values(variables, rows):
                return self._values(variables, rows)
            case algebra.Extend(inner, variable, expression):
                return tuple(self._with_value(case, variable, expression) for case in self.cases(inner))
            case algebra.Produce(inner, operator, arguments, free):
                return tuple(self._produced(case, operator, arguments, free) for case in self.cases(inner))
        raise Undecidable(_NAMES[type(pattern)])

    # ---- patterns

    def _triple(self, triple: TriplePattern | algebra.PathPattern) -> Cases:
        if isinstance(triple, TriplePattern):
            return (Case(Conjunction((triple,))),)
        return self._path(triple.subject, triple.path, triple.object)

    def _path(self, start: Node, path: algebra.PathExpression, end: Node) -> Cases:
        mark = path_mark(start, path, end) if self.names.entailed else None
        if mark is not None:
            return (Case(Conjunction((mark,))),)
        match path:
            case NamedNode() | Slot():
                return (Case(Conjunction((TriplePattern(start, path, end),))),)
            case algebra.Inverse(inner):
                return self._path(end, inner, start)
            case algebra.Sequence(steps):
                stops = [start, *(self.names.make() for _ in steps[1:]), end]
                return self._all_of([self._path(stops[i], step, stops[i + 1]) for i, step in enumerate(steps)])
            case algebra.Alternative(choices):
                return _bounded(tuple(case for choice in choices for case in self._path(start, choice, end)))
        raise Undecidable("a property path with *, +, ? or !")

    def _all_of(self, sides: list[Cases]) -> Cases:
        made: Cases = (Case(),)
        for side in sides:
            made = _bounded(
                tuple(
                    Case(_joined(left.conjunction, right.conjunction), left.tests + right.tests)
                    for left in made
                    for right in side
                )
            )
        return made

    def _plain(self, pattern: Pattern, otherwise: str) -> tuple[Conjunction, ...]:
        """The cases of an optional, removed or existing part; raises where they have tests of their own."""
        cases = self.cases(pattern)
        if any(case.tests for case in cases):
            raise Undecidable(otherwise)
        return tuple(case.conjunction for case in cases)

    def _extended(self, base: Case, optional: tuple[Conjunction, ...], condition: Expression | None) -> Cases:
        """A base row with each of its extensions, or alone where it has none."""
        _check_settled(base.conjunction)
        whole: list[Conjunction] = []
        choices: list[TestedConjunction] = []
        for extension in optional:
            joined = _joined(base.conjunction, extension)
            made = (Case(joined),) if condition is None else self._filtered((Case(joined),), condition)
            if any(case.tests for case in made):
                raise Undecidable("OPTIONAL with EXISTS in its FILTER")
            whole.extend(case.conjunction for case in made)
            shared = _shared(base.conjunction, extension, condition)
            choices.extend(TestedConjunction(case.conjunction, shared) for case in made)
        alone = (*base.tests, Test(tuple(choices), False)) if choices else base.tests
        return (*(Case(joined, base.tests) for joined in whole), Case(base.conjunction, alone))

    def _values(self, variables: tuple[Variable, ...], rows: tuple[tuple[Constant | None, ...], ...]) -> Cases:
        """A case for each row; for different values of one variable a single clause."""
        if len(variables) == 1 and len(rows) > 1:
            constants = tuple(constant for row in rows for constant in row if constant is not None)
            texts = {constant_text(constant, self.constants) for constant in constants}
            if len(texts) == len(rows):
                self.unlike.append(constants)
                return (Case(Conjunction(clauses=(tuple(_same(variables[0], each) for each in constants),))),)
        return _bounded(
            tuple(
                Case(
                    Conjunction(
                        clauses=tuple(
                            (_same(variable, constant),)
                            for variable, constant in zip(variables, row, strict=True)
                            if constant is not None
                        )
                    )
                )
                for row in rows
            )
        )

    # ---- conditions

    def _filtered(self, cases: Cases, condition: Expression) -> Cases:
        for part in conjuncts(condition):
            if isinstance(part, algebra.Exists):
                self._within += 1
                inner = self._plain(part.pattern, "EXISTS within EXISTS")
                self._within -= 1
                cases = tuple(_tested(case, inner, not part.negated) for case in cases)
                continue
            cases = tuple(kept for case in cases for kept in self._fulfilling(case, part))
        return cases

    def _fulfilling(self, case: Case, condition: Expression) -> Cases:
        """The case under a condition without EXISTS; none where its unbound variables never fulfil it."""
        conjunction = case.conjunction
        _check_settled(conjunction)
        bound, computed = set(conjunction.variables()), set(conjunction.computed())
        if self._within and not bound.issuperset(algebra.variables_in(condition)):
            raise Undecidable("EXISTS with a FILTER on a variable that no triple pattern of its group binds")
        match condition:
            case Operation("!", (Call("BOUND", (Variable() as variable,)),)) if variable not in computed:
                return () if variable in bound else (case,)
        found = read_conditions(condition, self.constants)
        own = [clause for clause in found.clauses if computed.isdisjoint(atom.variable for atom in clause)]
        clauses = tuple(tuple(atom for atom in clause if atom.variable in bound) for clause in own)
        if not all(clauses):
            return ()
        if not found.whole or not computed.isdisjoint(algebra.variables_in(condition)):
            if self._within or not is_residual(condition):
                raise Undecidable("FILTER with more than comparisons and calculations")
            narrowed = case._replace(conjunction=conjunction.joined(Conjunction(clauses=clauses)))
            return (self._calculated(narrowed, None, condition),)
        tested = (*found.bound, *(text.variable for text in found.texts), *(mark.subject for mark in found.marks))
        if not bound.issuperset(tested):
            return ()
        words = tuple(
            word for text in found.texts for word in find_words(text, 0, text.needed(self.constants).alternatives)
        )
        return (case._replace(conjunction=conjunction.joined(Conjunction(found.marks, clauses, words))),)

    # ---- what is calculated

    def _with_value(self, case: Case, variable: Variable, expression: Expression) -> Case:
        _check_settled(case.conjunction)
        if self._within or not is_residual(expression):
            raise Undecidable("BIND or an expression in SELECT of more than comparisons and calculations")
        return self._calculated(case, variable, expression)

    def _produced(self, case: Case, operator: str, arguments: tuple[Node, ...], free: tuple[bool, ...]) -> Case:
        _check_settled(case.conjunction)
        if self._within:
            raise Undecidable(WITHIN)
        known = {*case.conjunction.variables(), *case.conjunction.computed()}
        sides: tuple[list[Node], list[Node]] = ([], [])
        for node, is_free in zip(arguments, free, strict=True):
            sides[is_free].append(node)
        given, gives = sides
        if not known.issuperset(node for node in given if isinstance(node, Variable)):
            raise Undecidable(NOT_GIVEN)
        new = tuple(dict.fromkeys(node for node in gives if isinstance(node, Variable) and node not in known))
        seen = tuple(dict.fromkeys(node for node in arguments if isinstance(node, Variable) and node in known))
        added = Residual(None, Call(operator, tuple(given), len(gives)), seen, tuple(gives), new)
        return case._replace(conjunction=case.conjunction.joined(Conjunction(residual=(added,))))

    def _calculated(self, case: Case, variable: Variable | None, expression: Expression) -> Case:
        conjunction = case.conjunction
        known = {*conjunction.variables(), *conjunction.computed()}
        seen = tuple(dict.fromkeys(each for each in algebra.variables_in(expression) if each in known))
        added = Conjunction(residual=(Residual(variable, expression, seen),))
        return case._replace(conjunction=conjunction.joined(added))


def is_residual(expression: Expression) -> bool:
    """Whether an expression may be evaluated in this process: it is small, its cost is bounded by its terms, and it
    needs nothing but the row and operator results."""
    parts = list(islice(algebra.subexpressions(expression), RESIDUAL_LIMIT + 1))
    if len(parts) > RESIDUAL_LIMIT or any(isinstance(part, algebra.Exists) for part in parts):
        return False
    return all(part.function in _CALLS or part.of_operator for part in parts if isinstance(part, Call))


def _joined(left: Conjunction, right: Conjunction) -> Conjunction:
    """Join two conjunctions; raises where one looks up what the other calculates."""
    for one, other in ((left, right), (right, left)):
        _check_apart(one.computed(), {*other.variables(), *other.compared(), *other.computed()})
    return left.joined(right)


def _check_apart(computed: Iterable[Variable], names: Set[Variable]) -> None:
    for variable in computed:
        if variable in names:
            raise Undecidable(f"?{variable.name}, which BIND gives a value, in another pattern")


def _tested(case: Case, inner: tuple[Conjunction, ...], wanted: bool) -> Case:
    _check_settled(case.conjunction)
    choices = tuple(
        TestedConjunction(_joined(case.conjunction, each), _shared(case.conjunction, each)) for each in inner
    )
    return case._replace(tests=(*case.tests, Test(choices, wanted)))


def _without(case: Case, removing: tuple[Conjunction, ...]) -> Case:
    """Add the test of MINUS: a solution goes where one on the right agrees with it and shares a variable (18.5)."""
    _check_settled(case.conjunction)
    shared = [(each, _shared(case.conjunction, each)) for each in removing]
    choices = tuple(TestedConjunction(_joined(case.conjunction, each), names) for each, names in shared if names)
    return case._replace(tests=(*case.tests, Test(choices, False))) if choices else case


def _shared(case: Conjunction, other: Conjunction, condition: Expression | None = None) -> tuple[Variable, ...]:
    """The variables that the case binds and that `other`, or the condition on both, uses."""
    names = {*other.variables(), *other.compared(), *(algebra.variables_in(condition) if condition is not None else ())}
    _check_apart(case.computed(), names.union(other.computed()))
    _check_apart(other.computed(), {*case.variables(), *case.compared()})
    return tuple(sorted(names.intersection(case.variables()), key=lambda variable: variable.name))


def _same(variable: Variable, constant: Constant) -> NamedAtom:
    return NamedAtom(variable, Comparison.EQUAL, Lane.IDENTITY, constant)


def _check_settled(conjunction: Conjunction) -> None:
    """Raise unless a pattern binds every compared variable: VALUES are comparisons, which bind nothing."""
    open_variables = unbound_of(conjunction)
    if open_variables:
        raise Undecidable(f"VALUES of ?{open_variables[0].name}, which no triple pattern of its group binds")


def unbound_of(conjunction: Conjunction) -> tuple[Variable, ...]:
    """Variables that are compared and in no pattern."""
    bound = set(conjunction.variables())
    return tuple(variable for variable in conjunction.compared() if variable not in bound)


def _bounded(cases: Cases) -> Cases:
    if len(cases) > CASES_LIMIT:
        raise Undecidable(f"more than {CASES_LIMIT} cases of UNION, OPTIONAL, VALUES and | taken together")
    return cases


_NAMES: Mapping[type, str] = MappingProxyType(
    {
        algebra.Graph: "GRAPH",
        algebra.Group: "GROUP BY or an aggregate",
        algebra.OrderBy: "ORDER BY",
        algebra.Slice: "LIMIT or OFFSET",
        algebra.Project: "a sub-select",
        algebra.Distinct: "a sub-select",
        algebra.Reduced: "a sub-select",
    }
)
"""What has no cases, in the words of the language."""
