"""From a group to a query: grouping, aggregates and modifiers in the order of SPARQL 1.1 Query, section 18.2.4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from lark.lexer import Token

from triplecast.languages.context import Translation
from triplecast.languages.expressions import conjoin, forbid_aggregates
from triplecast.languages.groups import GroupPattern, make_group
from triplecast.languages.patterns import Triples
from triplecast.languages.refusals import MAX_DEPTH, refuse_depth
from triplecast.languages.rewriting import measure_depth
from triplecast.model import algebra
from triplecast.model.algebra import (
    Aggregate,
    Call,
    Expression,
    Extend,
    Operation,
    Pattern,
    Query,
    TriplePattern,
    Variable,
    variables_in,
)


class _Item(NamedTuple):
    """A column of SELECT: a variable alone, or an expression and the variable that it is bound to."""

    token: Token
    expression: Expression | None

    @property
    def variable(self) -> Variable:
        return Variable(str(self.token)[1:])


class _SelectClause(NamedTuple):
    token: Token
    mode: str | None
    items: tuple[_Item, ...] | None
    """None for ``SELECT *``."""


class _Modifiers(NamedTuple):
    keys: tuple[_GroupKey, ...] | None
    having: tuple[Expression, ...] | None
    order: tuple[tuple[Expression, bool], ...] | None
    offset: int
    limit: int | None


class _Solutions(NamedTuple):
    """A pattern after grouping, HAVING and VALUES, before projection."""

    pattern: Pattern
    visible: dict[Variable, None]
    grouping: _Grouping | None
    """None where nothing is grouped."""


# ---- clauses -----------------------------------------------------------------------------------------------


def _select_clause(translation: Translation, children: list[Any]) -> _SelectClause:
    token, mode, *rest = children
    items = None if isinstance(rest[0], Token) else tuple(rest)
    return _SelectClause(token, mode.type if mode is not None else None, items)


def _select_item(translation: Translation, children: list[Any]) -> _Item:
    if len(children) == 1:
        return _Item(children[0], None)
    return _Item(children[1], translation.node(children[0]))


def _group_key(translation: Translation, children: list[Any]) -> _GroupKey:
    expression = translation.node(children[0])
    forbid_aggregates(translation, expression, "in GROUP BY")
    return _GroupKey(expression, children[1] if len(children) > 1 else None)


def _several(translation: Translation, children: list[Any]) -> tuple[Any, ...]:
    return tuple([translation.node(child) for child in children])


_group_by = _having = _order_by = _slice = _several


def _order_key(translation: Translation, children: list[Any]) -> tuple[Expression, bool]:
    descending = len(children) == 2 and children[0].type == "DESC"
    return translation.node(children[-1]), descending


def _count(name: str) -> Callable[[Translation, list[Any]], tuple[str, int]]:
    def read(translation: Translation, children: list[Any]) -> tuple[str, int]:
        token = children[0]
        translation.keep(token)
        if len(token) > 18:
            raise translation.refusal(token, name.upper(), "the number has more than 18 digits", "use a smaller one")
        return name, int(token)

    return read


_limit, _offset = _count("limit"), _count("offset")


def _modifiers(translation: Translation, children: list[Any]) -> _Modifiers:
    keys, having, order, numbers = children
    found = dict(numbers or ())
    return _Modifiers(keys, having, order, found.get("offset", 0), found.get("limit"))


def _values_clause(translation: Translation, children: list[Any]) -> algebra.Values | None:
    found: algebra.Values | None = children[0]
    return found


# ---- grouping ----------------------------------------------------------------------------------------------


class _GroupKey(NamedTuple):
    """An expression of GROUP BY, with the name that AS gives it."""

    expression: Expression
    name: Token | None


def _bind_keys(
    translation: Translation, pattern: Pattern, visible: dict[Variable, None], keys: tuple[_GroupKey, ...]
) -> tuple[Pattern, tuple[Variable, ...]]:
    """Bind the expressions of GROUP BY; returns the extended pattern and the keys' variables."""
    names: list[Variable] = []
    for key in keys:
        if key.name is None and isinstance(key.expression, Variable):
            names.append(key.expression)
            continue
        variable = Variable(str(key.name)[1:]) if key.name is not None else translation.fresh("k")
        if key.name is not None and (variable in visible or variable in names):
            raise translation.fault(
                key.name, f"{key.name} has a value already, so GROUP BY cannot give it one", ("another variable",)
            )
        pattern = Extend(pattern, variable, key.expression)
        names.append(variable)
    return pattern, tuple(dict.fromkeys(names))


def _substitute(expression: Expression, seen: Callable[[Variable], Expression]) -> Expression:
    """Replace each variable. Recurses two frames a node; the expression is within `MAX_DEPTH`."""
    if isinstance(expression, Variable):
        return seen(expression)
    if isinstance(expression, Operation | Call):
        return replace(expression, arguments=tuple([_substitute(part, seen) for part in expression.arguments]))
    return expression


class _Grouping:
    """What the expressions of a grouped query see: keys, aggregates, and a SAMPLE of any other variable, made at its
    first use."""

    def __init__(
        self, translation: Translation, keys: tuple[Variable, ...], aggregates: dict[Variable, Aggregate]
    ) -> None:
        self.keys = keys
        self.aggregates = aggregates
        self._translation = translation
        self._samples: dict[Variable, Variable] = {}

    def sampled(self, expression: Expression, bound: frozenset[Variable]) -> Expression:
        """`bound` are variables that SELECT gives a value for the group."""
        return _substitute(expression, lambda variable: self._seen(variable, bound))

    def _seen(self, variable: Variable, bound: frozenset[Variable]) -> Variable:
        if variable in self.keys or variable in bound or variable in self.aggregates:
            return variable
        if variable not in self._samples:
            sample = self._samples[variable] = self._translation.fresh("g")
            self.aggregates[sample] = Aggregate("SAMPLE", variable, distinct=False)
        return self._samples[variable]


def _solve(
    translation: Translation,
    where: GroupPattern,
    items: tuple[_Item, ...],
    modifiers: _Modifiers,
    values: algebra.Values | None,
) -> _Solutions:
    translation.updates = where.updates
    having, order = modifiers.having or (), [expression for expression, _ in modifiers.order or ()]
    written = [item.expression for item in items if item.expression is not None]
    named = (variable for expression in (*written, *having, *order) for variable in variables_in(expression))
    aggregates = {name: translation.aggregates[name][0] for name in named if name in translation.aggregates}
    pattern, visible = where.filtered, where.visible
    grouping: _Grouping | None = None
    if modifiers.keys is not None or aggregates:
        pattern, keys = _bind_keys(translation, pattern, visible, modifiers.keys or ())
        visible = dict.fromkeys(keys)
        grouping = _Grouping(translation, keys, aggregates)
    for expression in (*having, *order):
        if measure_depth(expression) > MAX_DEPTH:
            raise refuse_depth("an expression", translation.source.name)
    _refuse_late(translation, having, items, where.visible)
    conditions = list(having)
    if grouping is not None:
        conditions = [grouping.sampled(condition, frozenset()) for condition in having]
        for expression in order:
            grouping.sampled(expression, _names_of(items))  # `_order` does it again, once the group is made
        pattern = algebra.Group(pattern, grouping.keys, tuple(grouping.aggregates.items()))
    if conditions:
        pattern = algebra.Filter(conjoin(conditions), pattern)
    if values is not None:
        pattern = algebra.Join(pattern, values)
        visible = visible | dict.fromkeys(values.variables)
    return _Solutions(pattern, visible, grouping)


def _names_of(items: tuple[_Item, ...]) -> frozenset[Variable]:
    """The variables that SELECT gives a value."""
    return frozenset(item.variable for item in items if item.expression is not None)


def _refuse_late(
    translation: Translation, having: tuple[Expression, ...], items: tuple[_Item, ...], visible: dict[Variable, None]
) -> None:
    """HAVING comes before SELECT (section 18.2.4), so it never sees what SELECT binds: nothing would match."""
    late = {item.variable: item.token for item in items if item.expression is not None}
    for variable in [variable for condition in having for variable in variables_in(condition)]:
        if variable in late and variable not in visible:
            name = str(late[variable])
            reason = "HAVING is decided before SELECT binds it, so it has no value there and nothing could match"
            raise translation.refusal(late[variable], f"{name} in HAVING", reason, "repeat its expression in HAVING")


# ---- forms -------------------------------------------------------------------------------------------------


def _project(
    translation: Translation, items: tuple[_Item, ...], solved: _Solutions
) -> tuple[Pattern, tuple[Variable, ...]]:
    """Binds the expressions of SELECT, checking what each may use and name (grammar notes 12 and 13)."""
    pattern, bound = solved.pattern, dict(solved.visible)
    for token, expression in items:
        variable = Variable(str(token)[1:])
        if expression is None:
            if solved.grouping is not None and variable not in bound:
                _refuse_ungrouped(translation, token, variable)
            continue
        if variable in bound:
            raise translation.fault(token, f"{token} has a value already: AS cannot give it one", ("another variable",))
        for used in variables_in(expression):
            if solved.grouping is not None and used not in bound and used not in translation.aggregates:
                _refuse_ungrouped(translation, token, used)
        pattern = algebra.Extend(pattern, variable, expression)
        bound[variable] = None
    return pattern, tuple(dict.fromkeys(item.variable for item in items))


def _refuse_ungrouped(translation: Translation, token: Token, variable: Variable) -> None:
    message = f"?{variable.name} is neither a key of GROUP BY nor inside an aggregate, so it has no value for a group"
    raise translation.fault(token, message, (f"?{variable.name} in GROUP BY", f"SAMPLE(?{variable.name})"))


def _order(solved: _Solutions, names: frozenset[Variable], modifiers: _Modifiers, pattern: Pattern) -> Pattern:
    if modifiers.order is None:
        return pattern
    conditions = modifiers.order
    if solved.grouping is not None:
        sampled = solved.grouping.sampled
        conditions = tuple([(sampled(expression, names), descending) for expression, descending in conditions])
    return algebra.OrderBy(pattern, conditions)


def _sliced(modifiers: _Modifiers, pattern: Pattern) -> Pattern:
    if modifiers.limit is None and modifiers.offset == 0:
        return pattern
    return algebra.Slice(pattern, modifiers.offset, modifiers.limit)


def _select(translation: Translation, children: list[Any]) -> Query:
    clause, where, modifiers, values = children
    items: tuple[_Item, ...] = clause.items or ()
    solved = _solve(translation, where, items, modifiers, values)
    if clause.items is None:
        if solved.grouping is not None:
            raise translation.fault(
                clause.token, "SELECT * is not allowed with GROUP BY or aggregates", ("the variables by name",)
            )
        pattern, variables = solved.pattern, tuple([variable for variable in solved.visible if not variable.hidden])
    else:
        pattern, variables = _project(translation, items, solved)
    pattern = algebra.Project(_order(solved, _names_of(items), modifiers, pattern), variables)
    if clause.mode is not None:
        pattern = algebra.Distinct(pattern) if clause.mode == "DISTINCT" else algebra.Reduced(pattern)
    return Query("select", _sliced(modifiers, pattern), variables)


def _group_of_select(translation: Translation, children: list[Any]) -> GroupPattern:
    selection: Query = children[0]
    return GroupPattern(selection.pattern, dict.fromkeys(selection.variables))


def _ask(translation: Translation, children: list[Any]) -> Query:
    where, modifiers, values = children
    solved = _solve(translation, where, (), modifiers, values)
    return Query("ask", _sliced(modifiers, _order(solved, frozenset(), modifiers, solved.pattern)), ())


def _template(translation: Translation, children: list[Any]) -> Triples:
    found: Triples = children[0] if children else Triples([], {}, [], [])
    return found


def _construct(translation: Translation, children: list[Any]) -> Query:
    template, where, modifiers, values = children
    for production in template.productions:
        raise translation.refusal(
            production.token,
            f"{production.token} in the template of a CONSTRUCT",
            "it is an operator, and a template makes plain triples",
            "use a predicate of your own for its result",
        )
    return _built(translation, template, where, modifiers, values)


def _construct_where(translation: Translation, children: list[Any]) -> Query:
    template, modifiers, values = children
    where = make_group(translation, [template])
    return _built(translation, template, where, modifiers, values)


def _built(
    translation: Translation,
    template: Triples,
    where: GroupPattern,
    modifiers: _Modifiers,
    values: algebra.Values | None,
) -> Query:
    solved = _solve(translation, where, (), modifiers, values)
    pattern = _sliced(modifiers, _order(solved, frozenset(), modifiers, solved.pattern))
    variables = tuple([variable for variable in solved.visible if not variable.hidden])
    renamed: dict[Variable, Variable] = {}

    def own(node: Any) -> Any:
        """Rename blank nodes: a template makes new ones for each solution, whatever WHERE labels alike."""
        if not (isinstance(node, Variable) and node.hidden):
            return node
        if node not in renamed:
            renamed[node] = translation.fresh("c")
        return renamed[node]

    triples = []
    if template.conditions:
        sign = translation.first_of("_CONSTRUCT")
        raise translation.fault(sign, "a CONSTRUCT template cannot contain a full-text search", ("plain triples",))
    for edge in template.edges:
        if not isinstance(edge, TriplePattern):
            sign = translation.first_of("SLASH", "_VBAR", "CIRCUMFLEX", "QMARK", "STAR", "PLUS", "BANG")
            raise translation.fault(sign, "a CONSTRUCT template cannot contain a property path", ("plain triples",))
        triples.append(TriplePattern(own(edge.subject), edge.predicate, own(edge.object)))
    return Query("construct", pattern, variables, tuple(triples))
