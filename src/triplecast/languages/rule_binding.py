"""Binds a rule, when it is registered, to the schema and to the rules that it searches (semantics 7.2).

What they say of it is written after its text (`rule_given`): a later schema, and another rule under the name of one
that it searches, change nothing in it. Types are checked against the schema; without one only what can never hold is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lark.lexer import Token

from triplecast.errors import QuerySyntaxError
from triplecast.languages.refusals import MAX_CHARACTERS, refuse_size
from triplecast.languages.rule_algebra import NUMBERS, TAGGED, given_rule, searched_rule, unfold
from triplecast.languages.rule_given import Given, GivenRule, as_written, given_of, rules_within, with_given
from triplecast.languages.rule_syntax import (
    TOKEN,
    Path,
    PathStep,
    Rule,
    RuleComparison,
    Searched,
    read_rule,
    term_of,
    terminal,
)
from triplecast.languages.vocabularies import RDF
from triplecast.model.algebra import from_ntriples
from triplecast.model.subscription import Subscription
from triplecast.schema import RdfSchema
from triplecast.terms.nearness import nearest_names
from triplecast.terms.values import ILL_VALUE, XSD, XSD_BOOLEAN, XSD_STRING, has_values, literal_value

Cycle = tuple[str, ...]
"""Ids of rules, of which each searches the next and the last the first."""
FindRule = Callable[[str], "Subscription | Cycle | Exception | None"]
"""By id: a rule, bound, or a subscription in another language; rules that search each other; why it is refused."""
DEEPEST = 20
"""Most rules on a way from one to those that it searches."""

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_RESOURCE = "a resource"
_TEXTS = (XSD_STRING, TAGGED)


class _ValueKind(NamedTuple):
    """What is known of a value: ``a resource``, a datatype, or nothing."""

    of: str | None
    is_written: bool = False
    """Whether it is a constant."""


_UNKNOWN = _ValueKind(None)
_CONSTANT_STARTS = frozenset("\"'+-0123456789")


def bind_rule(text: str, name: str | None, schema: RdfSchema, find_rule: FindRule) -> str:
    """The text with what it is bound to. Raises `QuerySyntaxError`, with the place, and `QueryRefused`."""
    text = as_written(text)
    rule = read_rule(text, name)
    binding = _Binding(rule, name, schema, find_rule)
    bound = with_given(text, binding.given())
    if len(bound) > MAX_CHARACTERS:
        raise refuse_size(f"a rule bound in {len(bound)} characters", f"the limit is {MAX_CHARACTERS}", name)
    unfold(rule, given_of(bound), name)
    return bound


def outline_of(text: str) -> tuple[str, ...]:
    """A rule's tokens, with what is only the kind of strings and numbers."""
    written = TOKEN.findall(as_written(text))
    return tuple([token if token[0] not in _CONSTANT_STARTS else f"{terminal(token)} " for token in written])


def is_bound_by_outline(bound: str) -> bool:
    """Whether every text of the same outline is bound in the same way: it searches no rule, and no constant has to be
    of a datatype whose literals may be ill-typed."""
    given = given_of(bound)
    return not given.rules and all(each in NUMBERS or each == TAGGED for each in given.ranges.values())


class _Binding:
    """One rule's binding, in the making."""

    def __init__(self, rule: Rule, name: str | None, schema: RdfSchema, find_rule: FindRule) -> None:
        self._rule = rule
        self._name = name
        self._schema = schema
        self._find = find_rule
        self._rules: dict[str, GivenRule] = {}
        self._classes: dict[str, frozenset[str]] = {}
        """Those that the values of each variable are of."""
        for each in rule.searched:
            self._classes[each.variable] = self._searched(each)
        self._properties: dict[str, None] = {}
        for comparison in dict.fromkeys(each for alternative in rule.alternatives for each in alternative):
            self._check(comparison)

    def given(self) -> Given:
        own = Given(rules=self._rules)
        named = [
            term_of(self._rule, each.token)
            for each in self._rule.searched
            if searched_rule(self._rule, own, each) is None
        ]
        below = {kind: sorted(self._schema.below(kind)) for kind in named}
        ranges = {each: self._range(each) for each in self._properties}
        return Given(
            {kind: classes for kind, classes in below.items() if len(classes) > 1},
            {each: kind.of for each, kind in ranges.items() if kind.of not in (None, _RESOURCE, XSD_STRING)},
            tuple(each for each, kind in ranges.items() if kind.of == _RESOURCE),
            self._rules,
        )

    # ---- what is searched -------------------------------------------------------------------------------------------

    def _searched(self, searched: Searched) -> frozenset[str]:
        rule, token = self._rule, searched.token
        id = from_ntriples(term_of(rule, token)).value if token.type == "STRING" else str(token)
        found = None if token.type == "IRI" else self._find(id)
        if isinstance(found, tuple):
            raise self._cycle(token, found)
        if isinstance(found, Exception):
            raise rule.source.fault(token, f"the rule {id} is refused itself")
        if found is not None and found.language == "rule":
            return self._searched_rule(id, found, token)
        if token.type == "STRING":
            raise rule.source.fault(
                token,
                f"there is no rule {id!r}"
                if found is None
                else f"{id!r} is written in {found.language}; it is no rule",
                ("the id of a live rule, or a class",),
            )
        if token.type == "NAME" and "" not in rule.namespace.prefixes:
            reason = f"there is no rule {id}, and no `prefix :` makes it a class"
            raise rule.source.fault(token, reason, ("the id of a live rule, or a class with its prefix",))
        kind = term_of(rule, token)
        if self._schema.classes and kind not in self._schema.classes:
            raise self._unknown(token, "class", kind, self._schema.classes)
        return frozenset((kind,))

    def _searched_rule(self, id: str, found: Subscription, token: Token) -> frozenset[str]:
        rule = self._rule
        is_class = token.type == "NAME" and "" in rule.namespace.prefixes
        if is_class and term_of(rule, token) in self._schema.classes:
            reason = f'{id} is a rule and a class; write "{id}" for the rule, {term_of(rule, token)} for the class'
            raise rule.source.fault(token, reason)
        definition = GivenRule(as_written(found.text), given_of(found.text))
        for way in ((id,), *rules_within(definition.given, (id,))):
            if self._name is not None and way[-1] == self._name:
                raise self._cycle(token, (self._name, *way[:-1]))
            if len(way) > DEEPEST:
                raise rule.source.fault(token, f"rules search rules more than {DEEPEST} deep; write one of them out")
        self._rules[id] = definition
        return _registered_classes(definition)

    def _cycle(self, token: Token, cycle: Cycle) -> QuerySyntaxError:
        shown = ", which searches ".join((*cycle[1:], cycle[0]))
        return self._rule.source.fault(token, f"rules search each other: {cycle[0]} searches {shown}; write one out")

    # ---- types ------------------------------------------------------------------------------------------------------

    def _check(self, comparison: RuleComparison) -> None:
        left, right = self._side(comparison.left), self._side(comparison.right)
        reason = self._objection(comparison, left, right)
        if reason is not None:
            raise self._rule.source.fault(comparison.token, reason)

    def _side(self, side: Path | Token) -> _ValueKind:
        if isinstance(side, Token):
            return self._constant(side)
        classes: frozenset[str] = self._classes[side.variable]
        kind = _ValueKind(_RESOURCE)
        for place, step in enumerate(side.steps):
            if kind.of not in (None, _RESOURCE):
                before = side.steps[place - 1].token
                reason = f"{before} holds {_shown(kind.of)}, which has no properties"
                raise self._rule.source.fault(step.token, reason)
            self._check_step(step, classes)
            self._properties[step.property] = None
            kind = self._range(step.property)
            classes = self._schema.ranges.get(step.property, frozenset()) & self._schema.classes
        return kind

    def _check_step(self, step: PathStep, classes: frozenset[str]) -> None:
        schema, property = self._schema, step.property
        if property in schema.set_valued and not step.any:
            raise self._rule.source.fault(
                step.token, f"{step.token} may have several values; write {step.token}? for any of them"
            )
        if not schema.properties or property[1:].startswith((RDF, _RDFS)):
            return
        if property not in schema.properties:
            raise self._unknown(step.token, "property", property, schema.properties)
        domains = schema.domains.get(property)
        if domains and classes and not any(schema.above(each) & domains for each in classes):
            reason = f"{' or '.join(sorted(classes))} has no property {step.token}"
            raise self._rule.source.fault(step.token, f"{reason}; it is one of {' and '.join(sorted(domains))}")

    def _range(self, property: str) -> _ValueKind:
        """Nothing where several ranges are declared that differ in kind."""
        ranges = self._schema.ranges.get(property, frozenset())
        kinds = {each[1:-1] if self._is_datatype(each) else _RESOURCE for each in ranges}
        kinds.discard(_RDFS + "Literal")
        return _ValueKind(kinds.pop()) if len(kinds) == 1 else _UNKNOWN

    def _is_datatype(self, range: str) -> bool:
        iri = range[1:-1]
        if range in self._schema.classes:
            return False
        return iri.startswith(XSD) or iri in (TAGGED, _RDFS + "Literal") or has_values(iri)

    def _constant(self, token: Token) -> _ValueKind:
        if token.type == "BOOLEAN":
            return _ValueKind(XSD_BOOLEAN, True)
        term = from_ntriples(term_of(self._rule, token))
        if token.type == "IRI":
            return _ValueKind(_RESOURCE, True)
        datatype = getattr(term, "datatype", None)
        return _ValueKind(TAGGED if datatype is None else datatype.value, True)

    def _objection(self, comparison: RuleComparison, left: _ValueKind, right: _ValueKind) -> str | None:
        """Why a comparison can never hold."""
        operator = comparison.operator
        sides = ((comparison.left, left, right), (comparison.right, right, left))
        if operator == "contains":
            for side, kind, _ in sides:
                if kind.of is not None and kind.of not in _TEXTS:
                    return f"contains is about strings, and {_named(side, kind)}"
            return None
        for side, kind, other in sides:
            if kind.of != _RESOURCE:
                continue
            if operator not in ("=", "!="):
                return f"{_named(side, kind)}, and resources have no order; compare it with = or !="
            if other.of not in (None, _RESOURCE) and kind.is_written:
                return f"{side} is an IRI, and the property holds {_shown(other.of)}; write such a value"
            if other.of not in (None, _RESOURCE):
                return f"{_named(side, kind)}; compare it with a path or an IRI, as in = <…>"
        if None in (left.of, right.of) or _family(left.of) == _family(right.of):
            return None
        for side, kind, other in sides:
            if kind.is_written and other.of is not None:
                return self._unlike(side, kind, other)
        return f"{_named(comparison.left, left)}, {_named(comparison.right, right)}: they are never comparable"

    def _unlike(self, side: Path | Token, kind: _ValueKind, other: _ValueKind) -> str | None:
        """Why a constant is not comparable with values of another datatype; strings are read in it."""
        assert other.of is not None
        assert isinstance(side, Token)
        text = from_ntriples(term_of(self._rule, side)).value if side.type != "BOOLEAN" else str(side)
        if other.of in NUMBERS:
            return f"{side} is no number, and the property holds {_shown(other.of)}; write numbers without quotes"
        if other.of in _TEXTS:
            return f'the property holds strings; write "{text}"'
        if side.type != "STRING":
            return f"{side} is not of the property's datatype, {_shown(other.of)}; write it in quotes"
        if has_values(other.of) and literal_value(text, other.of) == ILL_VALUE:
            return f"{side} is no {_shown(other.of)}, which the property holds"
        return None

    def _unknown(self, token: Token, what: str, iri: str, known: Iterable[str]) -> QuerySyntaxError:
        near = nearest_names(iri[1:-1], [each[1:-1] for each in sorted(known)], 1)
        meant = f"; was <{near[0]}> meant?" if near else ""
        return self._rule.source.fault(token, f"the schema has no {what} {iri}{meant}")


def _registered_classes(definition: GivenRule) -> frozenset[str]:
    rule = given_rule(definition.text)
    searched = next(each for each in rule.searched if each.variable == rule.registered)
    id = searched_rule(rule, definition.given, searched)
    return (
        frozenset((term_of(rule, searched.token),)) if id is None else _registered_classes(definition.given.rules[id])
    )


def _family(datatype: str | None) -> str | None:
    return "number" if datatype in NUMBERS else XSD_STRING if datatype in _TEXTS else datatype


def _named(side: Path | Token, kind: _ValueKind) -> str:
    written = side if isinstance(side, Token) else ".".join((side.variable, *(str(each.token) for each in side.steps)))
    holds = isinstance(side, Path) and side.steps and kind.of != _RESOURCE
    return f"{written} {'holds' if holds else 'is'} {_shown(kind.of)}"


def _shown(kind: str | None) -> str:
    if kind is None or kind == _RESOURCE:
        return _RESOURCE
    return f"xsd:{kind.removeprefix(XSD)}" if kind.startswith(XSD) else f"<{kind}>"
