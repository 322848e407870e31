"""What every text that fulfils a selection holds: alternatives of phrases, as the index files them."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from triplecast.text.grammar import parse_selection
from triplecast.text.query import PLAIN, And, Near, Not, Or, Phrase, Selection, in_case
from triplecast.text.score import term_weights
from triplecast.text.words import fold

ALTERNATIVES_LIMIT = 16
"""Alternatives beyond which a part of a selection is not used."""
PHRASE_LIMIT = 8
"""Words of a phrase that the index knows as one; a longer one is known by its words."""

Alternative: TypeAlias = tuple[str, ...]
"""Folded words and phrases (words with one space between) that stand together in a text, each once, in order."""


class Needed(NamedTuple):
    """Every text that fulfils the selection has all phrases of some alternative."""

    alternatives: tuple[Alternative, ...]
    """One empty alternative: nothing is known."""
    exact: bool
    """There is one alternative, and every text that has its phrases fulfils the selection."""


@lru_cache(maxsize=65_536)
def needed_phrases(text: str) -> Needed:
    """For the text of a selection. Raises `TextFault`."""
    return _needed(parse_selection(text))


@lru_cache(maxsize=65_536)
def needed_terms(terms: str) -> Needed:
    """For a score above 0: one of the terms' words."""
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
    """The product; parts with many alternatives are left out where it would pass the limit."""
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
