"""Query languages: text to the algebra. Every language has a `parse_query` and a `parse_template`, chosen by name."""

from __future__ import annotations

from triplecast.errors import QueryRefused
from triplecast.languages.directives import directives
from triplecast.languages.prefixes import prefixes_of
from triplecast.languages.template import SlotKind, Template, fill, parse_whole, shared_cache
from triplecast.model.algebra import Query

__all__ = ["SlotKind", "Template", "directives", "fill", "parse_query", "parse_template", "prefixes_of"]

_LATER = ("rdql", "rule")


def parse_query(text: str, language: str = "sparql", name: str | None = None) -> Query:
    """Raises `QuerySyntaxError` and `QueryRefused`, the latter for an unknown language too."""
    _check_language(language, name)
    return parse_whole(text, name)


def parse_template(text: str, language: str = "sparql", name: str | None = None) -> tuple[Template, tuple[str, ...]]:
    """The text's template and the constants lifted out of it, in N-Triples form:
    ``fill(template.query, constants) == parse_query(text)``. Raises what `parse_query` raises."""
    if language != "sparql":
        _check_language(language, name)
    return shared_cache().read(text, name)


def _check_language(language: str, name: str | None) -> None:
    if language == "sparql":
        return
    if language in _LATER:
        raise QueryRefused(
            f"language {language}", "it is not built yet in this version", "write the subscription in sparql", name=name
        )
    raise QueryRefused(
        f"language {language}",
        "it is no query language of Triplecast",
        "known are sparql, and later rdql and rule",
        name=name,
    )
