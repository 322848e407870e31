"""Query languages: text to the algebra. Every language has a `parse_query` and a `parse_template`, chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from triplecast.errors import QueryRefused
from triplecast.languages.dialect import Dialect
from triplecast.languages.directives import directives
from triplecast.languages.places import find_argument
from triplecast.languages.rdql import RDQL, sources
from triplecast.languages.sparql import SPARQL
from triplecast.languages.template import SlotKind, Template, fill, parse_whole, shared_cache, text_of
from triplecast.languages.tokens import open_source
from triplecast.model.algebra import Query, Term, Variable
from triplecast.model.operators import NO_OPERATORS, OperatorSet

__all__ = [
    "SlotKind",
    "Template",
    "directives",
    "fill",
    "parse_query",
    "parse_template",
    "place_of_argument",
    "prefixes_of",
    "sources_of",
    "text_of",
]

_DIALECTS: Mapping[str, Dialect] = MappingProxyType({"sparql": SPARQL, "rdql": RDQL})
_LATER = ("rule",)


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
    return shared_cache(_dialect(language, name), operators).read(text, name)


def prefixes_of(text: str, language: str = "sparql") -> Mapping[str, str]:
    """Prefix to namespace as a text that parses declares them, or as they are declared for all."""
    dialect = _dialect(language, None)
    return dialect.namespace(dialect.cut(open_source(text, None).text).declarations).prefixes


def place_of_argument(
    text: str, language: str, operator: str, argument: Variable | Term, operators: OperatorSet
) -> tuple[int, int] | None:
    """Line and column of an operator's argument in a text that parses (`places.find_argument`)."""
    return find_argument(_dialect(language, None).parse(text, None, operators), operator, argument)


def sources_of(text: str, language: str) -> tuple[str, ...]:
    """What an RDQL text that parses names after ``FROM``; SPARQL's ``FROM`` is refused."""
    return sources(text) if language == "rdql" else ()


def _dialect(language: str, name: str | None) -> Dialect:
    dialect = _DIALECTS.get(language)
    if dialect is not None:
        return dialect
    if language in _LATER:
        raise QueryRefused(
            f"language {language}",
            "it is not built yet in this version",
            f"write the subscription in {' or '.join(_DIALECTS)}",
            name=name,
        )
    if language.lower() in _DIALECTS:
        raise QueryRefused(
            f"language {language}", "names of languages are lower case", f'write "{language.lower()}"', name=name
        )
    raise QueryRefused(
        f"language {language}",
        "it is no query language of Triplecast",
        f"known are {', '.join(_DIALECTS)}, and later {', '.join(_LATER)}",
        name=name,
    )
