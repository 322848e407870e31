"""From the constants of a query's text to terms: declared prefixes, the base IRI, escapes, numbers as written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from lark.lexer import Token
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from triplecast.languages.tokens import LITERAL_PARTS, Source, unescape_string
from triplecast.languages.vocabularies import DECLARED, suggest_prefix
from triplecast.terms.values import XSD

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_SCHEMES = frozenset({"content", "geo"})
"""Declared for all, and schemes of IRIs as well: in angle brackets they are that, unless the query declares them."""


class Notation(NamedTuple):
    """How a language writes names and triples."""

    declaration: str
    """With ``{}`` in the place of a prefix."""
    loose: bool
    """Names may also be in angle brackets, and IRIs with ``://`` outside them; a string's unknown escape stands for its
    character, and a datatype makes its tag void."""
    triple: str
    """With ``{}`` in the places of its nodes."""
    lists: bool
    """A node may be a list of nodes in brackets."""


_NOTATION = Notation("PREFIX {}: <…>", loose=False, triple="{} {} {}", lists=True)


class Namespace:
    """What names mean in one query: its prefixes and base.

    All methods raise ValueError, with a reason to show, for a text that is no term.
    """

    __slots__ = ("base", "notation", "prefixes")

    def __init__(self, prefixes: Mapping[str, str], base: str | None, notation: Notation = _NOTATION) -> None:
        self.prefixes = prefixes
        self.base = base
        self.notation = notation

    def iri(self, token: str) -> str:
        """The absolute IRI of ``<…>`` or ``prefix:local``; nothing is normalised."""
        if token[0] == "<" and not self._is_bracketed_name(token):
            return self._absolute(token[1:-1])
        prefix, _, local = token.strip("<>").partition(":")
        if local[:2] == "//" and token[0] != "<" and self.notation.loose:
            return token
        start = self.prefixes.get(prefix)
        if start is None:
            near, namespace = suggest_prefix(prefix, self.prefixes)
            declaration = self.notation.declaration.format(prefix).replace("…", namespace)
            hint = f"write {near}: or " if near else ""
            raise ValueError(f"the prefix {prefix}: is not declared; {hint}add {declaration}")
        return start + (_LOCAL_ESCAPE.sub(r"\1", local) if "\\" in local else local)

    def _is_bracketed_name(self, token: str) -> bool:
        prefix = token[1:].partition(":")[0]
        declared = self.prefixes.get(prefix) if self.notation.loose else None
        return declared is not None and (prefix not in _SCHEMES or declared != DECLARED[prefix])

    def _absolute(self, reference: str) -> str:
        if _ABSOLUTE.match(reference):
            return reference
        if self.base is None:
            raise ValueError(f"<{reference}> is relative and the query has no BASE; write the whole IRI")
        try:
            (triple,) = parse(f"<{reference}> <x:p> <x:o> .".encode(), format=RdfFormat.TURTLE, base_iri=self.base)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"<{reference}> cannot be resolved against <{self.base}>") from error
        if not isinstance(triple.subject, NamedNode):
            raise ValueError(f"<{reference}> cannot be resolved against <{self.base}>")
        return triple.subject.value

    def term(self, token: str) -> NamedNode | Literal:
        """The term of a constant: an IRI, string, tagged or typed literal, or number (its lexical form as written)."""
        first = token[0]
        if first in "\"'":
            return self._literal(token)
        if first in "+-.0123456789":
            return Literal(token, datatype=NamedNode(XSD + _number_type(token)))
        return self.named(token)

    def named(self, token: str) -> NamedNode:
        iri = self.iri(token)
        try:
            return NamedNode(iri)
        except ValueError as error:
            raise ValueError(f"<{iri}> is no IRI: {error}") from error

    def _literal(self, token: str) -> Literal:
        parts = LITERAL_PARTS.fullmatch(token)
        if parts is None:
            raise ValueError(f"{token} is no literal")
        value = unescape_string(parts[1], self.notation.loose)
        if parts[2] and not parts[3]:
            tag = parts[2].lower()
            try:
                return Literal(value, language=tag)
            except ValueError as error:
                raise ValueError(f"@{parts[2]} is no language tag: {error}") from error
        return Literal(value, datatype=self.named(parts[3])) if parts[3] else Literal(value)


def _number_type(token: str) -> str:
    if "e" in token or "E" in token:
        return "double"
    return "decimal" if "." in token else "integer"


def read_prologue(source: Source, tokens: Iterator[Token]) -> tuple[Namespace, Iterator[Token]]:
    """The namespace that the declarations at the head of `tokens` make, and the tokens that follow."""
    prefixes = dict(DECLARED)
    base: str | None = None
    for keyword in tokens:
        if keyword.type not in ("PREFIX", "BASE"):
            return Namespace(MappingProxyType(prefixes), base), chain([keyword], tokens)
        prefix = ""
        if keyword.type == "PREFIX":
            name = _expect(source, tokens, "a prefix that ends with a colon, like dc:", keyword)
            if name.type != "IRI" or name.find(":") != len(name) - 1:
                raise source.fault(name, f"unexpected {name}", ("a prefix that ends with a colon, like dc:",))
            prefix = str(name)[:-1]
        reference = _expect(source, tokens, "an IRI in angle brackets", keyword)
        if not reference.startswith("<") or reference.type != "IRI":
            raise source.fault(reference, f"unexpected {reference}", ("an IRI in angle brackets",))
        try:
            iri = Namespace(prefixes, base).named(str(reference)).value
        except ValueError as error:
            raise source.fault(reference, str(error)) from error
        if keyword.type == "BASE":
            base = iri
        else:
            prefixes[prefix] = iri
    return Namespace(MappingProxyType(prefixes), base), tokens


def _expect(source: Source, tokens: Iterator[Token], wanted: str, after: Token) -> Token:
    for token in tokens:
        return token
    raise source.fault(after, f"nothing follows {after}", (wanted,))
