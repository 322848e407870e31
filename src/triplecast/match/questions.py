"""What a subscription calculates of its rows, made ready once for all publications.

*Filters* drop rows and give nothing: where there is nothing else, what one says of a row does not depend on the others,
so it is found once for all subscriptions that have it. Everything else goes residual by residual.
"""

from __future__ import annotations

from collections.abc import Sequence

from triplecast.compile.combination import Combination
from triplecast.compile.residual import Residual
from triplecast.evaluate.unknown import asks_operators
from triplecast.match.calculate import Residuals
from triplecast.match.conditions import Chain, Template, template_of
from triplecast.model.algebra import Call, Term, Variable
from triplecast.model.operators import OperatorSet


class Filter:
    """A residual that gives no value. One object stands for all that are equal in a segment."""

    __slots__ = ("arguments", "chain", "names", "operator", "template")

    def __init__(self, residual: Residual, operators: OperatorSet) -> None:
        self.chain = (residual,)
        self.names = tuple(name.name for name in residual.names)
        asks = asks_operators(residual.expression)
        self.template: Template | None = template_of(self.chain, operators) if asks else None
        """None: it asks nobody."""
        expression = residual.expression
        seen = set(self.names)
        self.operator = expression.function if isinstance(expression, Call) and expression.free == 0 else ""
        """Where the condition is an operator's call and nothing else, whose."""
        self.arguments: tuple[tuple[str, str], ...] = ()
        """Of such a call: a variable's name, or no name and a constant in N-Triples form."""
        if self.operator and isinstance(expression, Call):
            if all(isinstance(each, Variable | Term) for each in expression.arguments):
                self.arguments = tuple(
                    (each.name if each.name in seen else "?", "") if isinstance(each, Variable) else ("", str(each))
                    for each in expression.arguments
                )
            else:
                self.operator = ""


class Steps:
    """What is done with a row, one after the other."""

    __slots__ = ("_chains", "_operators", "filters", "repeats", "residual")

    def __init__(self, residual: Chain, filters: tuple[Filter, ...] | None, operators: OperatorSet) -> None:
        self.residual = residual
        self._operators = operators
        self.filters = filters
        """All of it, each once; None where something gives values."""
        asked = [each.template.text for each in filters or () if each.template is not None]
        self.repeats = len(set(asked)) < len(asked)
        """Whether a row may wait for one condition at two filters."""
        self._chains: dict[tuple[int, frozenset[str]], tuple[Chain, Template]] = {}

    def chain(self, place: int, unknown: frozenset[str]) -> tuple[Chain, Template]:
        """What waits at a place, and what is calculated as soon as it is known."""
        found = self._chains.get((place, unknown))
        if found is None:
            chain = _chain(self.residual, place, unknown)
            found = self._chains[place, unknown] = (chain, template_of(chain, self._operators))
        return found


class Questions:
    """The residuals of a subscription's branches, as `Steps` of those values that something depends on."""

    __slots__ = ("_beyond", "_by_row", "_known", "_operators", "_read_for", "_steps", "asks", "residuals")

    def __init__(self, residuals: Residuals, known: dict[Residual, Filter], operators: OperatorSet) -> None:
        """`known`: filters that were met before, added to."""
        self.residuals = residuals
        self.asks = any(each.free or asks_operators(each.expression) for branch in residuals for each in branch)
        """Whether operators are called."""
        self._known = known
        self._operators = operators
        self._steps: dict[tuple[int, tuple[str, ...]], Steps] = {}
        self._read_for: Combination | None = None
        self._by_row: Steps | None = None
        self._beyond: dict[tuple[int, int, tuple[str, ...]], Steps | None] = {}

    def by_row(self, combination: Combination) -> Steps | None:
        """What is done with a row where that tells of each row whether it is shown: there are filters only, and the
        rows of one branch, each of which is an answer."""
        if self._read_for is not combination:
            self._read_for, self._by_row = combination, None
            if len(combination.parts) == 1 and not (combination.distinct or combination.ask):
                (part,) = combination.parts
                steps = self.steps(part.branch, combination.names)
                self._by_row = steps if not part.checks and steps.filters is not None else None
        return self._by_row

    def steps(self, branch: int, shown: tuple[str, ...]) -> Steps:
        """Of a branch of whose rows only the `shown` variables are looked at."""
        found = self._steps.get((branch, shown))
        if found is None:
            found = self._steps[branch, shown] = self._make(residuals_for(self.residuals[branch], shown))
        return found

    def beyond(self, branch: int, own: int, names: tuple[str, ...]) -> Steps | None:
        """Those of a branch, of whose rows nothing is shown, without conditions that rows of the `own` branch that
        agree in `names` fulfil; None where these are all of them."""
        key = branch, own, names
        if key not in self._beyond:
            left = _beyond(self.residuals[branch], set(self.residuals[own]), set(names))
            same = len(left) == len(self.residuals[branch])
            self._beyond[key] = None if same else self._make(residuals_for(left, ()))
        return self._beyond[key]

    def _make(self, residual: Chain) -> Steps:
        gives = any(each.gives() or each.free for each in residual)
        filters = None if gives else tuple(dict.fromkeys(map(self._filter, residual)))
        return Steps(residual, filters, self._operators)

    def _filter(self, residual: Residual) -> Filter:
        found = self._known.get(residual)
        if found is None:
            found = self._known[residual] = Filter(residual, self._operators)
        return found


def residuals_for(residual: Chain, shown: tuple[str, ...]) -> Chain:
    """Without values that nothing depends on, where of a row only the `shown` variables are looked at."""
    needed = set(shown)
    kept: list[Residual] = []
    for each in reversed(residual):
        if each.variable is None or each.variable.name in needed:
            kept.append(each)
            needed.update(name.name for name in each.names)
    return tuple(reversed(kept))


def _beyond(residual: Chain, fulfilled: set[Residual], agreed: set[str]) -> Chain:
    """Without conditions that are fulfilled where only `agreed` variables decide them, and that give nothing which what
    is left depends on."""
    needed: set[str] = set()
    left: list[Residual] = []
    for each in reversed(residual):
        given = {variable.name for variable in each.gives()}
        seen = {name.name for name in each.names}
        seen.update(node.name for node in each.free if isinstance(node, Variable))
        if each not in fulfilled or not seen - given <= agreed or given & needed:
            left.append(each)
            needed |= seen
    return tuple(reversed(left))


def _chain(residual: Sequence[Residual], place: int, unknown: frozenset[str]) -> Chain:
    """What waits at a place, and what needs no other of the `unknown` values than those it gives. Nothing that sees a
    variable to which an operator behind it may give a value: it saw the row without."""
    chain = [residual[place]]
    given = {variable.name for variable in chain[0].gives()}
    for at, each in enumerate(residual[place:] if given else (), place):
        names = {name.name for name in each.names}
        later = {node.name for behind in residual[at + 1 :] for node in behind.free if isinstance(node, Variable)}
        later.difference_update(variable.name for behind in residual[at + 1 :] for variable in behind.new)
        if at == place:
            if names & later:
                break
        elif names & given and not (names & later or names & unknown - given or _asks(each)):
            chain.append(each)
            given.update(variable.name for variable in each.gives())
    return tuple(chain)


def _asks(residual: Residual) -> bool:
    return bool(residual.free) or asks_operators(residual.expression)
