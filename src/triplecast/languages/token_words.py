"""The grammar's tokens in words, for the "expected: …" of syntax errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from triplecast.languages.tokens import PUNCTUATION

_WORDS = MappingProxyType(
    {
        "VAR": "a variable like ?x",
        "IRI": "an IRI or a name like dc:title",
        "STRING": "a string",
        "LITERAL": "a literal",
        "INTEGER": "a whole number",
        "NUMBER": "a number",
        "SIGNED": "a number",
        "BOOLEAN": "true or false",
        "BLANK": "a blank node",
        "ANON": "a blank node",
        "NIL": "()",
        "FUNCTION": "a function",
        "SET_FUNCTION": "an aggregate",
        "COUNT": "an aggregate",
        "GROUP_CONCAT": "an aggregate",
        "COMPARISON": "a comparison",
        "EQUAL": "=",
        "A": "a (rdf:type)",
        "FTCONTAINS": "a function",
        "$END": "the end of the query",
        **{name: text for text, name in PUNCTUATION.items() if name not in ("COMPARISON", "EQUAL", "A")},
    }
)
_MANY = frozenset({"STRING", "LITERAL", "INTEGER", "NUMBER", "SIGNED", "BOOLEAN"})


_NO_WORDS: Mapping[str, str] = MappingProxyType({})


def describe(terminals: Iterable[str], own: Mapping[str, str] = _NO_WORDS) -> tuple[str, ...]:
    """Words for a set of terminals, sorted; the kinds of literal are one word where all are allowed. `own` are a
    language's that differ from SPARQL's."""
    names = set(terminals)
    words = []
    if names >= _MANY:
        names -= _MANY
        words.append("a literal")
    words.extend(own.get(name) or _WORDS.get(name, name.lstrip("_")) for name in names)
    return tuple(sorted(set(words)))
