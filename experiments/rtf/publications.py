"""Publications as triples with text (definition 2, line 134)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, RdfFormat, parse

from triplecast.text import words_of
from triplecast.text.words import fold

_STRING = "http://www.w3.org/2001/XMLSchema#string"

Text = Mapping[str, tuple[int, ...]]
"""Where each word of a literal stands, words counted from 0."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One triple, its terms as N-Triples."""

    subject: str
    predicate: str
    object: str
    text: Text | None
    """Of a literal that is a string or language-tagged; None: the object has no text."""

    @property
    def places(self) -> tuple[str, str, str]:
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class Publication:
    statements: tuple[Statement, ...]
    by_predicate: Mapping[str, tuple[Statement, ...]]
    size: int
    """Bytes of its N-Triples."""


def read_publication(lines: bytes) -> Publication:
    """From N-Triples. Words are cut and folded as the engine cuts them: both are asked the same."""
    statements = tuple(
        Statement(str(triple.subject), str(triple.predicate), str(triple.object), _read_text(triple.object))
        for triple in parse(lines, format=RdfFormat.N_TRIPLES)
    )
    by_predicate: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        by_predicate[statement.predicate].append(statement)
    return Publication(statements, {name: tuple(found) for name, found in by_predicate.items()}, len(lines))


def _read_text(term: object) -> Text | None:
    if not isinstance(term, Literal) or (term.language is None and term.datatype.value != _STRING):
        return None
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words_of(term.value)):
        places[fold(word)].append(place)
    return {word: tuple(found) for word, found in places.items()}
