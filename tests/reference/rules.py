"""Rules read slowly: a parser of their own, and every way to give values to what they search (semantics 7.2).

A condition is solved from left to right over what is bound so far: a variable of the rule, or the beginning of a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from tests.reference import rdql
from tests.reference.terms import LANG_STRING, RDF, STRING, XSD, Term, Triple, iri, literal, unescape
from tests.reference.values import TypeFault, compare

TYPE = iri(RDF + "type")
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_MDV = "urn:triplecast:mdv:"
_TRUE = literal("true", XSD + "boolean")
_NUMBERS = re.compile(
    XSD
    + r"(decimal|float|double|integer|(non)?(Positive|Negative|positive|negative)Integer|(unsigned)?(Long|Int|Short|"
    r"Byte|long|int|short|byte))"
)
_TOKEN = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[+-]?\d+(?:\.\d+)?|[A-Za-z_]\w*:\w*|:\w*|[A-Za-z_]\w*"""
    r"|!=|<=|>=|[<>=.,()?]|\S"
)

Bound: TypeAlias = Mapping[Any, Term]


class Rule(NamedTuple):
    searched: tuple[tuple[str, str, bool], ...]
    """Variable, class or id, and whether it is an id."""
    registered: str
    condition: Any
    """``("and" | "or", parts)`` or ``(operator, left, right)``; a side is a term or ``(variable, steps)``; no condition
    is an empty ``and``."""


class Schema:
    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self.triples = frozenset(triples)

    def subclasses(self, kind: str) -> set[str]:
        found = {kind}
        while True:
            more = {
                subject[1]
                for subject, predicate, end in self.triples
                if predicate[1] == _RDFS + "subClassOf" and end[1] in found
            } - found
            if not more:
                return found
            found |= more

    def range(self, property: str) -> str | None:
        """The datatype, ``class``, or None."""
        ends = {
            end[1]
            for subject, predicate, end in self.triples
            if (subject[1], predicate[1]) == (property, _RDFS + "range")
        }
        kinds = {end if end.startswith(XSD) or end == LANG_STRING else "class" for end in ends}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def strong(self) -> set[str]:
        return {
            subject[1] for subject, predicate, end in self.triples if predicate[1] == _MDV + "strong" and end == _TRUE
        }


def read(text: str, rules: Iterable[str] = ()) -> Rule:
    """`rules`: the ids of rules that may be searched."""
    return _Reader(text, frozenset(rules)).rule()


def answer(rule: Rule, triples: Iterable[Triple], schema: Schema, rules: Mapping[str, Rule]) -> set[Term]:
    """The resources that a rule registers."""
    graph = frozenset(triples)
    candidates = [
        answer(rules[kind], graph, schema, rules) if is_rule else _instances(kind, graph, schema)
        for _, kind, is_rule in rule.searched
    ]
    names = [name for name, _, _ in rule.searched]
    found = set()
    for values in product(*candidates):
        bound = dict(zip(names, values, strict=True))
        if bound[rule.registered] not in found and any(True for _ in _solve(rule.condition, bound, graph, schema)):
            found.add(bound[rule.registered])
    return found


def described(resource: Term, triples: Iterable[Triple], schema: Schema) -> set[Triple]:
    """The triples of a resource and of all that strong references lead to."""
    graph = frozenset(triples)
    found, strong = {resource}, schema.strong
    while True:
        more = {end for subject, predicate, end in graph if subject in found and predicate[1] in strong} - found
        if not more:
            return {triple for triple in graph if triple[0] in found}
        found |= more


def _instances(kind: str, graph: frozenset[Triple], schema: Schema) -> set[Term]:
    kinds = {iri(each) for each in schema.subclasses(kind)}
    return {subject for subject, predicate, end in graph if predicate == TYPE and end in kinds}


def _solve(condition: Any, bound: Bound, graph: frozenset[Triple], schema: Schema) -> Iterator[Bound]:
    operator, *parts = condition
    if operator == "and":
        if not parts[0]:
            yield bound
            return
        for found in _solve(parts[0][0], bound, graph, schema):
            yield from _solve(("and", parts[0][1:]), found, graph, schema)
    elif operator == "or":
        for part in parts[0]:
            yield from _solve(part, bound, graph, schema)
    else:
        for found, left in _values(parts[0], bound, graph):
            for both, right in _values(parts[1], found, graph):
                if _holds(operator, parts[0], left, parts[1], right, schema):
                    yield both


def _values(side: Any, bound: Bound, graph: frozenset[Triple]) -> Iterator[tuple[Bound, Term]]:
    """Each value of a side, with what is bound then."""
    if side[0] in ("iri", "literal"):
        yield bound, side
        return
    variable, steps = side
    yield from _follow(bound, bound[variable], (variable,), steps, graph)


def _follow(
    bound: Bound, value: Term, way: tuple[Any, ...], steps: tuple[Any, ...], graph: frozenset[Triple]
) -> Iterator[tuple[Bound, Term]]:
    if not steps:
        yield bound, value
        return
    (property, number), *rest = steps
    key = (*way, (property, number))
    if key in bound:
        yield from _follow(bound, bound[key], key, tuple(rest), graph)
        return
    for end in [end for subject, predicate, end in graph if subject == value and predicate == iri(property)]:
        yield from _follow({**bound, key: end}, end, key, tuple(rest), graph)


def _holds(operator: str, left_side: Any, left: Term, right_side: Any, right: Term, schema: Schema) -> bool:
    left_range, right_range = _range(left_side, schema), _range(right_side, schema)
    if operator == "=" and "class" in (left_range, right_range):
        return left == right
    left, right = _read(left, left_side, left_range, right_range), _read(right, right_side, right_range, left_range)
    try:
        if operator == "contains":
            return left[0] == right[0] == "literal" and _contains(left, right)
        return compare(operator, left, right)
    except TypeFault:
        return False


def _contains(text: Term, part: Term) -> bool:
    """As SPARQL's CONTAINS: strings, tagged alike or the second one untagged."""
    if text[2] not in (STRING, LANG_STRING) or part[2] not in (STRING, LANG_STRING):
        return False
    return part[1] in text[1] and part[3] in ("", text[3])


def _range(side: Any, schema: Schema) -> str | None:
    if side[0] == "iri":
        return None
    if side[0] == "literal":
        return None
    return schema.range(side[1][-1][0]) if side[1] else "class"


def _read(value: Term, side: Any, own: str | None, other: str | None) -> Term:
    """A value in the range of its property, and a string in the text in the range of the property beside it."""
    is_written = side[0] == "literal"
    datatype = other if is_written else own
    if datatype in (None, "class", STRING):
        return value
    if _NUMBERS.fullmatch(datatype):
        return value if is_written else rdql._number(value)
    if datatype == LANG_STRING:
        return value if is_written or value[0] != "literal" or value[2] != LANG_STRING else literal(value[1])
    return literal(value[1], datatype) if value[0] == "literal" and value[2] == STRING else value


class _Reader:
    def __init__(self, text: str, rules: frozenset[str]) -> None:
        self._tokens = _TOKEN.findall(text)
        self._rules = rules
        self._prefixes: dict[str, str] = {"xsd": XSD, "rdf": RDF}
        self._numbers = 0

    def rule(self) -> Rule:
        while self._is("prefix"):
            name = self._next()
            self._prefixes[name[:-1]] = self._next()[1:-1]
        self._expect("search")
        searched = [self._searched()]
        while self._is(","):
            searched.append(self._searched())
        self._expect("register")
        registered = self._next()
        condition = self._either() if self._is("where") else ("and", ())
        assert not self._tokens, self._tokens
        return Rule(tuple(searched), registered, condition)

    def _searched(self) -> tuple[str, str, bool]:
        kind = self._next()
        is_rule = kind[0] in "\"'" or kind in self._rules
        return self._next(), kind.strip("\"'") if is_rule else self._iri(kind), is_rule

    def _either(self) -> Any:
        parts = [self._both()]
        while self._is("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else ("or", tuple(parts))

    def _both(self) -> Any:
        parts = [self._part()]
        while self._is("and"):
            parts.append(self._part())
        return ("and", tuple(parts))

    def _part(self) -> Any:
        if self._is("("):
            inner = self._either()
            self._expect(")")
            return inner
        left = self._side()
        operator = self._next().lower()
        return operator, left, self._side()

    def _side(self) -> Any:
        token = self._next()
        if token[0] in "\"'":
            return literal(unescape(token[1:-1]))
        if token[0] in "+-0123456789":
            return literal(token, XSD + ("decimal" if "." in token else "integer"))
        if token in ("true", "false"):
            return literal(token, XSD + "boolean")
        if token[0] == "<" or ":" in token:
            return iri(self._iri(token))
        steps = []
        while self._is("."):
            property = self._iri(self._next())
            any_of = self._is("?")
            self._numbers += any_of
            steps.append((property, self._numbers if any_of else 0))
        return token, tuple(steps)

    def _iri(self, token: str) -> str:
        if token[0] == "<":
            return token[1:-1]
        prefix, _, local = token.rpartition(":")
        return self._prefixes[prefix] + local

    def _next(self) -> str:
        return self._tokens.pop(0)

    def _is(self, word: str) -> bool:
        if self._tokens and self._tokens[0].lower() == word:
            self._tokens.pop(0)
            return True
        return False

    def _expect(self, word: str) -> None:
        assert self._is(word), (word, self._tokens)
