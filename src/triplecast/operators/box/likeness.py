"""How much two texts are about the same: the cosine of their TF-IDF vectors.

The weight of a word that stands n times in a text and in d of a vocabulary's N documents is
(1 + ln n) · (1 + ln((1 + N) / (1 + d))), d being 0 for a word that the vocabulary does not have (Salton and Buckley,
"Term-weighting approaches in automatic text retrieval", 1988, with smoothed frequencies). Words are those of full
text: cut at Unicode's word boundaries, compared without case and marks. The similarity is rounded to 9 decimal places,
so that it is the same on every machine; it is symmetric, 1.0 for texts with the same words equally often, 0.0 without a
common word, and 1.0 for two texts without any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from triplecast.operators.box.remembered import Remembered
from triplecast.operators.box.vocabulary import Vocabulary, read_vocabulary
from triplecast.text.words import fold, words_of

_REMEMBERED = 64 << 20
"""Bytes of texts and their weights that are kept."""
_WORD_BYTES = 140
"""What a word and its weight take."""


@cache
def shipped_vocabulary(name: str) -> Vocabulary:
    return read_vocabulary(Path(__file__).with_name(f"{name}.vocabulary"))


def compare_texts(one: str, other: str, vocabulary: Vocabulary) -> float:
    """The cosine of the texts' vectors, from 0.0 to 1.0."""
    ours, theirs = _weights(one, vocabulary), _weights(other, vocabulary)
    if not ours or not theirs:
        return float(not ours and not theirs)
    shared = math.fsum(weight * theirs[word] for word, weight in ours.items() if word in theirs)
    return min(1.0, round(shared / (_length(ours) * _length(theirs)), 9))


def weigh_words(text: str, vocabulary: Vocabulary) -> Mapping[str, float]:
    """The weights of a text's words, folded."""
    counts = Counter(map(fold, words_of(text)))
    return {word: (1 + math.log(count)) * rarity(word, vocabulary) for word, count in counts.items()}


_weights = Remembered(weigh_words, lambda weights: 500 + _WORD_BYTES * len(weights), _REMEMBERED)


def rarity(word: str, vocabulary: Vocabulary) -> float:
    """The inverse document frequency of a folded word, at least 1."""
    return 1 + math.log((1 + vocabulary.documents) / (1 + vocabulary.frequencies.get(word, 0)))


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight * weight for weight in weights.values()))
