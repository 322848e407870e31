"""The phrases that a text needs to satisfy a selection, by which the index files it."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from triplecast.text.grammar import parse_selection
from triplecast.text.query import PLAIN, And, Near, Not, Or, Phrase, Selection, in_case
from triplecast.text.score import term_weights
from triplecast.text.words import fold

ALTERNATIVES_LIMIT = 16
"""Most alternatives of a part of a selection; with more it is not used."""
PHRASE_LIMIT = 8
"""Most words of a phrase that the index files as one; a longer one is filed by its words."""

Alternative: TypeAlias = tuple[str, ...]
"""Folded words and phrases (words joined by one space) that occur together in a text, unique, in order."""


class Needed(NamedTuple):
    """Every text that satisfies the selection has all phrases of some alternative."""

    alternatives: tuple[Alternative, ...]
    """One empty alternative if nothing is needed."""
    exact: bool
    """There is one alternative, and every text with its phrases satisfies the selection."""


@lru_cache(maxsize=65_536)
def needed_phrases(text: str) -> Needed:
    """Return what the text of a selection needs. Raises `TextFault`."""
    return _needed(parse_selection(text))


@lru_cache(maxsize=65_536)
def needed_terms(terms: str) -> Needed:
    """Return what a score above 0 needs: one of the terms' words."""
    words = tuple((word,) for word in term_weights(terms))
    return Needed(words if len(words) <= ALTERNATIVES_LIMIT else ((),), False)


def _needed(selection: Selection) -> Needed:
    if isinstance(selection, Phrase):
        return _needed_of(selection)
    if isinstance(selection, And):
        parts = [_needed(part) for part in selection.parts]
        return Needed(_all_of(parts), all(part.exact for part in parts))
    if isinstance(selection, Or):
        parts = [_needed(part) for part in selection.parts]
        if len(parts) == 1:
            return parts[0]
        return Needed(_any_of(parts), False)
    if isinstance(selection, Not):
        return Needed(((),), False)
    if isinstance(selection, Near):
        return Needed(_all_of([_needed_of(part) for part in selection.parts]), False)
    return Needed(_needed(selection.part).alternatives, False)


def _needed_of(phrase: Phrase) -> Needed:
    if phrase.options.stemming or phrase.options.wildcards:
        return Needed(((),), False)
    words = tuple(fold(in_case(word, phrase.options)) for word in phrase.words)
    if len(words) > PHRASE_LIMIT:
        return Needed((tuple(dict.fromkeys(words)),), False)
    return Needed(((" ".join(words),),), phrase.options == PLAIN)


def _all_of(parts: list[Needed]) -> tuple[Alternative, ...]:
    """Multiply the alternatives of all parts, without those that would exceed the limit."""
    kept: list[tuple[Alternative, ...]] = []
    size = 1
    for part in sorted(parts, key=lambda part: len(part.alternatives)):
        if size * len(part.alternatives) <= ALTERNATIVES_LIMIT:
            kept.append(part.alternatives)
            size *= len(part.alternatives)
    merged = (tuple(dict.fromkeys(phrase for each in chosen for phrase in each)) for chosen in product(*kept))
    return tuple(dict.fromkeys(merged))


def _any_of(parts: list[Needed]) -> tuple[Alternative, ...]:
    merged = tuple(dict.fromkeys(each for part in parts for each in part.alternatives))
    return ((),) if len(merged) > ALTERNATIVES_LIMIT or () in merged else merged
