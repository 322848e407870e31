"""Query languages: text to the algebra. Every language has a `parse_query` and a `parse_template`, chosen by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from lark.lexer import Token

from triplecast.errors import QueryRefused
from triplecast.languages.dialect import Dialect, Parsed
from triplecast.languages.rdql import RDQL, sources
from triplecast.languages.rdql import TOKEN as RDQL_TOKEN
from triplecast.languages.rule_algebra import RULE
from triplecast.languages.rule_syntax import TOKEN as RULE_TOKEN
from triplecast.languages.sparql import SPARQL
from triplecast.languages.template import SlotKind, Template, TemplateCache, fill, parse_whole, shared_cache, text_of
from triplecast.languages.tokens import TOKEN, open_source
from triplecast.model.algebra import Expression, Query, Term, Variable, to_ntriples
from triplecast.model.operators import NO_OPERATORS, OperatorSet

__all__ = [
    "SlotKind", "Template", "directives", "fill", "parse_query", "parse_template", "place_of_argument", "prefixes_of",
    "sources_of", "text_of", "unread_directive", "updates_of",
]  # fmt: skip

_DIALECTS: Mapping[str, Dialect] = MappingProxyType({"sparql": SPARQL, "rdql": RDQL, "rule": RULE})
_TOKENS = MappingProxyType({"rdql": RDQL_TOKEN, "rule": RULE_TOKEN})
_DIRECTIVE = r"#[ \t]*triplecast:([^\r\n]*)"
_DIRECTIVES = re.compile(
    r"\ufeff?(?:\s++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|#(?![ \t]*triplecast:)[^\r\n]*+)*+" + _DIRECTIVE
)
"""The first of the comments above a query that is one."""
_PAIR = re.compile(r"([A-Za-z_]+)\s*=\s*([^\s,;]+)")


def directives(text: str) -> dict[str, str]:
    """Read the options of a comment ``# triplecast: entailment=rdfs`` above the query, by lower-case name."""
    if "triplecast:" not in text:
        return {}
    line = _DIRECTIVES.match(text)
    return {name.lower(): value for name, value in _PAIR.findall(line[1])} if line else {}


def unread_directive(text: str, language: str) -> tuple[int, str] | None:
    """Line and text of the first comment ``# triplecast: …`` that `directives` does not read: one below the first
    line of the query, or a second one."""
    if re.search(_DIRECTIVE, text) is None:
        return None
    source = open_source(text, None)
    header = _DIRECTIVES.match(source.text)
    for token in _TOKENS.get(language, TOKEN).finditer(source.text, header.end() if header else 0):
        if re.match(_DIRECTIVE, token[0]):
            return source.place(token.start())[0], token[0].rstrip()
    return None


def parse_query(
    text: str, language: str = "sparql", name: str | None = None, operators: OperatorSet = NO_OPERATORS
) -> Query:
    """Raises `QuerySyntaxError` and `QueryRefused`, the latter for an unknown language too."""
    return parse_whole(_dialect(language, name), text, name, operators)


def parse_template(
    text: str, language: str = "sparql", name: str | None = None, operators: OperatorSet = NO_OPERATORS
) -> tuple[Template, tuple[str, ...]]:
    """The text's template and the constants lifted out of it, in N-Triples form:
    ``fill(template.query, constants) == parse_query(text)``. Raises what `parse_query` raises."""
    if language not in _DIALECTS:
        _dialect(language, name)
    return _cache_of(language, operators).read(text, name)


@lru_cache(maxsize=16)
def _cache_of(language: str, operators: OperatorSet) -> TemplateCache:
    return shared_cache(_dialect(language), operators)


def updates_of(text: str, language: str = "sparql", operators: OperatorSet = NO_OPERATORS) -> tuple[Expression, ...]:
    """The conditions of an update that a text that parses has (`languages.updates`)."""
    return parse_template(text, language, operators=operators)[0].updates if "before" in text else ()


def prefixes_of(text: str, language: str = "sparql") -> Mapping[str, str]:
    """Prefix to namespace as a text that parses declares them, or as they are declared for all."""
    dialect = _dialect(language)
    return dialect.namespace(dialect.cut(open_source(text, None).text).declarations).prefixes


def sources_of(text: str, language: str) -> tuple[str, ...]:
    """What an RDQL text that parses names after ``FROM``; SPARQL's ``FROM`` is refused."""
    return sources(text) if language == "rdql" else ()


def place_of_argument(
    text: str, language: str, operator: str, argument: Variable | Term, operators: OperatorSet
) -> tuple[int, int] | None:
    """Line and column, from 1, of an operator's argument in a text that parses: its first occurrence in the brackets
    after the operator's name, else the occurrence nearest to that name. None where the text lacks one of them as
    written."""
    parsed = _dialect(language).parse(text, None, operators)
    written = f"?{argument.name}" if isinstance(argument, Variable) else to_ntriples(argument)
    tokens = list(parsed.tokens.values())
    names = [_name_of(parsed, token) for token in tokens]
    calls = [place for place, name in enumerate(names) if name == f"<{operator}>"]
    places = [place for place, name in enumerate(names) if name == written]
    if not calls or not places:
        return None
    within = [place for call in calls for place in places if call < place < _end_of_brackets(tokens, call + 1)]
    nearest = min(places, key=lambda place: (min(abs(place - call) for call in calls), place))
    line, column, _ = parsed.source.place(tokens[within[0] if within else nearest].start_pos or 0)
    return line, column


def _end_of_brackets(tokens: Sequence[Token], start: int) -> int:
    """The place of the bracket that closes the one at `start`; `start` itself where none opens."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] == "(") - (tokens[place] == ")")
        if depth == 0:
            return place
    return start


def _name_of(parsed: Parsed, token: Token) -> str:
    """The variable, or the term in N-Triples form, that a token is; empty for any other."""
    if token.type == "VAR":
        return f"?{token[1:]}"
    try:
        return to_ntriples(parsed.namespace.term(str(token)))
    except ValueError:
        return ""


def _dialect(language: str, name: str | None = None) -> Dialect:
    dialect = _DIALECTS.get(language)
    if dialect is not None:
        return dialect
    if language.lower() in _DIALECTS:
        reason, hint = "names of languages are lower case", f'write "{language.lower()}"'
    else:
        reason = "it is no query language of Triplecast"
        hint = f"known are {', '.join(_DIALECTS)}"
    raise QueryRefused(f"language {language}", reason, hint, name=name)
