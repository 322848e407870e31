"""Warnings about valid queries that are probably mistaken, for whoever subscribes; nothing is refused.

Each warning is certain in what it states, such as a variable that nothing binds or a comparison that is never true;
only that it was not intended is a guess. A template is read once for all its subscriptions: what is odd whatever its
constants are becomes a sentence, what depends on them a `Check`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeGuard

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import ComparisonKind, Constant, constant_text, place_of
from triplecast.compile.contradictions import find_contradictions, resources_of
from triplecast.compile.texts import texts_within
from triplecast.evaluate.scope import expressions_of, parts_of
from triplecast.languages import Template, text_of
from triplecast.languages.refusals import ordinary_names, warn_undeclared
from triplecast.languages.rewriting import names_of_path
from triplecast.languages.vocabularies import DECLARED, RDF, doubt_iri
from triplecast.model import algebra
from triplecast.model.algebra import (
    Call,
    Expression,
    Operation,
    Pattern,
    Slot,
    TriplePattern,
    Variable,
    from_ntriples,
    subexpressions,
    variables_in,
)
from triplecast.model.comparison_codes import MIRRORED
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.terms.nearness import nearest_names
from triplecast.terms.values import NUMERIC_TYPES, ValueClass, has_values
from triplecast.text.grammar import find_patterns
from triplecast.text.wildcards import find_stray_sign

WARNINGS_LIMIT = 8
"""Most warnings about one subscription."""
TEMPLATES_LIMIT = 20_000
"""Templates whose checks a process caches."""

Constants: TypeAlias = tuple[str, ...]
Check: TypeAlias = Callable[[Constants], Iterable[str]]
"""From a subscription's constants to its warnings."""

_ORDERS = ("<", "<=", ">", ">=")
_STRING_FUNCTIONS = frozenset({"STR", "LANG"})
_NUMBER_FUNCTIONS = frozenset({"STRLEN", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"})
_SEARCHES = frozenset({"CONTAINS", "STRSTARTS", "STRENDS"})
_CASES = frozenset({"LCASE", "UCASE"})
_NUMBERS = frozenset({ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE})
_DAYS = (ValueClass.DATE, ValueClass.DATE_LOCAL)
_ODD = (ValueClass.ILL, ValueClass.IRI, ValueClass.LANG, ValueClass.STRING, *_DAYS)
"""Classes of constants that a comparison of a variable may be warned of."""
_TYPE = f"<{RDF}type>"
_FEED_DATE = f"<{DECLARED['dc']}date>"
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_LIKE_A_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9:.]+Z?)?")
_OF_SPARQL = {"*": "any characters are .*", "?": "one character is .", "+": "some characters are .+"}
"""What replaces the wildcards of other languages."""


def find_warnings(template: Template, constants: Constants, operators: OperatorSet = NO_OPERATORS) -> tuple[str, ...]:
    """Say what is odd in a query and what to write instead, in at most `WARNINGS_LIMIT` sentences."""
    found = _read_template(template)
    names = [constants[slot] for slot in found.names]
    is_ordinary = ordinary_names(operators).has_all(names)
    if is_ordinary and not found.fixed and not found.without_names:
        return ()
    read = found.fixed if is_ordinary else found.predicates
    iris = (constants[each][1:-1] if isinstance(each, int) else each for each in read)
    warnings = [warning for iri in iris if (warning := warn_undeclared(iri, operators)) is not None]
    for check in found.without_names if is_ordinary else found.checks:
        warnings += (check,) if isinstance(check, str) else check(constants)
    return tuple(dict.fromkeys(warnings))[:WARNINGS_LIMIT] if warnings else ()


class _TemplateChecks(NamedTuple):
    predicates: tuple[str | int, ...]
    """The predicates of its triples and paths: IRIs of the template (`fixed`), and slots."""
    fixed: tuple[str, ...]
    checks: tuple[str | Check, ...]
    names: tuple[int, ...]
    """The slots that hold predicates or other IRIs; `without_names`: all other checks."""
    without_names: tuple[str | Check, ...]


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _read_template(template: Template) -> _TemplateChecks:
    parts = tuple(parts_of(template.query.pattern))
    triples = [triple for part in parts if isinstance(part, algebra.BasicPattern) for triple in part.triples]
    plain = [triple for triple in triples if isinstance(triple, TriplePattern)]
    paths = (triple.predicate if isinstance(triple, TriplePattern) else triple.path for triple in triples)
    names = chain.from_iterable(names_of_path(path) for path in paths if not isinstance(path, Variable | Literal))
    texts = texts_within(template.query.pattern)
    checks: tuple[Iterable[str | Check], ...] = (
        _unbound_variables(template.query, parts),
        _check_calculations([inner for part in parts for _, used in _uses(part) for inner in subexpressions(used)]),
        _check_triples(plain, template),
        (partial(_warn_wildcards, text.constant) for text in texts if text.threshold is None),
        _check_comparisons(parts, plain, template),
        find_contradictions(parts),
        _check_names(triples, template),
    )
    predicates = tuple(dict.fromkeys(name.index if isinstance(name, Slot) else name.value for name in names))
    every = tuple(chain(*checks))
    of_names = [check for check in every if isinstance(check, partial) and check.func is _warn_name]
    slots = [each for each in predicates if isinstance(each, int)] + [slot for check in of_names for slot in check.args]
    without = tuple(check for check in every if check not in of_names)
    fixed = tuple(each for each in predicates if isinstance(each, str))
    return _TemplateChecks(predicates, fixed, every, tuple(dict.fromkeys(slots)), without)


# ---- variables ------------------------------------------------------------------------------------------------------


def _unbound_variables(query: algebra.Query, parts: Sequence[Pattern]) -> Iterator[str]:
    """Warn of variables that are used and that nothing in the query can bind."""
    bound = {variable.name: None for part in parts for variable in _binds(part)}
    used: dict[str, str] = {}
    for part in parts:
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
    nodes: Iterable[object] = ()
    if isinstance(part, algebra.BasicPattern):
        for triple in part.triples:
            yield from (node for node in _nodes_of(triple) if isinstance(node, Variable))
    elif isinstance(part, algebra.Produce):
        nodes = (node for node, is_free in zip(part.arguments, part.free, strict=True) if is_free)
    elif isinstance(part, algebra.Values):
        nodes = part.variables
    elif isinstance(part, algebra.Group):
        nodes = (name for name, _ in part.aggregates)
    elif isinstance(part, algebra.Extend):
        nodes = (part.variable,)
    elif isinstance(part, algebra.Graph):
        nodes = (part.name,)
    yield from (node for node in nodes if isinstance(node, Variable))


def _nodes_of(triple: TriplePattern | algebra.PathPattern) -> tuple[object, ...]:
    middle = (triple.predicate,) if isinstance(triple, TriplePattern) else ()
    return (triple.subject, triple.object, *middle)


def _uses(part: Pattern) -> Iterator[tuple[str, Expression]]:
    if isinstance(part, algebra.Extend):
        place = "an expression"
    elif isinstance(part, algebra.OrderBy):
        place = "ORDER BY"
    else:
        place = "an aggregate" if isinstance(part, algebra.Group) else "FILTER"
    yield from ((place, expression) for expression in expressions_of(part))
    if isinstance(part, algebra.Group):
        yield from (("GROUP BY", key) for key in part.keys)


# ---- calculations, cases, triples, words ----------------------------------------------------------------------------


def _check_calculations(expressions: Sequence[Expression]) -> Iterator[str | Check]:
    calculated = [part for part in expressions if isinstance(part, Operation) and part.operator in ("+", "-", "*", "/")]
    operands = [operand for part in calculated for operand in part.arguments]
    with_now = any(isinstance(operand, Call) and operand.function == "NOW" for operand in operands)
    if with_now:
        yield "NOW() + … and NOW() - … have no value: SPARQL 1.1 calculates with numbers alone; write the date itself"
    for part in calculated:
        left, right = part.arguments[0], part.arguments[-1]
        if isinstance(left, Operation) and left.operator == part.operator and part.operator in "+-":
            three = [each for each in (*left.arguments, right) if isinstance(each, Literal | Slot)]
            if len(three) == len(left.arguments) + 1 == 3:
                yield partial(_warn_unquoted_date, three)
    for operand in () if with_now else operands:
        if isinstance(operand, NamedNode | Literal | Slot):
            yield partial(_warn_operand, operand)
    for expression in expressions:
        for text, wanted in _searches(expression):
            if isinstance(text, Call) and text.function in _CASES and isinstance(wanted, Literal | Slot):
                yield partial(_warn_case, text.function, wanted)


def _searches(part: Expression) -> list[tuple[Expression, Expression]]:
    """Texts and what they are compared with or searched for; of ``!=`` the constant may be intended."""
    if isinstance(part, Operation) and part.operator in ("=", "in"):
        pairs = [(part.arguments[0], other) for other in part.arguments[1:]]
        return pairs + [(other, mine) for mine, other in pairs if part.operator == "="]
    return [part.arguments[:2]] if isinstance(part, Call) and part.function in _SEARCHES else []  # type: ignore[list-item]


def _warn_unquoted_date(parts: Sequence[Constant], constants: Constants) -> Iterator[str]:
    """``2026-11-01`` is read as ``a - b - c``."""
    values = [from_ntriples(constant_text(part, constants)) for part in parts]
    digits = [value.value.lstrip("-+") for value in values if isinstance(value, Literal)]
    if [len(part) for part in digits] != [4, 2, 2] or not all(part.isdigit() for part in digits):
        return
    year, month, day = map(int, digits)
    if 1 <= month <= 12 and 1 <= day <= 31:
        date = "-".join(digits)
        yield (
            f"{date} is the number {year - month - day}; a date is written "
            f'"{date}T00:00:00Z"^^xsd:dateTime or "{date}"^^xsd:date'
        )


def _warn_operand(operand: Constant, constants: Constants) -> Iterator[str]:
    text = constant_text(operand, constants)
    kind, _ = place_of(text)
    ill_number = kind == ValueClass.ILL and _datatype(text) in NUMERIC_TYPES
    if not (ill_number or kind in _NUMBERS or kind >= ComparisonKind.NAN):
        yield f"what is calculated with {text} has no value: SPARQL 1.1 calculates with numbers alone"


def _warn_case(function: str, wanted: Constant, constants: Constants) -> Iterator[str]:
    text = constant_text(wanted, constants)
    value = from_ntriples(text) if text[0] == '"' else None
    change, case = (str.lower, "lower") if function == "LCASE" else (str.upper, "upper")
    if isinstance(value, Literal) and any(change(letter) != letter for letter in value.value):
        yield f"{function}(…) gives {case} case and so never {text}; write {change(value.value)!r}"


def _check_triples(triples: Sequence[TriplePattern], template: Template) -> Iterator[Check]:
    def may_be_literal(node: object) -> TypeGuard[Constant]:
        return isinstance(node, NamedNode | Literal | Slot) and _class_of(node, template) != ValueClass.IRI

    yield from (partial(_warn_subject, triple.subject) for triple in triples if may_be_literal(triple.subject))
    for triple in triples:
        if isinstance(triple.predicate, NamedNode | Slot) and may_be_literal(triple.object):
            yield partial(_warn_class, triple.predicate, triple.object)


def _warn_subject(subject: Constant, constants: Constants) -> Iterator[str]:
    text = constant_text(subject, constants)
    if text[0] == '"':
        yield f"{text} as a subject matches nothing: a literal is none in RDF; write an IRI, <…>, or a variable"


def _warn_class(predicate: Constant, named: Constant, constants: Constants) -> Iterator[str]:
    text = constant_text(named, constants)
    if text[0] == '"' and constant_text(predicate, constants) == _TYPE:
        yield f"a {text} asks for a string, and classes are IRIs; write <…> or a name like rss:item"


def _warn_wildcards(searched: Constant, constants: Constants) -> Iterator[str]:
    """Patterns of words that are written as shells and Lucene have them never match."""
    for pattern in find_patterns(text_of(constant_text(searched, constants))):
        sign = find_stray_sign(pattern)
        if sign is not None:
            yield f"{sign} in the pattern {pattern} means itself, which no word contains; {_OF_SPARQL[sign]}"


# ---- names ----------------------------------------------------------------------------------------------------------


def _check_names(triples: Sequence[TriplePattern | algebra.PathPattern], template: Template) -> Iterator[str | Check]:
    """Check IRIs: those of the template, the datatypes of its slots, and the slots that hold one."""
    fixed = [node.value for triple in triples for node in _nodes_of(triple) if isinstance(node, NamedNode)]
    yield from filter(None, map(doubt_iri, dict.fromkeys(fixed)))
    for slot, kind in enumerate(template.kinds):
        if kind.value_class is ValueClass.IRI:
            yield partial(_warn_name, slot)
        elif kind.datatype is not None and not has_values(kind.datatype):
            yield from filter(None, [doubt_iri(kind.datatype)])


def _warn_name(slot: int, constants: Constants) -> tuple[str, ...]:
    warning = doubt_iri(constants[slot][1:-1])
    return () if warning is None else (warning,)


# ---- comparisons ----------------------------------------------------------------------------------------------------


class _Comparison(NamedTuple):
    """``subject operator constant``, whichever way round it was written."""

    subject: Variable | Call
    operator: str
    constant: Constant
    names_resource: bool
    """The subject is a variable that every solution binds in a subject or predicate: never a literal."""
    predicates: tuple[Constant, ...]
    """Those whose object the subject is, a variable, somewhere in the query."""

    def is_ordinary(self, kind: int) -> bool:
        """Whether nothing is odd about it, whatever the constant of this kind is."""
        return isinstance(self.subject, Variable) and not self.names_resource and kind not in _ODD


def _check_comparisons(
    parts: Sequence[Pattern], triples: Sequence[TriplePattern], template: Template
) -> Iterator[Check]:
    predicates: dict[Expression, list[Constant]] = {}
    for triple in triples:
        if isinstance(triple.object, Variable) and isinstance(triple.predicate, NamedNode | Slot):
            predicates.setdefault(triple.object, []).append(triple.predicate)
    for part in parts:
        if isinstance(part, algebra.Filter | algebra.LeftJoin) and part.condition is not None:
            resources = resources_of(part)
            for subject, operator, constant in _compared(part.condition):
                known = tuple(predicates.get(subject, ()))
                found = _Comparison(subject, operator, constant, subject in resources, known)
                if not found.is_ordinary(_class_of(constant, template)):
                    yield partial(_warn_comparison, found)


def _compared(condition: Expression) -> Iterator[tuple[Variable | Call, str, Constant]]:
    """The comparisons with a constant, under any operators."""
    for part in subexpressions(condition):
        pairs: list[tuple[Expression, str, Expression]] = []
        if isinstance(part, Operation) and part.operator in ("in", "not in"):
            sign = "=" if part.operator == "in" else "!="
            pairs = [(part.arguments[0], sign, choice) for choice in part.arguments[1:]]
        elif isinstance(part, Operation) and part.operator in MIRRORED:
            left, right = part.arguments
            pairs = [(left, part.operator, right), (right, MIRRORED[part.operator], left)]
        for subject, operator, other in pairs:
            if isinstance(other, NamedNode | Literal | Slot) and isinstance(subject, Variable | Call):
                yield subject, operator, other


def _warn_comparison(comparison: _Comparison, constants: Constants) -> Iterator[str]:
    warning = _describe_comparison(comparison, constant_text(comparison.constant, constants), constants)
    if warning is not None:
        yield warning


def _describe_comparison(comparison: _Comparison, text: str, constants: Constants) -> str | None:
    subject, operator = comparison.subject, comparison.operator
    kind, _ = place_of(text)
    if comparison.is_ordinary(kind):
        return None
    word = f"?{subject.name}" if isinstance(subject, Variable) else f"{subject.function}(…)"
    shown = f"{word} {operator} {text if len(text) < 80 else text[:79] + '…'}"
    if kind in _DAYS:
        of_feed = _FEED_DATE in (constant_text(predicate, constants) for predicate in comparison.predicates)
        return (
            f"{shown} holds of an xsd:date alone, and the dc:date of a feed's item is an xsd:dateTime; for those write "
            f'"{text[1:11]}T00:00:00Z"^^xsd:dateTime'
            if operator in _ORDERS and of_feed
            else None
        )
    if kind == ValueClass.ILL and has_values(_datatype(text)):
        holds = "is never true" if operator in _ORDERS else "compares the literal itself, not a value"
        return f"{shown} {holds}: by its form, bounds or digits (18 on either side of the point) it has none; fix it"
    if kind == ValueClass.ILL and doubt_iri(_datatype(text)) is not None:
        return None
    if operator in _ORDERS and kind in (ValueClass.IRI, ValueClass.LANG, ValueClass.ILL):
        return f"{shown} is never true: only numbers, strings, booleans, dates and times have an order; compare STR(…)"
    if comparison.names_resource and text[0] == '"' and operator != "!=":
        return f"{shown} is never true: {word} is a subject or predicate, so no literal; write an IRI, <…>"
    if isinstance(subject, Call):
        return _describe_call(shown, subject.function, kind) if operator != "!=" and kind < ComparisonKind.NAN else None
    value = from_ntriples(text) if kind == ValueClass.STRING and operator in _ORDERS else None
    if isinstance(value, Literal) and (date := _LIKE_A_DATE.fullmatch(value.value)):
        typed = f'"{date[1]}{date[2] or "T00:00:00Z"}"^^xsd:dateTime'
        return f"{shown} compares text: dates never satisfy it; write {typed}"
    if isinstance(value, Literal) and _LIKE_A_NUMBER.fullmatch(value.value):
        return f"{shown} compares text: numbers never satisfy it; write them without quotes, or typed"
    return None


def _describe_call(shown: str, function: str, kind: int) -> str | None:
    if function in _STRING_FUNCTIONS and kind != ValueClass.STRING:
        return f"{shown} is never true: {function} gives a string; write the constant as a plain string"
    if function in _NUMBER_FUNCTIONS and kind not in _NUMBERS:
        return f"{shown} is never true: {function} gives a number; write the constant without quotes"
    if function == "DATATYPE" and kind != ValueClass.IRI:
        return f"{shown} is never true: DATATYPE gives an IRI; write it as one, like xsd:integer"
    return None


def _class_of(constant: Constant, template: Template) -> int:
    """The value class of a constant, for every subscription of the template."""
    return int(template.kinds[constant.index].value_class) if isinstance(constant, Slot) else place_of(str(constant))[0]


def _datatype(text: str) -> str:
    """Of a typed literal in N-Triples form; empty for any other term."""
    return text[text.rindex("^^<") + 3 : -1] if text[0] == '"' and text[-1] == ">" else ""
