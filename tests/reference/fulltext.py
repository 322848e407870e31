"""A slow reader of full-text selections: every choice of places for every phrase, then a check of the whole.

It shares nothing with the product: texts are given as words with the forms in which they compare, so it neither cuts
nor folds; a selection is built, not parsed; and it does not search but tries all choices (`places` per phrase, or none
for an alternative that is not taken) and asks of each whether every rule of semantics 5 holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise, product

from tests.reference.values import NotDetermined


@dataclass(frozen=True)
class Word:
    """A word as written, without case, without marks, without either, and its English stem (None: not known)."""

    written: str
    uncased: str
    unmarked: str
    folded: str
    stem: str | None


@dataclass(frozen=True)
class Phrase:
    """`wildcards`: its words are regular expressions, in the part of their syntax that wildcards share."""

    words: tuple[Word, ...]
    case: bool = False
    marks: bool = False
    stemming: bool = False
    wildcards: bool = False
    number: int = field(default_factory=count().__next__, compare=False)

    def render(self) -> str:
        options = [" using case sensitive"] * self.case + [" using diacritics sensitive"] * self.marks
        options += [" using stemming"] * self.stemming + [" using wildcards"] * self.wildcards
        return '"' + " ".join(word.written for word in self.words) + '"' + "".join(options)

    def form(self, word: Word, english: bool) -> str:
        if self.stemming and english:
            if word.stem is None:
                raise NotDetermined(f"the stem of {word.written}")
            return word.stem
        if self.case:
            return word.written if self.marks else word.unmarked
        return word.uncased if self.marks else word.folded

    def starts(self, text: tuple[Word, ...], english: bool) -> list[int]:
        wanted = [self.form(word, english) for word in self.words]
        here = [self.form(word, english) for word in text]
        if self.wildcards:
            fits = [[re.fullmatch(pattern, word, re.DOTALL) is not None for word in here] for pattern in wanted]
            last = len(here) - len(wanted)
            return [at for at in range(last + 1) if all(found[at + place] for place, found in enumerate(fits))]
        return [at for at in range(len(here)) if here[at : at + len(wanted)] == wanted]


@dataclass(frozen=True)
class Both:
    """`short`: of single words without options, written ``"a b" all words``."""

    parts: tuple[Selection, ...]
    short: bool = False


@dataclass(frozen=True)
class Either:
    """`short`: of single words without options, written ``"a b" any word``."""

    parts: tuple[Selection, ...]
    short: bool = False


@dataclass(frozen=True)
class Never:
    part: Selection


@dataclass(frozen=True)
class Chain:
    """ftnear."""

    parts: tuple[Phrase, ...]
    gaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Filtered:
    """`rule` is ``ordered``, ``window`` (with `most`) or ``distance``."""

    part: Selection
    rule: str
    least: int | None = None
    most: int | None = None


Selection = Phrase | Both | Either | Never | Chain | Filtered
Spans = list[tuple[int, int, int]]
"""(first word, last word, number of the phrase)."""


def render(selection: Selection) -> str:
    """The selection as a subscriber writes it, every part in brackets."""
    match selection:
        case Phrase():
            return selection.render()
        case Both(parts, True) | Either(parts, True):
            listed = " ".join(part.words[0].written for part in parts)
            return f'"{listed}" {"all words" if isinstance(selection, Both) else "any word"}'
        case Both(parts):
            return " ftand ".join(f"({render(part)})" for part in parts)
        case Either(parts):
            return " ftor ".join(f"({render(part)})" for part in parts)
        case Never(part):
            return f"ftnot ({render(part)})"
        case Chain(parts, gaps):
            links = "".join(f" ftnear[{a},{b}] {part.render()}" for (a, b), part in zip(gaps, parts[1:], strict=True))
            return parts[0].render() + links
        case Filtered(part, "ordered"):
            return f"({render(part)}) ordered"
        case Filtered(part, "window", _, size):
            return f"({render(part)}) window {size} words"
        case Filtered(part, _, least, most):
            if least is None:
                return f"({render(part)}) distance at most {most} words"
            if most is None:
                return f"({render(part)}) distance at least {least} words"
            if least == most:
                return f"({render(part)}) distance exactly {least} words"
            return f"({render(part)}) distance from {least} to {most} words"
    raise AssertionError(selection)


def fulfils(selection: Selection, text: tuple[Word, ...], english: bool) -> bool:
    match selection:
        case Both(parts):
            return all(fulfils(part, text, english) for part in parts)
        case Either(parts):
            return any(fulfils(part, text, english) for part in parts)
        case Never(part):
            return not fulfils(part, text, english)
    phrases = list(phrases_of(selection))
    choices = [[None, *phrase.starts(text, english)] for phrase in phrases]
    for chosen in product(*choices):
        places = {
            phrase.number: None if at is None else (at, at + len(phrase.words) - 1)
            for phrase, at in zip(phrases, chosen, strict=True)
        }
        order = {phrase.number: place for place, phrase in enumerate(phrases)}
        if _spans(selection, places, order) is not None:
            return True
    return False


def phrases_of(selection: Selection) -> Iterator[Phrase]:
    match selection:
        case Phrase():
            yield selection
        case Both(parts) | Either(parts) | Chain(parts, _):
            for part in parts:
                yield from phrases_of(part)
        case Filtered(part, _, _, _) | Never(part):
            yield from phrases_of(part)


def _unused(selection: Selection, places: dict[int, tuple[int, int] | None]) -> bool:
    return all(places[phrase.number] is None for phrase in phrases_of(selection))


def _spans(selection: Selection, places: dict[int, tuple[int, int] | None], order: dict[int, int]) -> Spans | None:
    """The spans of a selection under one choice; None where the choice breaks a rule."""
    match selection:
        case Phrase():
            place = places[selection.number]
            return None if place is None else [(*place, order[selection.number])]
        case Both(parts):
            found = [_spans(part, places, order) for part in parts]
            return None if None in found else [span for spans in found for span in spans]
        case Either(parts):
            taken = [part for part in parts if not _unused(part, places)]
            return _spans(taken[0], places, order) if len(taken) == 1 else None
        case Chain(parts, gaps):
            links = [places[part.number] for part in parts]
            if None in links:
                return None
            for (least, most), left, right in zip(gaps, links[:-1], links[1:], strict=True):
                if not (left[0] < right[0] and least <= right[0] - left[1] - 1 <= most):
                    return None
            return [(*place, order[part.number]) for place, part in zip(links, parts, strict=True)]
        case Filtered(part, rule, least, most):
            spans = _spans(part, places, order)
            return None if spans is None else _filtered(sorted(spans), rule, least, most)
    raise AssertionError(selection)


def _filtered(spans: Spans, rule: str, least: int | None, most: int | None) -> Spans | None:
    if rule == "ordered":
        pairs = [(one, two) for one in spans for two in spans if one[2] < two[2]]
        return spans if all(one[0] <= two[0] for one, two in pairs) else None
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    if rule == "window" and last - first + 1 > most:
        return None
    if rule == "distance":
        for left, right in pairwise(spans):
            between = right[0] - left[1] - 1
            if (least is not None and between < least) or (most is not None and between > most):
                return None
    return [(first, last, min(span[2] for span in spans))]


def cosine(text: tuple[Word, ...], terms: tuple[Word, ...]) -> float:
    """``ft:score`` from its definition, without rounding."""
    from math import log, sqrt

    def weights(words: tuple[Word, ...]) -> dict[str, float]:
        folded = [word.folded for word in words]
        return {word: 1 + log(folded.count(word)) for word in folded}

    one, two = weights(text), weights(terms)
    norm = sqrt(sum(weight**2 for weight in one.values())) * sqrt(sum(weight**2 for weight in two.values()))
    return sum(one[word] * two[word] for word in one if word in two) / norm if norm else 0.0
