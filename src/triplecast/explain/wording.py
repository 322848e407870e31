"""Query parts and terms as text close to the query's own, for explanations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.scope import children, parts_of
from triplecast.languages.vocabularies import DECLARED
from triplecast.model import algebra
from triplecast.model.algebra import Call, Expression, Node, Operation, Pattern, Slot, Term, TriplePattern, Variable
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.terms.values import XSD, XSD_BOOLEAN, XSD_DECIMAL, XSD_INTEGER, XSD_STRING

_BARE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
        XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
        XSD_BOOLEAN: re.compile(r"true|false"),
    }
)
"""Literals that SPARQL writes without quotes."""

_TEXTUAL: Mapping[str, str] = MappingProxyType({"=": "eq", "!=": "ne"})
"""RDQL's comparisons of texts."""

_LOCAL = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?)?")
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


class Wording:
    """Writes query parts with the query's prefixes.

    A hidden variable is written as what it represents: an aggregate, an expression of GROUP BY, or a blank node, which
    is ``[]`` where it appears only once.
    """

    def __init__(
        self,
        prefixes: Mapping[str, str] = MappingProxyType({}),
        query: algebra.Query | None = None,
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        self.operators = operators
        self._namespaces = sorted(
            ((namespace, prefix) for prefix, namespace in prefixes.items()),
            key=lambda pair: (-len(pair[0]), pair[1] in DECLARED, -len(pair[1]), pair[1]),
        )
        self._hidden: dict[str, str] = {}
        if query is not None:
            self._name_hidden(query.pattern)

    def _name_hidden(self, pattern: Pattern) -> None:
        nodes: Counter[str] = Counter()
        for part in parts_of(pattern):
            if isinstance(part, algebra.BasicPattern):
                ends = [end for triple in part.triples for end in (triple.subject, triple.object)]
                nodes.update(end.name for end in ends if isinstance(end, Variable) and end.hidden)
            elif isinstance(part, algebra.Extend) and part.variable.hidden:
                self._hidden[part.variable.name] = self.expression(part.expression)
            elif isinstance(part, algebra.Group):
                self._hidden.update((name.name, self.aggregate(what)) for name, what in part.aggregates if name.hidden)
        self._hidden.update((name, "[]") for name, count in nodes.items() if count == 1)

    def node(self, node: Node | Term) -> str:
        """Plain integers, decimals and booleans bare, IRIs by prefix where one fits, all else in N-Triples form."""
        if isinstance(node, Variable):
            return self._hidden.get(node.name, node.name) if node.hidden else f"?{node.name}"
        if isinstance(node, Slot):
            return f"slot {node.index}"
        if isinstance(node, NamedNode):
            return self._iri(node)
        if isinstance(node, Literal) and node.language is None and node.datatype.value != XSD_STRING:
            if node.datatype.value in _BARE and _BARE[node.datatype.value].fullmatch(node.value):
                return node.value
            own = node.datatype.value.startswith(XSD)
            return f"{Literal(node.value)}^^" + (
                f"xsd:{node.datatype.value[len(XSD) :]}" if own else self._iri(node.datatype)
            )
        return str(node)

    def _iri(self, node: NamedNode) -> str:
        for namespace, prefix in self._namespaces:
            if node.value.startswith(namespace) and _LOCAL.fullmatch(node.value, len(namespace)):
                return f"{prefix}:{node.value[len(namespace) :]}"
        return str(node)

    def filter(self, condition: Expression) -> str:
        words = self.expression(condition)
        bare = isinstance(condition, Operation) and len(condition.arguments) > 1 and not _is_membership(condition)
        return f"FILTER{words}" if bare else f"FILTER({words})"

    def stated(self, triple: Iterable[Term]) -> str:
        """A triple of the publication."""
        subject, predicate, end = triple
        return f"{self.node(subject)} {self._predicate(predicate)} {self.node(end)} ."

    def _predicate(self, node: Node | Term) -> str:
        return "a" if isinstance(node, NamedNode) and node.value == _TYPE else self.node(node)

    def triple(self, pattern: TriplePattern | algebra.PathPattern) -> str:
        middle = self._predicate(pattern.predicate) if isinstance(pattern, TriplePattern) else self.path(pattern.path)
        return f"{self.node(pattern.subject)} {middle} {self.node(pattern.object)}"

    def path(self, path: algebra.PathExpression) -> str:
        if isinstance(path, algebra.Inverse):
            return f"^{self.path(path.path)}"
        if isinstance(path, algebra.Sequence):
            return "(" + "/".join(map(self.path, path.steps)) + ")"
        if isinstance(path, algebra.Alternative):
            return "(" + "|".join(map(self.path, path.choices)) + ")"
        if isinstance(path, algebra.Repeat):
            return self.path(path.path) + (("*", "+")[path.at_least] if path.many else "?")
        if isinstance(path, algebra.NegatedSet):
            names = [self.node(name) for name in path.forward] + [f"^{self.node(name)}" for name in path.inverse]
            return f"!({'|'.join(names)})"
        return self.node(path)

    def expression(self, expression: Expression) -> str:
        if isinstance(expression, algebra.Exists):
            return f"{'NOT ' if expression.negated else ''}EXISTS {{ {self.pattern(expression.pattern)} }}"
        if isinstance(expression, Call) and expression.function in ("NUMBER", "TEXT"):
            return self.expression(expression.arguments[0])
        if isinstance(expression, Call) and expression.function == "REGEX" and _is_text(expression.arguments[0]):
            text, pattern, flags = expression.arguments
            return f"({self.expression(text)} =~ /{_lexical(pattern)}/{_lexical(flags)})"
        if isinstance(expression, Call):
            name = self.node(NamedNode(expression.function)) if ":" in expression.function else expression.function
            return f"{name}({self._listed(expression.arguments)})"
        if not isinstance(expression, Operation):
            return self.node(expression)
        operator, arguments = expression.operator, expression.arguments
        if operator in ("in", "not in"):
            return f"{self.expression(arguments[0])} {operator.upper()} ({self._listed(arguments[1:])})"
        if len(arguments) == 1:
            return f"{operator.removeprefix('u')}{self.expression(arguments[0])}"
        if operator in _TEXTUAL and any(map(_is_text, arguments)):
            operator = _TEXTUAL[operator]
        return "(" + f" {operator} ".join(map(self.expression, arguments)) + ")"

    def produced(self, pattern: algebra.Produce) -> str:
        """The call of an operator that gives rows."""
        return f"{self.node(NamedNode(pattern.operator))}({' '.join(map(self.node, pattern.arguments))})"

    def aggregate(self, aggregate: algebra.Aggregate) -> str:
        distinct = "DISTINCT " if aggregate.distinct else ""
        argument = "*" if aggregate.argument is None else self.expression(aggregate.argument)
        return f"{aggregate.function}({distinct}{argument})"

    def pattern(self, pattern: Pattern) -> str:
        """The pattern on one line."""
        inner = [self.pattern(each) for each in children(pattern)]
        match pattern:
            case algebra.BasicPattern(triples):
                return " . ".join(map(self.triple, triples))
            case algebra.Join():
                return " . ".join(inner)
            case algebra.LeftJoin():
                return f"{inner[0]} OPTIONAL {{ {inner[1]} }}"
            case algebra.Union():
                return f"{{ {inner[0]} }} UNION {{ {inner[1]} }}"
            case algebra.Minus():
                return f"{inner[0]} MINUS {{ {inner[1]} }}"
            case algebra.Filter(condition, _):
                return f"{inner[0]} {self.filter(condition)}"
            case algebra.Graph(name, _):
                return f"GRAPH {self.node(name)} {{ {inner[0]} }}"
            case algebra.Extend(_, variable, expression):
                return f"{inner[0]} BIND({self.expression(expression)} AS {self.node(variable)})"
            case algebra.Produce():
                return " . ".join(filter(None, (inner[0], self.produced(pattern))))
            case algebra.Values(variables, rows):
                return f"VALUES ({' '.join(map(self.node, variables))}) {{ {len(rows)} rows }}"
            case algebra.Group(_, keys, _):
                return f"{inner[0]} GROUP BY {' '.join(map(self.node, keys))}".rstrip()
            case algebra.Slice(_, offset, limit):
                return f"{inner[0]} OFFSET {offset}" + ("" if limit is None else f" LIMIT {limit}")
        return inner[0]

    def _listed(self, arguments: Iterable[Expression]) -> str:
        return ", ".join(map(self.expression, arguments))


def _is_text(expression: Expression) -> bool:
    """Whether it is RDQL's reading of a term as text."""
    return isinstance(expression, Call) and expression.function == "TEXT"


def _lexical(expression: Expression) -> str:
    return expression.value if isinstance(expression, Literal) else ""


def _is_membership(condition: Expression) -> bool:
    return isinstance(condition, Operation) and condition.operator in ("in", "not in")
