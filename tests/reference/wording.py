"""Words of texts for the slow reader of full text, in the one alphabet that it knows: Latin letters, digits and what
stands between words. It raises `NotDetermined` for the rest, and for stems that it was not told."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tests.reference.fulltext import Selection, Word, phrases_of
from tests.reference.values import NotDetermined


def _word(written: str, stem: str | None = None, unmarked: str | None = None) -> Word:
    bare = unmarked or written
    return Word(written, written.lower(), bare, bare.lower(), stem or bare.lower())


LEXICON = (
    _word("olympic"), _word("Olympic"), _word("games", "game"), _word("game"), _word("Games", "game"), _word("rio"),
    _word("café", "cafe", "cafe"), _word("cafe"), _word("CAFÉ", "cafe", "CAFE"), _word("the"), _word("2016"),
    _word("can't", "can't"), _word("3.5"), _word("naïve", "naiv", "naive"), _word("naive", "naiv"),
    _word("running", "run"), _word("runs", "run"),
)  # fmt: skip
SEPARATORS = (" ", ", ", " – ", ". ", "\n", "; ", " (", " « ", "\u3000", ' "')
_STEMS = {word.folded: word.stem for word in LEXICON} | {word: word for word in ("a", "ab", "b", "say", "hi")}
"""By folded word, as Snowball's English algorithm has it."""

_INSIDE = "'.:\u00b7\u2018\u2019"
"""What stands inside a word between two letters (UAX #29, WB6 and WB7)."""
_INSIDE_NUMBER = "'.,;\u2018\u2019\u2044"
"""The same between two digits (WB11 and WB12)."""
_LETTER = r"[^\W\d_]"
_CUT = re.compile(rf"\w(?:\w|(?<={_LETTER})[{_INSIDE}](?={_LETTER})|(?<=\d)[{_INSIDE_NUMBER}](?=\d))*")


@lru_cache(maxsize=10_000)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a literal's text in order. Raises `NotDetermined` for letters of other alphabets."""
    normal = unicodedata.normalize("NFC", text)
    for character in normal:
        foreign = character.isalpha() and not unicodedata.name(character, "").startswith("LATIN ")
        foreign |= character.isnumeric() and not character.isascii()
        if foreign or unicodedata.category(character)[0] == "M" or character.lower() != character.casefold():
            raise NotDetermined(f"{character!r} is outside the alphabet of the reference")
    found = [match[0] for match in _CUT.finditer(normal) if any(map(str.isalnum, match[0]))]
    return tuple(
        Word(word, word.lower(), _bare(word), _bare(word).lower(), _STEMS.get(_bare(word).lower())) for word in found
    )


def _bare(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


def stems_of(language: str, selection: Selection) -> bool:
    """Whether ``using stemming`` takes English stems of a literal with this tag ("" for none). Raises `NotDetermined`
    where the selection asks for stems of a language that has others."""
    first = language.partition("-")[0]
    if first in ("", "en", "xx"):
        return first == "en"
    if any(phrase.stemming for phrase in phrases_of(selection)):
        raise NotDetermined(f"stems of the language {language}")
    return False
