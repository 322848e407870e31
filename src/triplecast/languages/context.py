"""The state of translating one query's tree, from the leaves up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lark.lexer import Token
from pyoxigraph import Literal, NamedNode

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages.prefixes import Namespace
from triplecast.languages.tokens import Source, number_of
from triplecast.languages.vocabularies import RDF
from triplecast.model.algebra import Aggregate, Expression, Slot, Variable
from triplecast.model.operators import OperatorSet
from triplecast.terms.values import XSD

BOOLEAN = NamedNode(XSD + "boolean")
TYPE = NamedNode(RDF + "type")
NIL, FIRST, REST = NamedNode(RDF + "nil"), NamedNode(RDF + "first"), NamedNode(RDF + "rest")


@dataclass(slots=True)
class Translation:
    """One query in the making.

    A constant of the text becomes ``Slot(n)``, n its number among the matches of `tokens.TOKEN`, unless a plan depends
    on it: then it stays a term, and n is in `pinned`.
    """

    source: Source
    namespace: Namespace
    tokens: dict[int, Token]
    """The tokens after the prologue by number."""
    operators: OperatorSet
    """Those that the text may call."""
    blanks: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, Token] = field(default_factory=dict)
    """Labels of blank nodes since the last complete block of triples, each with its first token."""
    homes: set[str] = field(default_factory=set)
    """Names of blank nodes whose basic graph pattern is complete."""
    aggregates: dict[Variable, tuple[Aggregate, Token]] = field(default_factory=dict)
    """Each aggregate by the hidden variable that replaces it in expressions."""
    pinned: set[int] = field(default_factory=set)
    lowered: set[int] = field(default_factory=set)
    """Constants that are compared with ``LANG(…)``."""
    graphs: set[int] = field(default_factory=set)
    """Constants that name a graph."""
    texts: dict[int, str] = field(default_factory=dict)
    """Constants that are texts of full-text functions, by the function's IRI."""
    searches: list[Any] = field(default_factory=list)
    """Triples since the last block whose predicates are searches (`searches.Search`)."""
    productions: list[Any] = field(default_factory=list)
    """Triples since the last block whose predicates are operators (`operators.Production`)."""
    befores: dict[Variable, tuple[Variable, Token]] = field(default_factory=dict)
    """Each ``tc:before(?v)`` by the hidden variable that replaces it in expressions."""
    updates: tuple[Expression, ...] = ()
    """The conditions with these, of the group read last."""
    notes: list[str] = field(default_factory=list)
    """How foreign forms were read."""
    made: int = 0

    def fresh(self, letter: str) -> Variable:
        """Make a hidden variable; the letter marks its kind and keeps kinds apart."""
        self.made += 1
        return Variable(f"_:{letter}{self.made}")

    def blank(self, label: str) -> Variable:
        if label not in self.blanks:
            self.blanks[label] = self.fresh("b")
        return self.blanks[label]

    def fault(self, token: Token, message: str, expected: tuple[str, ...] = ()) -> QuerySyntaxError:
        return self.source.fault(token, message, expected)

    def refusal(self, token: Token, construct: str, reason: str, hint: str) -> QueryRefused:
        return self.source.refusal(token, construct, reason, hint)

    def slot(self, token: Token) -> Slot:
        return Slot(number_of(token))

    def resolve(self, token: Token) -> NamedNode | Literal:
        try:
            return self.namespace.term(str(token))
        except ValueError as error:
            raise self.fault(token, str(error)) from error

    def pin(self, slot: Slot) -> NamedNode | Literal:
        """The term of a slot, from now on part of the template."""
        self.keep(self.tokens[slot.index])
        return self.resolve(self.tokens[slot.index])

    def keep(self, token: Token) -> None:
        """Makes a constant part of the template: texts that differ in it have different ones."""
        self.pinned.add(number_of(token))

    def first_of(self, *kinds: str) -> Token:
        """The first token of one of these kinds, of which there is one."""
        return next(token for token in self.tokens.values() if token.type in kinds)

    def node(self, child: Any) -> Any:
        """The value of a token; any other child is a value already."""
        if not isinstance(child, Token):
            return child
        match child.type:
            case "VAR":
                return Variable(str(child)[1:])
            case "A":
                return TYPE
            case "NIL":
                return NIL
            case "BLANK":
                self.labels.setdefault(str(child), child)
                return self.blank(str(child))
            case "ANON":
                return self.fresh("b")
            case "BOOLEAN":
                return Literal(child.lower(), datatype=BOOLEAN)
        return self.slot(child)
