"""Literals cut by the kernel against `words_of` and `fold`, character by character and at random."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
from pyoxigraph import Literal

from triplecast.kernels.wordbank import cut_texts
from triplecast.match.views import scan_views
from triplecast.model.publication import Publication
from triplecast.text.words import fold, words_of


def _cut(texts: list[str]) -> list[list[str]]:
    lines = [f"<x:{number}> <x:p> {Literal(text)} .\n" for number, text in enumerate(texts)]
    publications = [Publication(number, f"x:{number}", 1, "", line.encode()) for number, line in enumerate(lines)]
    views = scan_views(publications)
    wanted = np.zeros(len(views.terms.start), np.uint8)
    literals = views.triples[:, 2]
    wanted[literals] = 1
    bank = cut_texts(views.terms, wanted)
    ranges = [range(bank.first[term], bank.first[term] + bank.sizes[term]) for term in literals]
    return [[bank.text[bank.start[at] + 1 : bank.end[at]].tobytes().decode() for at in each] for each in ranges]


def _expected(texts: list[str]) -> list[list[str]]:
    return [[fold(word) for word in words_of(text)] for text in texts]


def test_every_character_between_letters() -> None:
    """All below the ideographs, some of them and of what follows."""
    codes = [*range(1, 0x3400), *range(0x3400, 0xD700, 97), *range(0xD700, 0xD900), *range(0xE000, 0x11000, 7)]
    characters = [chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")]
    texts = [f"a{character}b 1{character}2{character} {character}" for character in characters]
    assert _cut(texts) == _expected(texts)


def test_random_texts(seed: int) -> None:
    rng = random.Random(seed)
    pieces = [
        *"aZé.,:;'’\"_-0٣Ωßﬁ\u00ad\u200e\u0301ー",
        "カ",
        "日",
        "אב",
        "한",
        "ก",
        "²",
        " ",
        "\n",
        "\\",
        "3.5",
        "𝒜",
        "👍",
    ]
    texts = ["".join(rng.choices(pieces, k=rng.randint(0, 12))) for _ in range(4000)]
    assert _cut(texts) == _expected(texts)
