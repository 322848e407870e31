"""Match a literal's text against a selection (XQuery Full Text 1.0, section 4), one literal at a time.

A match is a set of spans, one for each phrase that takes part. ``distance`` and ``window`` join the spans of a match
into one, as the recommendation's ``joinIncludes`` does, so that filters around them see one span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from triplecast.text.query import And, Distance, Near, Not, Or, Ordered, Phrase, Selection, Window, in_case, phrases_in
from triplecast.text.wildcards import compile_pattern, count_positions
from triplecast.text.words import Form, fold, places_of, stemmer_of, words_of

Spend = Callable[[int], None]
"""Called with the steps of work before it is done; raises when the budget is spent."""
CHARACTERS_A_STEP = 8
"""Characters of a text that is cut into words, for one step."""
PATTERN_CHARACTERS_A_STEP = 64
"""Characters matched with a pattern of at most `POSITIONS_A_CHARACTER` positions, for one step."""
POSITIONS_A_CHARACTER = 16


class Span(NamedTuple):
    """Words `start` to `end`, both included, counted from 0."""

    start: int
    end: int
    number: int
    """The place of its phrase in the query."""


Match = tuple[Span, ...]


def holds(selection: Selection, text: str, language: str | None, spend: Spend) -> bool:
    """Whether a literal with this text and language tag satisfies the selection."""
    return _Literal(text, language, spend).holds(selection)


def find_spans(selection: Selection, text: str, language: str | None, spend: Spend) -> list[Span]:
    """Return the first span of each phrase that has one, without negated phrases, for an explanation."""
    literal = _Literal(text, language, spend)
    spans = [literal.spans(phrase, number) for number, phrase in enumerate(phrases_in(selection, negated=False))]
    return [found[0] for found in spans if found]


class _Literal:
    def __init__(self, text: str, language: str | None, spend: Spend) -> None:
        self.text = text
        self.language = language
        self.spend = spend
        spend(1 + len(text) // CHARACTERS_A_STEP)

    def holds(self, selection: Selection) -> bool:
        self.spend(1)
        match selection:
            case And(parts):
                return all(self.holds(part) for part in parts)
            case Or(parts):
                return any(self.holds(part) for part in parts)
            case Not(part):
                return not self.holds(part)
            case Phrase():
                return bool(self.spans(selection, 0))
        return next(self.matches(selection, 0), None) is not None

    def matches(self, selection: Selection, number: int) -> Iterator[Match]:
        """Yield all matches of a selection without `Not`, its phrases numbered from `number`."""
        match selection:
            case Phrase():
                yield from ((span,) for span in self.spans(selection, number))
            case And(parts):
                yield from self._product(parts, number)
            case Or(parts):
                for part in parts:
                    yield from self.matches(part, number)
                    number += _count(part)
            case Near(parts, gaps):
                yield from self._near(parts, gaps, number)
            case Distance(part, least, most):
                for found in self.matches(part, number):
                    ordered = sorted(found)
                    self.spend(len(ordered))
                    if all(_fits(left, right, least, most) for left, right in pairwise(ordered)):
                        yield (_join(found),)
            case Window(part, size):
                for found in self.matches(part, number):
                    whole = _join(found)
                    self.spend(1)
                    if whole.end - whole.start < size:
                        yield (whole,)
            case Ordered(part):
                for found in self.matches(part, number):
                    self.spend(len(found))
                    by_number = sorted(found, key=lambda span: (span.number, span.start))
                    pairs = pairwise(by_number)
                    if all(left.start <= right.start for left, right in pairs):
                        yield found

    def _product(self, parts: tuple[Selection, ...], number: int) -> Iterator[Match]:
        choices: list[list[Match]] = []
        for part in parts:
            choices.append(list(self.matches(part, number)))
            number += _count(part)
        for chosen in product(*choices):
            self.spend(len(chosen))
            yield tuple(span for match in chosen for span in match)

    def _near(
        self, parts: tuple[Phrase, ...], gaps: tuple[tuple[int | None, int | None], ...], number: int
    ) -> Iterator[Match]:
        """Yield chains of spans from left to right."""
        chains: list[Match] = [(span,) for span in self.spans(parts[0], number)]
        for at, (least, most) in enumerate(gaps, 1):
            following = self.spans(parts[at], number + at)
            self.spend(at * len(chains) * len(following))
            chains = [
                (*chain, span) for chain in chains for span in following if _fits(chain[-1], span, least or 0, most)
            ]
        yield from chains

    def spans(self, phrase: Phrase, number: int) -> list[Span]:
        """Return the spans of a phrase from left to right."""
        form, words = self._forms(phrase)
        places = places_of(self.text, form)
        sets = []
        for word in words:
            if phrase.options.wildcards:
                weight = 1 + count_positions(word) // POSITIONS_A_CHARACTER
                self.spend(1 + len(places) + weight * len(self.text) // PATTERN_CHARACTERS_A_STEP)
                pattern = compile_pattern(word, form)
                found = {place for known in places if pattern.fullmatch(known) for place in places[known]}
            else:
                found = set(places.get(word, ()))
            if not found:
                return []
            self.spend(len(found))
            sets.append(found)
        length = len(words)
        self.spend(1 + (length - 1) * len(sets[0]))
        starts = [start for start in sorted(sets[0]) if all(start + at in sets[at] for at in range(1, length))]
        return [Span(start, start + length - 1, number) for start in starts]

    def _forms(self, phrase: Phrase) -> tuple[Form, tuple[str, ...]]:
        """Return the form in which the phrase's words are compared, and the words in that form."""
        options = phrase.options
        form = Form(
            options.case != "insensitive", options.marks, stemmer_of(self.language) if options.stemming else None
        )
        if form.stem is not None:
            self.spend(1 + len(self.text) // CHARACTERS_A_STEP)
        words = tuple(in_case(word, options) for word in phrase.words)
        return form, words if options.wildcards else tuple(fold(word, form) for word in words)


def _fits(left: Span, right: Span, least: int | None, most: int | None) -> bool:
    gap = right.start - left.end - 1
    return (least is None or gap >= least) and (most is None or gap <= most)


def _join(match: Match) -> Span:
    return Span(min(span.start for span in match), max(span.end for span in match), min(span.number for span in match))


def _count(selection: Selection) -> int:
    """Count the phrases of a selection."""
    return sum(1 for _ in phrases_in(selection, negated=False))


def show_spans(text: str, spans: Sequence[Span]) -> str:
    """Show the words that spans cover, with their places counted from 1."""
    words = words_of(text)
    return ", ".join(f"'{' '.join(words[span.start : span.end + 1])}' at word {span.start + 1}" for span in spans)
