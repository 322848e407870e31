"""Words of texts: Unicode's boundaries, folding, wildcards."""

from __future__ import annotations

import unicodedata

import pytest

from triplecast.text.breaks import Break, break_of
from triplecast.text.words import FOLDED, Form, fold, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The quick (“brown”) fox can’t jump 32.3 feet, right?", "The|quick|brown|fox|can’t|jump|32.3|feet|right"),
        ("it's 1,024 at 10:30 e.g. a_b x-y", "it's|1,024|at|10|30|e.g|a_b|x|y"),
        ("can\u00adnot a\u0308b \u200bzero", "can\u00adnot|äb|zero"),
        ("日本 カタカナ ひら", "日|本|カタカナ|ひ|ら"),
        ("ד\"ר ה'", "ד\"ר|ה'"),
        ("a\u0308\n\u0308b", "ä|b"),
        ("… — !", ""),
        ("", ""),
        ("３.５ ⅷ ²", "３.５|ⅷ|²"),
        ("wi-fi 3G #tag @you a@b.org", "wi|fi|3G|tag|you|a|b.org"),
        ("👍🏽 ok 🇫🇷", "ok"),
    ],
)
def test_words(text: str, words: str) -> None:
    assert "|".join(words_of(text)) == words


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Straße", "strasse"), ("ÅNGSTRÖM", "angstrom"), ("Ångström", "angstrom"), ("Σίσυφος", "σισυφοσ"), ("İ", "i"),
        ("ø", "ø"), ("can\u00adnot", "cannot"), ("ﬁn", "fin"), ("が", "か\u3099"), ("Đặng", "đang"), ("שָׁלוֹם", "שלום"),
    ],
)  # fmt: skip
def test_fold(word: str, folded: str) -> None:
    assert fold(word) == folded


def test_forms_keep_what_counts() -> None:
    assert fold("Été", Form(case=True)) == "Ete"
    assert fold("Été", Form(marks=True)) == unicodedata.normalize("NFD", "été")
    assert fold("Été", Form(case=True, marks=True)) == unicodedata.normalize("NFD", "Été")


def test_folding_is_by_character() -> None:
    """The kernels fold characters one by one."""
    sample = [chr(code) for code in range(0x20, 0x3000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    for left, right in zip(sample, sample[7:], strict=False):
        assert fold(left + right, FOLDED) == fold(left, FOLDED) + fold(right, FOLDED)


def test_equal_in_any_form_is_equal_folded() -> None:
    words = ["café", "Café", "cafe\u0301", "CAFE", "Straße", "STRASSE", "strasse"]
    for form in (Form(True, True), Form(True), Form(marks=True)):
        for one in words:
            for two in words:
                assert fold(one, form) != fold(two, form) or fold(one) == fold(two)


def test_a_character_equal_in_any_form_is_equal_folded() -> None:
    """The small iota below (U+0345) is a letter wherever case counts: folded, it is iota."""
    sample = [chr(code) for code in range(0x20, 0x3000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    for form in (Form(True, True), Form(True), Form(marks=True)):
        folded = {fold("1", form): fold("1")}
        for character in sample:
            assert folded.setdefault(fold(f"1{character}", form), fold(f"1{character}")) == fold(f"1{character}")


def test_break_classes_of_the_standard() -> None:
    """Members of each class that UAX #29, table 3, names."""
    named = {
        Break.MID_LETTER: ":·\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a",
        Break.MID_NUMBER: ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe50\ufe54\uff0c\uff1b",
        Break.MID_BOTH: ".‘’\u2024\ufe52\uff07\uff0e",
        Break.CONNECTOR: "_\u202f\u203f\u2040\u2054\ufe33\uff3f",
        Break.KATAKANA: "ァヶーｶ\u3031\u309b\uff70",
        Break.NUMERIC: "09٣\u066b\uff11",
        Break.HEBREW: "את\ufb1d",
        Break.EXTEND: "\u0301\u200d\u00ad\u0903\uff9e\U0001f3fb",
        Break.LINE_END: "\r\n\x0b\x0c\x85\u2028\u2029",
        Break.LETTER: "aZéяΩ한ա\u05f3\u02d7Ⓐ",
        Break.OTHER: " -!ひ日ก\u200b",
    }
    for wanted, characters in named.items():
        assert {character: break_of(character) for character in characters} == dict.fromkeys(characters, wanted)
