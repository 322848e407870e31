"""Rules to the algebra: the distinct values of the registered variable in a union of joined and filtered patterns.

A searched variable has a type; a step of a path is a triple. Equal beginnings of paths are one variable within a rule,
but each step with ``?`` is one of its own (semantics 7.2). ``=`` between resources makes one variable of two. A value
is read in the datatype that its property was declared to have: where that is a number, as RDQL reads numbers
(`terms.casts`); where it is a tagged string, its text; where it is another, a plain string is read as one of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from lark.lexer import Token
from pyoxigraph import Literal, NamedNode

from triplecast.languages.context import BOOLEAN, TYPE
from triplecast.languages.dialect import Cut, Dialect, Parsed
from triplecast.languages.expressions import conjoin
from triplecast.languages.groups import balance
from triplecast.languages.prefixes import Namespace, read_prologue
from triplecast.languages.refusals import MAX_DEPTH, refuse_depth
from triplecast.languages.rewriting import measure_depth
from triplecast.languages.rule_given import LINE, Given, given_of
from triplecast.languages.rule_syntax import (
    MAX_ALTERNATIVES,
    TOKEN,
    Path,
    PathStep,
    Rule,
    RuleComparison,
    Searched,
    read_rule,
    refuse_alternatives,
    term_of,
    terminal,
    tokenise,
)
from triplecast.languages.tokens import PROLOGUE, Source, number_of
from triplecast.languages.vocabularies import RDF
from triplecast.model import algebra
from triplecast.model.algebra import (
    Call,
    Expression,
    Operation,
    Pattern,
    Query,
    Slot,
    TriplePattern,
    Variable,
    from_ntriples,
)
from triplecast.model.operators import OperatorSet
from triplecast.terms.values import INTEGER_BOUNDS, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_STRING

NUMBERS = frozenset((*INTEGER_BOUNDS, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE))
TAGGED = RDF + "langString"


class Scope(NamedTuple):
    """A rule, one of its alternatives, and what its searched variables are called in the query."""

    rule: Rule
    given: Given
    comparisons: tuple[RuleComparison, ...]
    variables: dict[str, Variable]
    is_outer: bool
    """Whether the query's text is this rule's, so that its constants are in it."""


def searched_rule(rule: Rule, given: Given, searched: Searched) -> str | None:
    """The id of the rule that a variable's values are of; None for a class."""
    kind = searched.token
    id = from_ntriples(term_of(rule, kind)).value if kind.type == "STRING" else str(kind)
    return id if kind.type == "STRING" or (kind.type == "NAME" and id in given.rules) else None


@lru_cache(maxsize=1_000)
def given_rule(text: str) -> Rule:
    """A rule that another one searches, parsed."""
    return read_rule(text)


def unfold(rule: Rule, given: Given, name: str | None = None) -> tuple[Variable, list[tuple[Scope, ...]]]:
    """The registered variable, and the alternatives of a rule, each with one alternative of every rule that it
    searches. Raises `QueryRefused` for too many."""
    numbers = iter(range(1, 1 << 62))
    registered = Variable(rule.registered)
    found = [*_unfold(rule, given, {rule.registered: registered}, True, numbers, name)]
    return registered, found


def _unfold(
    rule: Rule, given: Given, named: dict[str, Variable], is_outer: bool, numbers: Iterator[int], name: str | None
) -> list[tuple[Scope, ...]]:
    variables = {each.variable: named.get(each.variable) or Variable(f"_:s{next(numbers)}") for each in rule.searched}
    inner: list[list[tuple[Scope, ...]]] = []
    for each in rule.searched:
        id = searched_rule(rule, given, each)
        if id is not None:
            definition = given.rules[id]
            other = given_rule(definition.text)
            inner.append(
                _unfold(other, definition.given, {other.registered: variables[each.variable]}, False, numbers, name)
            )
    own = [(Scope(rule, given, alternative, variables, is_outer),) for alternative in rule.alternatives]
    count = len(own)
    for alternatives in inner:
        count *= len(alternatives)
        if count > MAX_ALTERNATIVES:
            raise refuse_alternatives(name)
    return [tuple(scope for scopes in choice for scope in scopes) for choice in product(own, *inner)]


class _Value(NamedTuple):
    """One side of a comparison."""

    variable: Variable | None
    constant: Token | None
    scope: Scope
    range: str | None = None
    """The datatype that the variable's value is read in."""
    is_resource: bool = False


class _Alternative:
    """One alternative as joined patterns and conditions, in the making."""

    def __init__(self, registered: Variable, scopes: tuple[Scope, ...]) -> None:
        self._registered = registered
        self._made = 0
        self._same: dict[Variable, Variable] = {}
        self._steps: dict[tuple[int, Variable, str], Variable] = {}
        self._triples: list[TriplePattern] = []
        self._conditions: list[Expression] = []
        self.pinned: set[int] = set()
        for scope in scopes:
            self._add_types(scope)
        compared = [
            (each.operator, self._value(scope, each.left), self._value(scope, each.right))
            for scope in scopes
            for each in scope.comparisons
        ]
        left = [each for each in compared if not self._unify(*each)]
        self._conditions += [self._condition(*each) for each in left]

    def pattern(self) -> Pattern:
        triples = (
            TriplePattern(self._root(each.subject), each.predicate, self._root(each.object)) for each in self._triples
        )
        basic = algebra.BasicPattern(tuple(dict.fromkeys(triples)))
        return algebra.Filter(conjoin(self._conditions), basic) if self._conditions else basic

    def _add_types(self, scope: Scope) -> None:
        for each in scope.rule.searched:
            if searched_rule(scope.rule, scope.given, each) is None:
                kind = term_of(scope.rule, each.token)
                classes = [NamedNode(iri[1:-1]) for iri in scope.given.classes.get(kind, [kind])]
                some = classes[0] if len(classes) == 1 else self._fresh()
                self._triples.append(TriplePattern(scope.variables[each.variable], TYPE, some))
                if isinstance(some, Variable):
                    self._conditions.append(Operation("in", (some, *classes)))

    def _value(self, scope: Scope, side: Path | Token) -> _Value:
        if isinstance(side, Token):
            return _Value(None, side, scope)
        variable = scope.variables[side.variable]
        for step in side.steps:
            variable = self._step(scope, variable, step)
        if not side.steps:
            return _Value(variable, None, scope, is_resource=True)
        last = side.steps[-1].property
        return _Value(variable, None, scope, scope.given.ranges.get(last), last in scope.given.references)

    def _step(self, scope: Scope, start: Variable, step: PathStep) -> Variable:
        key = (id(scope), start, step.property)
        found = None if step.any else self._steps.get(key)
        if found is None:
            found = self._fresh()
            self._triples.append(TriplePattern(start, NamedNode(step.property[1:-1]), found))
            if not step.any:
                self._steps[key] = found
        return found

    def _unify(self, operator: str, left: _Value, right: _Value) -> bool:
        """Make one variable of two where a comparison says that they are the same resource."""
        if operator != "=" or left.variable is None or right.variable is None:
            return False
        if not (left.is_resource or right.is_resource):
            return False
        one, two = self._root(left.variable), self._root(right.variable)
        if one != two:
            kept = one if one == self._registered else two
            self._same[two if kept is one else one] = kept
        return True

    def _condition(self, operator: str, left: _Value, right: _Value) -> Expression:
        sides = self._expression(left, right.range), self._expression(right, left.range)
        return Call("CONTAINS", sides) if operator == "contains" else Operation(operator, sides)

    def _expression(self, value: _Value, wanted: str | None) -> Expression:
        if value.variable is not None:
            return read_in_range(self._root(value.variable), value.range)
        assert value.constant is not None
        token, scope = value.constant, value.scope
        if token.type == "BOOLEAN":
            return Literal(token.lower(), datatype=BOOLEAN)
        term = from_ntriples(term_of(scope.rule, token))
        if token.type == "STRING" and wanted is not None and wanted not in NUMBERS and wanted != TAGGED:
            if scope.is_outer:
                self.pinned.add(number_of(token))
            return Literal(term.value, datatype=NamedNode(wanted))
        assert isinstance(term, NamedNode | Literal)
        return Slot(number_of(token)) if scope.is_outer else term

    def _root(self, node: Any) -> Any:
        while node in self._same:
            node = self._same[node]
        return node

    def _fresh(self) -> Variable:
        self._made += 1
        return Variable(f"_:r{self._made}")


def read_in_range(variable: Variable, datatype: str | None) -> Expression:
    """A value as it is compared where its property was declared to have a datatype."""
    if datatype is None:
        return variable
    if datatype in NUMBERS:
        return Call("NUMBER", (variable,))
    kind = Call("DATATYPE", (variable,))
    if datatype == TAGGED:
        is_other, read = Operation("=", (kind, NamedNode(TAGGED))), Call("STR", (variable,))
    else:
        is_other = Operation("=", (kind, NamedNode(XSD_STRING)))
        read = Call("STRDT", (variable, NamedNode(datatype)))
    return Call("COALESCE", (Call("IF", (is_other, read, variable)), variable))


def parse(text: str, name: str | None, operators: OperatorSet) -> Parsed:
    """Raises `QuerySyntaxError` and `QueryRefused`, with the place in the text as written."""
    rule, given = read_rule(text, name), given_of(text)
    registered, found = unfold(rule, given, name)
    pinned = {number_of(token) for token in _names(rule)}
    patterns: list[Pattern] = []
    for scopes in found:
        alternative = _Alternative(registered, scopes)
        pinned |= alternative.pinned
        patterns.append(alternative.pattern())
    body = balance(algebra.Union, [*dict.fromkeys(patterns)])
    query = Query("select", algebra.Distinct(algebra.Project(body, (registered,))), (registered,))
    if measure_depth(query) > MAX_DEPTH:
        raise refuse_depth("a rule", name)
    return Parsed(query, rule.source, rule.tokens, rule.namespace, frozenset(pinned), frozenset())


def _names(rule: Rule) -> Iterator[Token]:
    """The tokens of constants that name a class, a rule or a property: the template depends on them."""
    for searched in rule.searched:
        if searched.token.type in ("IRI", "STRING"):
            yield searched.token
    for alternative in rule.alternatives:
        for each in alternative:
            for side in (each.left, each.right):
                if isinstance(side, Path):
                    yield from (step.token for step in side.steps if step.token.type == "IRI")


# ---- templates ---------------------------------------------------------------------------------------------

_SPACES = re.compile(r"\s")


def _cut(text: str) -> Cut:
    end = PROLOGUE.match(text).end()  # type: ignore[union-attr]
    return Cut(text[:end], TOKEN.findall(text, end))


def _namespace(prologue: str) -> Namespace:
    source = Source(prologue, prologue, None)
    return read_prologue(source, tokenise(source))[0]


def _piece(token: str, namespace: Namespace) -> str | None:
    """A bare name with what it is resolved by, and what the rule is bound to."""
    if token.startswith(LINE.strip()):
        return _SPACES.sub(lambda found: f"\\{ord(found[0])};", token)
    if terminal(token) == "NAME":
        return f"{token}\x01{namespace.prefixes.get('', '')}"
    return None


RULE = Dialect(parse, _cut, lambda prologue: len(TOKEN.findall(prologue)), _namespace, terminal, _piece, False)
