"""``ft:score``: the similarity of a literal's text to some terms (semantics 5.6).

The vector-space model (Salton, Wong, Yang 1975) with logarithmic term frequencies and no collection statistics: the
weight of word t in a text is w(t) = 1 + ln(occurrences of t), and the score is the cosine of the two vectors of
weights, from 0 (no common word) to 1 (the same words, equally often). Words are compared folded. The score is rounded
to 9 decimal places, so that it is the same on every machine.
"""

from __future__ import annotations

import math
from functools import lru_cache

from triplecast.text.words import FOLDED, fold, places_of, words_of


def score(text: str, terms: str) -> float:
    wanted = term_weights(terms)
    places = places_of(text, FOLDED)
    shared = [word for word in wanted if word in places]
    if not shared:
        return 0.0
    product = math.fsum(wanted[word] * _weight(len(places[word])) for word in shared)
    length = math.sqrt(math.fsum(_weight(len(found)) ** 2 for found in places.values()))
    own = math.sqrt(math.fsum(weight**2 for weight in wanted.values()))
    return min(1.0, round(product / (length * own), 9))


@lru_cache(maxsize=4096)
def term_weights(terms: str) -> dict[str, float]:
    """Return the weights of the terms' folded words, in order of appearance. Callers must not change it."""
    counts: dict[str, int] = {}
    for word in words_of(terms):
        folded = fold(word)
        counts[folded] = counts.get(folded, 0) + 1
    return {word: _weight(count) for word, count in counts.items()}


def _weight(occurrences: int) -> float:
    return 1.0 + math.log(occurrences)
