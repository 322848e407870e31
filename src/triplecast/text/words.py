"""Split text into words, and fold words to the forms in which they are compared (semantics 5.2).

A text is normalised (NFC), cut at Unicode's word boundaries, and each word folded: case by full case folding, marks
(accents, points; not kana's voicing, nuktas or viramas, which make other letters) by dropping them after decomposition.
A word is folded character by character, which the kernels rely on.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

from triplecast.text.breaks import UNICODE, split_words

ANALYSER = f"1/{UNICODE}"
"""The version of the rules that decide which words a text has and which are equal."""
LONGEST_STEMMED = 100
"""Most characters of a word that is stemmed: the stemmers take quadratic time."""
REMEMBERED_TEXTS = 16
"""Texts whose words are cached."""
_SMALL_IOTA = "\u0345"
"""A mark that folds to the letter iota, so forms that keep case treat it as a letter too."""
_OVERLAY, _FIRST_ACCENT = 1, 10
"""Canonical combining classes: overlays; the first of accents and points."""
_STEMMERS = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "da": "danish", "nl": "dutch", "en": "english",
    "eo": "esperanto", "et": "estonian", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "es": "spanish", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball's algorithms by the first part of a language tag."""


class Form(NamedTuple):
    """What counts when words are compared."""

    case: bool = False
    marks: bool = False
    stem: str | None = None
    """A stemming algorithm's name."""


FOLDED = Form()
"""Neither case nor marks count: the form of index keys. Words equal in another form without stem are equal in it."""


def fold(word: str, form: Form = FOLDED) -> str:
    """Fold a word to a form; never empty for a word."""
    if word.isascii():
        text = word if form.case else word.lower()
        return text if form.stem is None else _stem(text, form.stem)
    text = unicodedata.normalize("NFD", word)
    if not form.case:
        text = unicodedata.normalize("NFD", text.casefold())
    if form.stem is not None:
        text = unicodedata.normalize("NFD", _stem(unicodedata.normalize("NFC", text), form.stem))
    return "".join([character for character in text if not _dropped(character, form.marks)])


def _dropped(character: str, marks: bool) -> bool:
    if character.isascii() or character == _SMALL_IOTA:
        return False
    if unicodedata.category(character) == "Cf":
        return True
    place = unicodedata.combining(character)
    return not marks and (place == _OVERLAY or place >= _FIRST_ACCENT)


def stemmer_of(language: str | None) -> str | None:
    """Return the stemming algorithm for a language tag, or None."""
    return None if language is None else _STEMMERS.get(language.partition("-")[0])


def _stem(word: str, algorithm: str) -> str:
    return word if len(word) > LONGEST_STEMMED else _stem_short(word, algorithm)


@lru_cache(maxsize=65_536)
def _stem_short(word: str, algorithm: str) -> str:
    import snowballstemmer  # half of this package's import time, and few subscriptions use stems

    stemmed: str = snowballstemmer.stemmer(algorithm).stemWord(word)
    return stemmed or word


@lru_cache(maxsize=REMEMBERED_TEXTS)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, as written but for NFC."""
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return tuple([normal[start:end] for start, end in split_words(normal)])


@lru_cache(maxsize=REMEMBERED_TEXTS)
def places_of(text: str, form: Form) -> dict[str, tuple[int, ...]]:
    """Return the places of each word of a text, counted from 0, by its form. Callers must not change it."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words_of(text)):
        places.setdefault(fold(word, form), []).append(place)
    return {word: tuple(found) for word, found in places.items()}
