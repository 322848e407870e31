"""How much two texts are about the same: the cosine of their TF-IDF vectors (docs/operators-in-the-box.md).

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
from functools import cache, lru_cache
from pathlib import Path

from pyoxigraph import Literal, NamedNode

from triplecast.operators.box.vocabulary import Vocabulary, read_vocabulary
from triplecast.operators.declaration import operator
from triplecast.operators.event import Event
from triplecast.text.words import fold, words_of

OP = "urn:triplecast:op:"
SHIPPED = "pages-1"
"""The name of the vocabulary in the box: paragraphs of this project's own pages, in English."""
LONGEST = 1_000_000
"""Characters of a text."""
_REMEMBERED = 64
"""Vectors that are kept."""


class TextFault(ValueError):
    """A text that cannot be compared; the message names it and says what would mend it."""


@operator(
    OP + "similarity",
    version=f"1/{SHIPPED}",
    arguments=("bound", "bound", "free"),
    cost=0.0005,
    batch=True,
    seconds=60,
)
def similarity(events: list[Event], texts: list[object], others: list[object]) -> list[float]:
    """How much two texts are about the same, from 0.0 to 1.0."""
    vocabulary = shipped_vocabulary()
    return [
        compare_texts(read_text(event, one), read_text(event, other), vocabulary)
        for event, one, other in zip(events, texts, others, strict=True)
    ]


@cache
def shipped_vocabulary() -> Vocabulary:
    return read_vocabulary(Path(__file__).with_name(f"{SHIPPED}.vocabulary"))


def read_text(event: Event, term: object) -> str:
    """A literal's text, or that of the attachment which an IRI names. Raises `TextFault` for any other term, where
    there is no such attachment or it is not UTF-8, and beyond `LONGEST`."""
    if isinstance(term, Literal):
        text = term.value
    elif isinstance(term, NamedNode):
        text = _read_attachment(event, term)
    else:
        raise TextFault(f"a text is a literal or the IRI of an attachment, and {term} is neither")
    if len(text) > LONGEST:
        raise TextFault(f"a text has {len(text):,} characters, {LONGEST:,} at most; compare parts of it")
    return text


def _read_attachment(event: Event, term: NamedNode) -> str:
    try:
        return event.attachment(term).decode("utf-8")
    except KeyError as error:
        known = ", ".join(f"<{iri}>" for iri in sorted(event.attachments)[:5]) or "none"
        mend = "publish the text with it, under this IRI, or give a literal"
        raise TextFault(f"no attachment <{term.value}>; the publication has {known}; {mend}") from error
    except UnicodeDecodeError as error:
        raise TextFault(
            f"the attachment <{term.value}> is no text in UTF-8 (byte {error.start:,}); publish it in UTF-8"
        ) from error


def compare_texts(one: str, other: str, vocabulary: Vocabulary) -> float:
    """The cosine of the texts' vectors, from 0.0 to 1.0."""
    ours, theirs = weigh_words(one, vocabulary), weigh_words(other, vocabulary)
    if not ours or not theirs:
        return float(not ours and not theirs)
    shared = math.fsum(weight * theirs[word] for word, weight in ours.items() if word in theirs)
    return min(1.0, round(shared / (_length(ours) * _length(theirs)), 9))


@lru_cache(maxsize=_REMEMBERED)
def weigh_words(text: str, vocabulary: Vocabulary) -> Mapping[str, float]:
    """The weights of a text's words, folded. Callers do not change it."""
    counts = Counter(map(fold, words_of(text)))
    return {word: (1 + math.log(count)) * rarity(word, vocabulary) for word, count in counts.items()}


def rarity(word: str, vocabulary: Vocabulary) -> float:
    """The inverse document frequency of a folded word, at least 1."""
    return 1 + math.log((1 + vocabulary.documents) / (1 + vocabulary.frequencies.get(word, 0)))


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight * weight for weight in weights.values()))
