"""Random texts and selections whose words' forms are known, for the slow reader."""

from __future__ import annotations

import random

from tests.reference.fulltext import Both, Chain, Either, Filtered, Never, Phrase, Selection, Word
from tests.reference.wording import LEXICON, SEPARATORS


def random_text(rng: random.Random, longest: int = 9) -> tuple[Word, ...]:
    few = rng.sample(LEXICON, rng.randint(2, 6))
    return tuple(rng.choice(few) for _ in range(rng.randint(0, longest)))


def write_text(rng: random.Random, words: tuple[Word, ...]) -> str:
    return "".join(word.written + rng.choice(SEPARATORS) for word in words)


def random_phrase(rng: random.Random, plain: bool) -> Phrase:
    words = tuple(rng.choice(LEXICON) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
    if plain or rng.random() < 0.7:
        return Phrase(words)
    return rng.choice(
        (Phrase(words, case=True), Phrase(words, marks=True), Phrase(words, True, True), Phrase(words, stemming=True))
    )


def random_selection(rng: random.Random, depth: int = 2, negate: bool = True, plain: bool = False) -> Selection:
    kind = rng.choice(("phrase", "both", "either", "never", "chain", "filtered", "filtered"))
    if depth == 0 or kind == "phrase":
        return random_phrase(rng, plain)
    if kind == "never" and negate:
        return Never(random_selection(rng, depth - 1, True, plain))
    if kind == "chain":
        parts = tuple(random_phrase(rng, plain) for _ in range(rng.randint(2, 3)))
        return Chain(parts, tuple((low := rng.randint(0, 2), low + rng.randint(0, 3)) for _ in parts[1:]))
    if kind == "filtered":
        inner = random_selection(rng, depth - 1, False, plain)
        rule = rng.choice(("ordered", "window", "distance"))
        if rule == "distance":
            low = rng.randint(0, 2)
            least, most = rng.choice(((None, low), (low, None), (low, low), (low, low + 2)))
            return Filtered(inner, rule, least, most)
        return Filtered(inner, rule, None, rng.randint(1, 6) if rule == "window" else None)
    parts = tuple(random_selection(rng, depth - 1, negate, plain) for _ in range(2))
    return Both(parts) if kind == "both" else Either(parts)
