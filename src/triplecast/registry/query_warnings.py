"""What a query says and its writer hardly meant: told when it is subscribed, never refused.

Each doubt is certain in what it states (a variable that nothing binds, a comparison that is never true); only that it
was not meant is a guess. What depends on the template alone is found once for all its subscriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import Constant, constant_text, place_of
from triplecast.compile.texts import NamedText, doubt_wildcards, texts_within
from triplecast.evaluate.scope import parts_of
from triplecast.languages import SlotKind, Template
from triplecast.languages.refusals import warn_undeclared
from triplecast.languages.rewriting import names_of_path
from triplecast.languages.vocabularies import DECLARED, doubt_iri
from triplecast.model.algebra import (
    BasicPattern,
    Call,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operation,
    OrderBy,
    PathPattern,
    Pattern,
    Produce,
    Query,
    Slot,
    TriplePattern,
    Values,
    Variable,
    from_ntriples,
    subexpressions,
    variables_in,
)
from triplecast.model.comparison_codes import MIRRORED
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.registry.typo_warnings import Slips, doubt_slips, read_slips
from triplecast.terms.nearness import nearest_names
from triplecast.terms.values import ValueClass, has_values

DOUBTS_TOLD = 8
"""Doubts of one subscription that are told."""
TEMPLATES_REMEMBERED = 20_000
_ORDERS = ("<", "<=", ">", ">=")
_TEXTS = frozenset({"STR", "LANG"})
_NUMBERS = frozenset({"STRLEN", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"})
_DAYS = (ValueClass.DATE, ValueClass.DATE_LOCAL)
_FEED_DATE = f"<{DECLARED['dc']}date>"
_NUMBER_KINDS = frozenset({ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE})
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z?)?")


class WrittenComparison(NamedTuple):
    """``subject operator constant``, whichever way round it was written."""

    subject: Expression
    operator: str
    constant: Constant
    names_resource: bool
    """The subject is a variable that every solution binds in a subject or predicate: never a literal."""
    predicates: tuple[Constant, ...]
    """Those whose object the subject is, a variable, somewhere in the query."""


class _Readings(NamedTuple):
    """What a template gives: doubts that hold for all its subscriptions, and what depends on their constants."""

    doubts: tuple[str, ...]
    comparisons: tuple[WrittenComparison, ...]
    slips: Slips
    named: tuple[str | int, ...]
    """Doubts of IRIs that the template itself names, the datatypes of its slots among them, and the slots that hold an
    IRI, another one in each subscription."""
    texts: tuple[NamedText, ...]
    """Its full-text conditions."""
    predicates: tuple[str | int, ...]
    """The predicates of its triples and paths: IRIs of the template, and slots."""


def find_doubts(
    template: Template, constants: tuple[str, ...], operators: OperatorSet = NO_OPERATORS
) -> tuple[str, ...]:
    """Sentences that say what is odd and what to write instead, at most `DOUBTS_TOLD`."""
    found = _readings(template)
    compared = (_doubt_comparison(each, constants) for each in found.comparisons)
    named = (each if isinstance(each, str) else doubt_iri(constants[each][1:-1]) for each in found.named)
    patterns = doubt_wildcards(found.texts, constants)
    predicates = (constants[each][1:-1] if isinstance(each, int) else each for each in found.predicates)
    undeclared = (warn_undeclared(predicate, operators) for predicate in predicates)
    told = dict.fromkeys(
        chain(undeclared, found.doubts, doubt_slips(found.slips, constants), patterns, compared, named)
    )
    return tuple([doubt for doubt in told if doubt is not None][:DOUBTS_TOLD])


@lru_cache(maxsize=TEMPLATES_REMEMBERED)
def _readings(template: Template) -> _Readings:
    query = template.query
    parts = tuple(parts_of(query.pattern))
    triples = [triple for part in parts if isinstance(part, BasicPattern) for triple in part.triples]
    plain = [triple for triple in triples if isinstance(triple, TriplePattern)]
    told: dict[Variable, list[Constant]] = {}
    for triple in plain:
        if isinstance(triple.object, Variable) and isinstance(triple.predicate, NamedNode | Slot):
            told.setdefault(triple.object, []).append(triple.predicate)
    comparisons = tuple(
        each
        for part in parts
        for condition in _conditions(part)
        for each in _compared(condition, _resources(part), told)
    )
    expressions = [expression for part in parts for _, expression in _uses(part)]
    ends = (node for triple in triples for node in (triple.subject, triple.object))
    nodes = chain(ends, (triple.predicate for triple in plain))
    fixed = dict.fromkeys(node.value for node in nodes if isinstance(node, NamedNode))
    return _Readings(
        tuple(_unbound(query)),
        tuple(each for each in comparisons if not _is_ordinary(each, _class_of(each.constant, template))),
        _without_iris(read_slips(expressions, plain), template),
        (*filter(None, map(doubt_iri, fixed)), *_name_slots(template.kinds)),
        tuple(texts_within(query.pattern)),
        tuple(dict.fromkeys(_predicates(triples))),
    )


def _predicates(triples: Sequence[TriplePattern | PathPattern]) -> Iterator[str | int]:
    for triple in triples:
        path = triple.predicate if isinstance(triple, TriplePattern) else triple.path
        for name in () if isinstance(path, Variable | Literal) else names_of_path(path):
            yield name.index if isinstance(name, Slot) else name.value


def _class_of(constant: Constant, template: Template) -> int:
    """The value class of a constant, for every subscription of the template."""
    return int(template.kinds[constant.index].value_class) if isinstance(constant, Slot) else place_of(str(constant))[0]


def _without_iris(slips: Slips, template: Template) -> Slips:
    """Those that may be some subscription's: an IRI is in place as a subject and as a class."""

    def may_be_literal(constant: Constant) -> bool:
        return _class_of(constant, template) != ValueClass.IRI

    return slips._replace(
        subjects=tuple(filter(may_be_literal, slips.subjects)),
        classes=tuple(pair for pair in slips.classes if may_be_literal(pair[1])),
    )


def _name_slots(kinds: Sequence[SlotKind]) -> Iterator[str | int]:
    for slot, kind in enumerate(kinds):
        if kind.value_class is ValueClass.IRI:
            yield slot
        elif kind.datatype is not None and not has_values(kind.datatype):
            doubt = doubt_iri(kind.datatype)
            if doubt is not None:
                yield doubt


def _unbound(query: Query) -> Iterator[str]:
    """Variables that are used and that nothing in the query can bind."""
    bound: dict[str, None] = {}
    used: dict[str, str] = {}
    for part in parts_of(query.pattern):
        bound.update(dict.fromkeys(variable.name for variable in _binds(part)))
        for place, expression in _uses(part):
            for variable in variables_in(expression):
                used.setdefault(variable.name, place)
    for variable in query.variables if query.form == "select" else ():
        used.setdefault(variable.name, "SELECT")
    visible = sorted(name for name in bound if not name.startswith("_:"))
    for name, place in used.items():
        if name not in bound and not name.startswith("_:"):
            near = nearest_names(name, visible, 1)
            hint = f"was ?{near[0]} meant?" if near else "bind it in a triple pattern, or leave it out"
            yield f"?{name} in {place} is bound by nothing, so it never has a value; {hint}"


def _binds(part: Pattern) -> Iterator[Variable]:
    if isinstance(part, BasicPattern):
        for triple in part.triples:
            middle = (triple.predicate,) if isinstance(triple, TriplePattern) else ()
            yield from (node for node in (triple.subject, *middle, triple.object) if isinstance(node, Variable))
    elif isinstance(part, Extend):
        yield part.variable
    elif isinstance(part, Produce):
        free = (node for node, is_free in zip(part.arguments, part.free, strict=True) if is_free)
        yield from (node for node in free if isinstance(node, Variable))
    elif isinstance(part, Values):
        yield from part.variables
    elif isinstance(part, Group):
        yield from (name for name, _ in part.aggregates)
    elif isinstance(part, Graph) and isinstance(part.name, Variable):
        yield part.name


def _uses(part: Pattern) -> Iterator[tuple[str, Expression]]:
    yield from (("FILTER", condition) for condition in _conditions(part))
    if isinstance(part, Extend):
        yield "an expression", part.expression
    elif isinstance(part, OrderBy):
        yield from (("ORDER BY", condition) for condition, _ in part.conditions)
    elif isinstance(part, Group):
        yield from (("an aggregate", what.argument) for _, what in part.aggregates if what.argument is not None)
        yield from (("GROUP BY", key) for key in part.keys)


def _conditions(part: Pattern) -> tuple[Expression, ...]:
    return (part.condition,) if isinstance(part, Filter | LeftJoin) and part.condition is not None else ()


def _resources(pattern: Pattern) -> frozenset[Variable]:
    """Variables that every solution of a pattern binds in the subject or predicate of a triple."""
    found: list[Variable] = []
    waiting: list[Pattern] = [pattern, pattern.right] if isinstance(pattern, LeftJoin) else [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, BasicPattern):
            plain = [triple for triple in part.triples if isinstance(triple, TriplePattern)]
            nodes = [node for triple in plain for node in (triple.subject, triple.predicate)]
            found.extend(node for node in nodes if isinstance(node, Variable))
        elif isinstance(part, Join):
            waiting += [part.left, part.right]
        elif isinstance(part, LeftJoin | Minus):
            waiting.append(part.left)
        elif isinstance(part, Filter | Extend | Produce | Graph):
            waiting.append(part.pattern)
    return frozenset(found)


def _compared(
    condition: Expression, resources: frozenset[Variable], told: Mapping[Variable, Sequence[Constant]]
) -> Iterator[WrittenComparison]:
    """The comparisons with a constant, under any operators."""
    for part in subexpressions(condition):
        if not isinstance(part, Operation):
            continue
        if part.operator in ("in", "not in"):
            sign = "=" if part.operator == "in" else "!="
            pairs = [(part.arguments[0], sign, choice) for choice in part.arguments[1:]]
        elif part.operator in MIRRORED:
            left, right = part.arguments
            pairs = [(left, part.operator, right), (right, MIRRORED[part.operator], left)]
        else:
            continue
        for subject, operator, other in pairs:
            if isinstance(other, NamedNode | Literal | Slot) and isinstance(subject, Variable | Call):
                known = tuple(told.get(subject, ())) if isinstance(subject, Variable) else ()
                yield WrittenComparison(subject, operator, other, subject in resources, known)


def _doubt_comparison(comparison: WrittenComparison, constants: tuple[str, ...]) -> str | None:
    text = constant_text(comparison.constant, constants)
    kind, _ = place_of(text)
    subject, operator = comparison.subject, comparison.operator
    if _is_ordinary(comparison, kind):
        return None
    shown = f"{_word(subject)} {operator} {text if len(text) < 80 else text[:79] + '…'}"
    if kind in _DAYS:
        told = (constant_text(predicate, constants) for predicate in comparison.predicates)
        return _doubt_day(shown, text) if operator in _ORDERS and _FEED_DATE in told else None
    if kind == ValueClass.ILL and _has_bad_form(text):
        holds = "is never true" if operator in _ORDERS else "finds no value"
        return f"{shown} {holds}: by its form or its bounds the literal is no value of its datatype; fix it"
    if kind == ValueClass.ILL and doubt_iri(_datatype(text)) is not None:
        return None
    if operator in _ORDERS and kind in (ValueClass.IRI, ValueClass.LANG, ValueClass.ILL):
        return f"{shown} is never true: only numbers, strings, booleans, dates and times have an order; compare STR(…)"
    if comparison.names_resource and text[0] == '"' and operator != "!=":
        return f"{shown} is never true: {_word(subject)} is a subject or predicate, so no literal; write an IRI, <…>"
    if isinstance(subject, Call):
        return _doubt_call(shown, subject.function, operator, ValueClass(kind) if kind < 32 else None)
    value = from_ntriples(text) if kind == ValueClass.STRING and operator in _ORDERS else None
    if isinstance(value, Literal) and _LIKE_A_NUMBER.fullmatch(value.value):
        return f"{shown} compares text: numbers and dates never satisfy it; write them without quotes, or typed"
    return None


def _doubt_day(shown: str, text: str) -> str:
    value = from_ntriples(text)
    day = value.value[:10] if isinstance(value, Literal) else ""
    return (
        f"{shown} holds of an xsd:date alone, and the dc:date of a feed's item is an xsd:dateTime; for those write "
        f'"{day}T00:00:00Z"^^xsd:dateTime'
    )


def _is_ordinary(comparison: WrittenComparison, kind: int) -> bool:
    """Whether nothing is to be said of it, at a glance."""
    plain = isinstance(comparison.subject, Variable) and not comparison.names_resource
    odd = (ValueClass.ILL, ValueClass.IRI, ValueClass.LANG, ValueClass.STRING, *_DAYS)
    return plain and kind not in odd


def _doubt_call(shown: str, function: str, operator: str, kind: ValueClass | None) -> str | None:
    if operator == "!=" or kind is None:
        return None
    if function in _TEXTS and kind != ValueClass.STRING:
        return f"{shown} is never true: {function} gives a string; write the constant as a plain string"
    if function in _NUMBERS and kind not in _NUMBER_KINDS:
        return f"{shown} is never true: {function} gives a number; write the constant without quotes"
    if function == "DATATYPE" and kind != ValueClass.IRI:
        return f"{shown} is never true: DATATYPE gives an IRI; write it as one, like xsd:integer"
    return None


def _has_bad_form(text: str) -> bool:
    """Whether an ill-typed literal is of a datatype with values: of others, every literal is only itself."""
    return text[-1] == ">" and has_values(_datatype(text))


def _datatype(text: str) -> str:
    """Of a typed literal in N-Triples form; empty for any other term."""
    return text[text.rindex("^^<") + 3 : -1] if text[0] == '"' and text[-1] == ">" else ""


def _word(subject: Expression) -> str:
    return f"?{subject.name}" if isinstance(subject, Variable) else f"{getattr(subject, 'function', '')}(…)"
