"""A subscription's residual predicates, made ready once for all publications.

A *plan* says what is done with the join rows of a query's branches: `Steps` drop rows or give values, `RowCheck`s
compare them with the rows of other branches. *Filters* drop rows and give nothing: where there is nothing else, what
one says of a row does not depend on the others, so it is found once for all subscriptions that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from triplecast.compile.combination import Agreement, Combination, Part
from triplecast.compile.compiled import plan_of
from triplecast.compile.residual import Residual
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.unknown import asks_operators
from triplecast.languages import parse_template
from triplecast.languages.rewriting import replace_constants
from triplecast.model.algebra import Call, Slot, Term, Variable, from_ntriples
from triplecast.model.entailment import EntailmentMode
from triplecast.model.open_rows import QueryText
from triplecast.model.operators import OperatorSet
from triplecast.residual.calculation import Calculation
from triplecast.residual.templates import Columns, ConditionTemplate, places_of, template_of
from triplecast.residual.terms import NumberedTerms

Row: TypeAlias = tuple[int, ...]
"""Term numbers by column of its branch."""
Chain: TypeAlias = tuple["Step", ...]
Residuals: TypeAlias = tuple[tuple[Residual, ...], ...]
"""By branch."""
Pick: TypeAlias = Callable[[Row], object]

UNBOUND: Final = -1
"""The number of no term."""
KEPT = 200_000
"""Queries whose plans are remembered."""


class Step:
    """A residual predicate on rows of given columns. Equal ones are one object, for all subscriptions."""

    __slots__ = ("arguments", "asks", "operator", "places", "residual", "seen", "template", "unbound", "value")

    def __init__(self, residual: Residual, columns: Columns, operators: OperatorSet) -> None:
        self.residual = residual
        expression = residual.expression
        places = {name: place for place, name in enumerate(columns)}
        self.seen = tuple((each.name, places[each.name]) for each in residual.names if each.name in places)
        self.value = -1 if residual.variable is None else places.get(residual.variable.name, -1)
        """The column of the value that it gives."""
        self.unbound = tuple(
            (node.name, places[node.name])
            for node in residual.free
            if isinstance(node, Variable) and node.name in places
        )
        """Columns that the rows of an operator may bind."""
        self.asks = bool(residual.free) or asks_operators(expression)
        gives = residual.variable is not None or bool(residual.free)
        self.template = template_of((residual,), operators) if self.asks and not gives else None
        self.places = places_of(self.template, columns) if self.template is not None else ()
        self.operator = ""
        """Where the step is a filter that calls an operator and does nothing else, which; its bound `arguments` are
        columns (-1: never bound) or constants."""
        self.arguments: tuple[tuple[int, str], ...] = ()
        if self.template is not None and isinstance(expression, Call):
            plain = all(isinstance(each, Variable | Term) for each in expression.arguments)
            if expression.free == 0 and plain:
                self.operator = expression.function
                seen = dict(self.seen)
                self.arguments = tuple(
                    (seen.get(each.name, -1), "") if isinstance(each, Variable) else (-1, str(each))
                    for each in expression.arguments
                )

    @property
    def filters(self) -> bool:
        """Whether it gives no values."""
        return self.residual.variable is None and not self.residual.free

    def depends_on(self, names: frozenset[str]) -> bool:
        return any(each.name in names for each in self.residual.names)

    def may_give(self, row: Row) -> set[str]:
        """The variables that get a value by it: also those that an operator finds unbound in this row (a `BIND` that
        erred, an `OPTIONAL` that found nothing)."""
        names = {variable.name for variable in self.residual.gives()}
        return names.union(name for name, place in self.unbound if row[place] == UNBOUND)

    def apply(self, row: Row, calculation: Calculation, terms: NumberedTerms) -> Sequence[Row]:
        """The rows that a row becomes: none where a filter drops it, itself where a value has an error. Raises
        `BudgetExceeded` and `Unknown`."""
        residual, term = self.residual, terms.term
        seen = {name: term(row[place]) for name, place in self.seen if row[place] != UNBOUND}
        if residual.free:
            assert isinstance(residual.expression, Call)
            produced = calculation.produce(residual.expression, residual.free, seen)
            return [self._bind(row, more, terms) for more in produced]
        if residual.variable is None:
            return (row,) if calculation.holds(residual.expression, seen) else ()
        value = calculation.value(residual.expression, seen)
        if value is None or self.value < 0:
            return (row,)
        return (_with_cells(row, {self.value: terms.number(str(value))}),)

    def _bind(self, row: Row, more: dict[str, Term], terms: NumberedTerms) -> Row:
        cells = {place: terms.number(str(more[name])) for name, place in self.unbound if name in more}
        return _with_cells(row, cells) if cells else row


def _with_cells(row: Row, cells: dict[int, int]) -> Row:
    made = list(row)
    for place, number in cells.items():
        made[place] = number
    return tuple(made)


class Waiting(NamedTuple):
    """What needs an operator at a step, and what is calculated as soon as it has answered."""

    chain: Chain
    template: ConditionTemplate
    places: tuple[int, ...]
    """The columns of the template's variables."""


class Steps:
    """What is done with a row of a branch, one step after the other."""

    __slots__ = ("_operators", "_waiting", "columns", "filters", "repeats", "steps")

    def __init__(self, steps: Chain, columns: Columns, operators: OperatorSet) -> None:
        self.steps = steps
        self.columns = columns
        self.filters: Chain | None = tuple(dict.fromkeys(steps)) if all(each.filters for each in steps) else None
        """All of it, each once; None where something gives values."""
        texts = [each.template.text for each in self.filters or () if each.template is not None]
        self.repeats = len(set(texts)) < len(texts)
        """Whether a row may wait for one condition at two filters."""
        self._operators = operators
        self._waiting: dict[tuple[int, frozenset[str]], Waiting] = {}

    @property
    def residuals(self) -> tuple[Residual, ...]:
        return tuple(each.residual for each in self.steps)

    def waiting(self, place: int, unknown: frozenset[str] = frozenset()) -> Waiting:
        found = self._waiting.get((place, unknown))
        if found is None:
            chain = _chain(self.steps, place, unknown)
            template = template_of(tuple(each.residual for each in chain), self._operators)
            found = self._waiting[place, unknown] = Waiting(chain, template, places_of(template, self.columns))
        return found


class ComparedBranch(NamedTuple):
    """A branch that a check compares rows with."""

    agreement: Agreement
    own: Pick
    """What is compared, of a row of the part."""
    other: Pick
    """The same of a row of the branch."""
    steps: Steps
    """What the branch's rows have to fulfil."""
    beyond: Steps
    """Of that, what a row of the part that agrees does not fulfil anyway."""
    repeats: bool
    """The part's rows have to fulfil all of it too."""


class RowCheck(NamedTuple):
    """A row stays iff one of the choices agrees with it (`wanted`), or iff none does."""

    choices: tuple[ComparedBranch, ...]
    wanted: bool
    settled: bool
    """The join rows tell; no step has a say."""


class PlannedPart(NamedTuple):
    """The rows of a branch that pass its steps and all checks are rows of the answer."""

    branch: int
    steps: Steps
    shown: Pick
    """The answer's row of a row."""
    checks: tuple[RowCheck, ...]


class ResidualPlan:
    """What makes the answer of a query of its branches' join rows. Raises nothing; equal ones are one object."""

    def __init__(self, combination: Combination, residuals: Residuals, plans: ResidualPlans) -> None:
        self.combination = combination
        self._residuals = residuals or ((),) * len(combination.columns)
        self._plans = plans
        self.asks = any(each.free or asks_operators(each.expression) for branch in residuals for each in branch)
        """Whether operators are called."""
        self.calculates = any(residuals)
        self.parts = tuple(map(self._part, combination.parts))
        self.by_row = len(self.parts) == 1 and not (combination.distinct or combination.ask or self.parts[0].checks)
        """Each row of the one part is an answer, whatever the others are."""
        self.sifted = self.asks and self.by_row and self.parts[0].steps.filters is not None
        """And filters alone tell which rows stay."""

    def width(self, branch: int) -> int:
        return len(self.combination.columns[branch])

    def steps(self, branch: int, shown: Columns) -> Steps:
        """Those of a branch of whose rows only the `shown` variables are looked at."""
        return self._plans.steps(residuals_for(self._residuals[branch], shown), self.combination.columns[branch])

    def beyond(self, branch: int, own: int, names: Columns) -> Steps:
        """Those of a branch, of whose rows nothing is shown, without conditions that rows of the `own` branch that
        agree in `names` fulfil."""
        left = _beyond(self._residuals[branch], set(self._residuals[own]), set(names))
        return self._plans.steps(residuals_for(left, ()), self.combination.columns[branch])

    def _part(self, part: Part) -> PlannedPart:
        shown = self.combination.names
        columns = self.combination.columns[part.branch]
        checks = []
        for check in part.checks:
            choices = tuple(self._choice(part.branch, each) for each in check.choices)
            settled = not any(self._residuals[each.agreement.branch] for each in choices)
            checks.append(RowCheck(choices, check.wanted, settled))
        return PlannedPart(part.branch, self.steps(part.branch, shown), picker(columns, shown), tuple(checks))

    def _choice(self, own: int, agreement: Agreement) -> ComparedBranch:
        branch, names = agreement
        columns = self.combination.columns
        steps = self.steps(branch, ())
        return ComparedBranch(
            agreement,
            picker(columns[own], names),
            picker(columns[branch], names),
            steps,
            self.beyond(branch, own, names) if steps.steps else steps,
            set(self._residuals[own]).issuperset(self._residuals[branch]),
        )


class ResidualPlans:
    """The plans of queries, each made once, for one set of operators."""

    def __init__(self, operators: OperatorSet) -> None:
        self.operators = operators
        self._by_query: dict[QueryText, ResidualPlan | str] = {}
        self._plans: dict[tuple[Combination, Residuals], ResidualPlan] = {}
        self._steps: dict[tuple[Residual, Columns], Step] = {}
        self._rows: dict[tuple[tuple[Residual, ...], Columns], Steps] = {}

    def of(self, query: QueryText) -> ResidualPlan | str:
        """The plan of a query that the index decides, or why the query is not valid any more."""
        found = self._by_query.get(query)
        if found is None:
            if len(self._by_query) >= KEPT:
                self._by_query, self._plans, self._steps, self._rows = {}, {}, {}, {}
            found = self._by_query[query] = self._read(query)
        return found

    def plain(self, combination: Combination) -> ResidualPlan:
        """The plan of a query that calculates nothing."""
        return self._program(combination, ())

    def steps(self, residuals: tuple[Residual, ...], columns: Columns) -> Steps:
        found = self._rows.get((residuals, columns))
        if found is None:
            chain = tuple(self._step(each, columns) for each in residuals)
            found = self._rows[residuals, columns] = Steps(chain, columns, self.operators)
        return found

    def _step(self, residual: Residual, columns: Columns) -> Step:
        found = self._steps.get((residual, columns))
        if found is None:
            found = self._steps[residual, columns] = Step(residual, columns, self.operators)
        return found

    def _program(self, combination: Combination, residuals: Residuals) -> ResidualPlan:
        found = self._plans.get((combination, residuals))
        if found is None:
            found = self._plans[combination, residuals] = ResidualPlan(combination, residuals, self)
        return found

    def _read(self, query: QueryText) -> ResidualPlan | str:
        try:
            template, constants = parse_template(query.text, query.language, None, self.operators)
            plan = plan_of(template, constants, query.mode is not EntailmentMode.PLAIN)
        except (QueryRefused, QuerySyntaxError) as fault:
            return f"query: {fault}"
        if plan.combination is None:
            return "query: the index does not decide it any more"

        def filled(constant: object) -> object:
            return from_ntriples(constants[constant.index]) if isinstance(constant, Slot) else constant

        residuals = tuple(
            tuple(
                each._replace(
                    expression=replace_constants(each.expression, filled), free=replace_constants(each.free, filled)
                )
                for each in branch
            )
            for branch in plan.residuals
        )
        return self._program(plan.combination, residuals)


def picker(columns: Columns, names: Columns) -> Pick:
    """A row of `columns` to a row of `names`, `UNBOUND` where it has none."""
    if columns == names:
        return lambda row: row
    if len(names) > 1 and all(name in columns for name in names):
        return itemgetter(*(columns.index(name) for name in names))
    places = [columns.index(name) if name in columns else -1 for name in names]
    return lambda row: tuple([row[place] if place >= 0 else UNBOUND for place in places])


def residuals_for(residuals: tuple[Residual, ...], shown: Columns) -> tuple[Residual, ...]:
    """Drop values that nothing depends on, where of a row only the `shown` variables are looked at."""
    needed = set(shown)
    kept: list[Residual] = []
    for each in reversed(residuals):
        if each.variable is None or each.variable.name in needed:
            kept.append(each)
            needed.update(name.name for name in each.names)
    return tuple(reversed(kept))


def _beyond(residuals: tuple[Residual, ...], fulfilled: set[Residual], agreed: set[str]) -> tuple[Residual, ...]:
    """Drop conditions that are fulfilled where only `agreed` variables decide them, and that give nothing which what is
    left depends on."""
    needed: set[str] = set()
    left: list[Residual] = []
    for each in reversed(residuals):
        given = {variable.name for variable in each.gives()}
        seen = {name.name for name in each.names}
        seen.update(node.name for node in each.free if isinstance(node, Variable))
        if each not in fulfilled or not seen - given <= agreed or given & needed:
            left.append(each)
            needed |= seen
    return tuple(reversed(left))


def _chain(steps: Chain, place: int, unknown: frozenset[str]) -> Chain:
    """What needs an operator at a place, and what needs no other of the `unknown` values than those it gives. Nothing
    that sees a variable to which an operator behind it may give a value: it saw the row without."""
    chain = [steps[place]]
    given = {variable.name for variable in chain[0].residual.gives()}
    for at, step in enumerate(steps[place:] if given else (), place):
        names = {name.name for name in step.residual.names}
        behind = [each.residual for each in steps[at + 1 :]]
        later = {node.name for each in behind for node in each.free if isinstance(node, Variable)}
        later.difference_update(variable.name for each in behind for variable in each.new)
        if at == place:
            if names & later:
                break
        elif names & given and not (names & later or names & unknown - given or step.asks):
            chain.append(step)
            given.update(variable.name for variable in step.residual.gives())
    return tuple(chain)
