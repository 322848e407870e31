"""Reads RDQL by recursive descent and answers it by trying every triple for every pattern (semantics 7.1).

Jena's grammar, and the cluster paper's ``AND`` between patterns, ``SUCHTHAT`` inside one, ``=`` and ``≠``. Prefixes
are known only at the end of a text, so nodes stay tokens until a term is asked for. Functions are those that `answer`
is given, by IRI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.reference.expressions import FALSE, FUNCTIONS, TRUE
from tests.reference.terms import STRING, XSD, Term, Triple, iri, literal, unescape
from tests.reference.values import TypeFault, compare, effective_boolean, value_of

Row = dict[str, Term]
Functions = Mapping[str, Callable[..., Term]]
"""By IRI; one raises `TypeFault` where it has no value."""

_TOKENS = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<variable>\?\w+) | (?P<iri><[^<>\s]+>) | (?P<name>[A-Za-z]\w*:[\w-]*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<match>[=!~]~\s*(?:/(?:[^/\\]|\\.)*/|m!(?:[^!\\]|\\.)*!)[a-z]*)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) | (?P<word>\w+)
      | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
      | (?P<sign>\^\^|&&|\|\||[=!<>]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_UNKNOWN_ESCAPE = re.compile(r"((?:\\\\)*)\\([^tbnrf\"'\\uU])")
"""Stands for its character."""
_WHOLE = re.compile(r"[+-]?[0-9]+")
_POINT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)")
_EXPONENT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")
_LEVELS = (
    ("||",),
    ("&&",),
    ("eq", "ne", "langeq"),
    ("==", "!=", "=", "≠"),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
)
"""Binary operators, those that bind least first."""


@dataclass
class Asked:
    """A query as written: nodes and leaves of expressions are (kind, text) pairs, ``op`` and its operands else."""

    columns: list[str] = field(default_factory=list)
    """Empty for ``*``."""
    patterns: list[tuple[Any, Any, Any]] = field(default_factory=list)
    constraints: list[Any] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)


class Misread(Exception):
    """Not what the reader expected here; it may try otherwise."""


def answer(text: str, triples: tuple[Triple, ...], functions: Functions | None = None) -> list[Row]:
    """The rows in no order, each as often as it comes."""
    asked = _Reader(text).query()
    asked.functions = functions or {}
    names = asked.columns or [node[1] for pattern in asked.patterns for node in pattern if node[0] == "variable"]
    kept = [row for row in _rows(asked, triples, 0, {}) if all(_holds(asked, part, row) for part in asked.constraints)]
    return [{name: row[name] for name in names if name in row} for row in kept]


class _Reader:
    def __init__(self, text: str) -> None:
        found = [(match.lastgroup, match[0]) for match in _TOKENS.finditer(text)]
        self.tokens = [token for token in found if token[0] != "space"]
        self.at = 0
        self.asked = Asked()

    def next(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ("end", "")

    def take(self, *texts: str) -> str | None:
        """The next token in lower case if it is one of these, else None and it stays."""
        token = self.tokens[self.at][1].lower() if self.at < len(self.tokens) else ""
        if token in texts:
            self.at += 1
            return token
        return None

    def need(self, *texts: str) -> None:
        if self.take(*texts) is None:
            raise Misread(f"expected {texts} at token {self.at}")

    def query(self) -> Asked:
        self.need("select")
        while not self.take("where", "*"):
            kind, text = self.next()
            if kind == "variable":
                self.asked.columns.append(text)
            elif kind == "end":
                raise Misread("no WHERE")
        while self.tokens[self.at - 1][1].lower() != "where":
            self.at += 1
        self.body()
        if self.take("using"):
            while self.at < len(self.tokens):
                name = self.next()[1]
                self.need("for")
                self.asked.prefixes[name] = self.next()[1][1:-1]
                self.take(",")
        if self.at < len(self.tokens):
            raise Misread(f"left over: {self.tokens[self.at :]}")
        return self.asked

    def body(self) -> None:
        self.pattern()
        constrained = False
        while True:
            if self.take("and", "suchthat"):
                constrained = not self.tried(self.pattern)
                if constrained:
                    self.asked.constraints.append(self.expression())
            elif constrained and self.take(","):
                self.asked.constraints.append(self.expression())
            elif constrained or not (self.tried(lambda: (self.need(","), self.pattern())) or self.tried(self.pattern)):
                return

    def tried(self, read: Any) -> bool:
        at, patterns, constraints = self.at, len(self.asked.patterns), len(self.asked.constraints)
        try:
            read()
        except Misread:
            self.at = at
            del self.asked.patterns[patterns:], self.asked.constraints[constraints:]
            return False
        return True

    def pattern(self) -> None:
        self.need("(")
        if self.tried(self.triple):
            return
        self.body()
        self.need(")")

    def triple(self) -> None:
        nodes = []
        for _ in range(3):
            self.take(",") if nodes else None
            nodes.append(("any", "*") if self.take("*") else self.leaf())
        self.need(")")
        if any(node[0] not in ("variable", "iri", "name", "any") for node in nodes[:2]):
            raise Misread("a literal as subject or predicate")
        self.asked.patterns.append((nodes[0], nodes[1], nodes[2]))

    def leaf(self) -> Any:
        kind, text = self.next()
        if text in ("-", "+"):
            return ("number", text + self.next()[1])
        if kind == "text":
            tagged = self.at < len(self.tokens) and self.tokens[self.at][0] == "tag"
            tag = self.next()[1][1:] if tagged else ""
            if self.take("^^"):
                return ("typed", text, self.next())
            return ("tagged", text, tag) if tagged else (kind, text)
        if kind in ("variable", "iri", "name", "number") or text.lower() in ("true", "false"):
            return (kind, text)
        raise Misread(f"no node: {text}")

    def expression(self, level: int = 0) -> Any:
        if level == len(_LEVELS):
            return self.unary()
        left = self.expression(level + 1)
        while True:
            if level == 2 and self.at < len(self.tokens) and self.tokens[self.at][0] == "match":
                left = ("match", left, self.next()[1])
                continue
            operator = self.take(*_LEVELS[level])
            if operator is None:
                return left
            left = (operator, left, self.expression(level + 1))

    def unary(self) -> Any:
        operator = self.take("!", "~", "-", "+")
        if operator is not None:
            return ("u!" if operator == "~" else f"u{operator}", self.unary())
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return inner
        leaf = self.leaf()
        if leaf[0] in ("iri", "name") and self.take("("):
            given = []
            while not self.take(")"):
                given.append(self.expression())
                self.take(",")
            return ("call", leaf, *given)
        return ("leaf", leaf)


# ---- answering ---------------------------------------------------------------------------------------------


def _rows(asked: Asked, triples: tuple[Triple, ...], number: int, row: Row) -> Iterator[Row]:
    if number == len(asked.patterns):
        yield row
        return
    for triple in triples:
        bound = dict(row)
        for node, term in zip(asked.patterns[number], triple, strict=True):
            wanted = (
                bound.setdefault(node[1], term) if node[0] == "variable" else node[0] != "any" and _term(asked, node)
            )
            if wanted and wanted != term:
                break
        else:
            yield from _rows(asked, triples, number + 1, bound)


def _term(asked: Asked, node: Any) -> Term:
    kind, text = node[0], node[1]
    if kind in ("iri", "name"):
        prefix, _, local = text.strip("<>").partition(":")
        return iri(asked.prefixes[prefix] + local) if prefix in asked.prefixes else iri(text.strip("<>"))
    if kind == "number":
        name = "double" if "e" in text.lower() else "decimal" if "." in text else "integer"
        return literal(text, XSD + name)
    if kind == "word":
        return literal(text.lower(), XSD + "boolean")
    lexical = unescape(_UNKNOWN_ESCAPE.sub(r"\1\2", text[1:-1]))
    if kind == "tagged":
        return literal(lexical, language=node[2])
    return literal(lexical, _term(asked, node[2])[1] if kind == "typed" else STRING)


def _holds(asked: Asked, expression: Any, row: Row) -> bool:
    try:
        return effective_boolean(_number(_value(asked, expression, row)))
    except TypeFault:
        return False


def _value(asked: Asked, expression: Any, row: Row) -> Term:
    operator, *arguments = expression
    if operator == "leaf":
        ((kind, text, *_),) = arguments
        if kind == "variable" and text not in row:
            raise TypeFault(f"{text} has no value")
        return row[text] if kind == "variable" else _term(asked, arguments[0])
    if operator in ("&&", "||"):
        return _connected(asked, operator == "||", arguments, row)
    if operator == "match":
        return _matched(_text(_value(asked, arguments[0], row)), arguments[1])
    if operator == "call":
        name = _term(asked, arguments[0])[1]
        return asked.functions[name](*(_value(asked, argument, row) for argument in arguments[1:]))
    terms = [_value(asked, argument, row) for argument in arguments]
    if operator == "langeq":
        return TRUE if _has_language(*terms) else FALSE
    if operator in ("eq", "ne") and any(_is_exact(asked, argument) for argument in arguments):
        return TRUE if (terms[0] == terms[1]) == (operator == "eq") else FALSE
    if operator in ("eq", "ne"):
        return TRUE if (_text(terms[0]) == _text(terms[1])) == (operator == "eq") else FALSE
    numbers = [_number(term) for term in terms]
    if operator == "u!":
        return FALSE if effective_boolean(numbers[0]) else TRUE
    operator = {"==": "=", "≠": "!="}.get(operator, operator)
    if operator in ("=", "!=", "<", "<=", ">", ">="):
        return TRUE if compare(operator, *numbers) else FALSE
    return FUNCTIONS[operator](*numbers)


def _is_exact(asked: Asked, expression: Any) -> bool:
    """Whether it is a constant with a tag, or with a datatype that is not that of strings."""
    return expression[0] == "leaf" and expression[1][0] in ("tagged", "typed") and _is_no_string(asked, expression[1])


def _is_no_string(asked: Asked, leaf: Any) -> bool:
    return _term(asked, leaf)[2] != STRING


def _has_language(term: Term, wanted: Term) -> bool:
    """A tag with a hyphen is compared whole, another with the first part of the literal's."""
    if term[0] != "literal":
        return False
    language = wanted[1].lower()
    return (term[3] if "-" in language else term[3].split("-")[0]) == language


def _connected(asked: Asked, decisive: bool, arguments: list[Any], row: Row) -> Term:
    fault = None
    for argument in arguments:
        try:
            if effective_boolean(_number(_value(asked, argument, row))) is decisive:
                return TRUE if decisive else FALSE
        except TypeFault as found:
            fault = found
    if fault is not None:
        raise fault
    return FALSE if decisive else TRUE


def _matched(text: str, written: str) -> Term:
    found = re.fullmatch(r"([=!~])~\s*(?:/|m!)(.*)[/!]([a-z]*)", written, re.DOTALL)
    assert found is not None
    flags = re.IGNORECASE if "i" in found[3] else 0
    return TRUE if (re.search(found[2], text, flags) is not None) == (found[1] != "!") else FALSE


def _number(term: Term) -> Term:
    """A string that is written as a number is that number."""
    if term[0] != "literal" or term[2] != STRING:
        return term
    for form, name in ((_WHOLE, "integer"), (_POINT, "decimal"), (_EXPONENT, "double")):
        if form.fullmatch(term[1]):
            number = literal(term[1], XSD + name)
            return literal(term[1], XSD + "double") if value_of(number).family == "ill-typed" else number
    return term


def _text(term: Term) -> str:
    return f"_:{term[1]}" if term[0] == "blank" else term[1]
