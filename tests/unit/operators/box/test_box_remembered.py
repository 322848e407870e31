"""What is remembered is bounded by its bytes, and is what would be made."""

from __future__ import annotations

import random
from sys import getsizeof

import pytest

from triplecast.operators.box.remembered import Remembered


@pytest.mark.parametrize("seed", range(20))
def test_it_keeps_the_last_that_fit_and_makes_no_other_than_the_function(seed: int) -> None:
    chance = random.Random(seed)
    made: list[tuple[str, int]] = []

    def make(text: str, key: int) -> str:
        made.append((text, key))
        return text * key

    texts = ["a" * length for length in (1, 40, 300, 2_000)]
    remembered = Remembered(make, len, most := 3_000)
    kept: list[tuple[str, int]] = []
    for _ in range(200):
        asked = (chance.choice(texts), chance.randint(1, 3))
        before = len(made)
        assert remembered(*asked) == asked[0] * asked[1]
        assert (len(made) == before) == (asked in kept), (seed, asked)
        kept = [each for each in kept if each != asked]
        if size(asked) <= most:
            kept.append(asked)
            while sum(map(size, kept)) > most:
                kept.pop(0)
        assert remembered.bytes == sum(map(size, kept)) <= most


def size(asked: tuple[str, int]) -> int:
    text, key = asked
    return len(text) * key + getsizeof(text)


def test_what_fails_is_not_kept() -> None:
    answers = iter([ValueError("no"), 7])

    def make(text: str, key: int) -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    remembered = Remembered(make, lambda _: 1, 1_000)
    with pytest.raises(ValueError, match="no"):
        remembered("x", 0)
    assert remembered("x", 0) == remembered("x", 0) == 7
