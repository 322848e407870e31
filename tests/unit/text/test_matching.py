"""Selections against the slow reader, and cases of XQuery Full Text worked by hand."""

from __future__ import annotations

import random

import pytest

from tests.reference.fulltext import cosine, fulfils, render
from tests.unit.text.text_samples import random_selection, random_text, write_text
from triplecast.text import find_spans, holds, parse_selection, score, show_spans
from triplecast.text.needed import needed_phrases
from triplecast.text.words import fold, words_of


def _free(steps: int) -> None:
    pass


def test_selections_agree_with_the_slow_reader(seed: int) -> None:
    rng = random.Random(seed)
    held = 0
    for number in range(3000):
        words, selection = random_text(rng), random_selection(rng)
        text, language = write_text(rng, words), rng.choice(("en", "en-gb", None, "xx"))
        wanted = fulfils(selection, words, language in ("en", "en-gb"))
        found = holds(parse_selection(render(selection)), text, language, _free)
        assert found == wanted, f"case {number}: {render(selection)!r} on {text!r}@{language}"
        held += wanted
    assert 300 < held < 2700


def test_what_is_needed_is_there(seed: int) -> None:
    rng = random.Random(seed)
    exact = 0
    for number in range(3000):
        words, selection = random_text(rng), random_selection(rng)
        needed = needed_phrases(render(selection))
        text = " ".join(fold(word) for word in words_of(write_text(rng, words)))
        has = any(all(f" {phrase} " in f" {text} " for phrase in choice) for choice in needed.alternatives)
        wanted = fulfils(selection, words, True)
        assert has >= wanted, f"case {number}: {render(selection)!r} on {text!r}"
        if needed.exact:
            exact += 1
            assert has == wanted, f"case {number}: {render(selection)!r} on {text!r}"
    assert exact > 200


@pytest.mark.parametrize(
    ("selection", "holding"),
    [
        ('"mustang"', True),
        ('"Mustang" using case sensitive', False),
        ('"mustang" using uppercase', False),
        ('"mustang" using lowercase', True),
        ('"great excellent"', False),
        ('"great" ftand "excellent"', True),
        ('"great excellent" all words', True),
        ('"great missing" any word', True),
        ('("great" ftand "excellent") distance exactly 2 words', True),
        ('("great" ftand "excellent") distance at most 1 words', False),
        ('("excellent" ftand "great") ordered', False),
        ('("great" ftand "excellent") window 4 words', True),
        ('("great" ftand "excellent") window 3 words', False),
        ('((("great" ftand "conditions") window 5 words) ftand "mustang") distance at most 1 words', True),
        ('("great" ftand "conditions" ftand "mustang") distance at most 1 words', False),
        ('("missing" ftor "great") distance exactly 0 words', True),
        ('"gre.*" using wildcards', True),
        ('"gre.." using wildcards', True),
        ('"gre." using wildcards', False),
        (r'"gre\.*" using wildcards', False),
        ('"exc.{3,6}" using wildcards', True),
        ('"exc.{1,2}" using wildcards', False),
        ('"condition" using stemming', True),
        ('"condition"', False),
        ('"great" ftand ftnot "missing"', True),
        ('"great" ftnear[2,2] "excellent"', True),
        ('"excellent" ftnear[0,9] "great"', False),
        ('("great" using case sensitive) using case insensitive', False),
        ('"Great" using case sensitive', True),
    ],
)
def test_by_hand(selection: str, holding: bool) -> None:
    text = "A Great car in excellent conditions: the mustang."
    assert holds(parse_selection(selection), text, "en", _free) is holding


def test_stems_follow_the_tag_of_the_literal() -> None:
    selection = parse_selection('"condition" using stemming')
    assert [holds(selection, "conditions", tag, _free) for tag in ("en", "en-us", None, "xx")] == [
        True,
        True,
        False,
        False,
    ]
    assert holds(parse_selection('"maisons" using stemming'), "la maison", "fr", _free)


def test_score_is_the_cosine(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        words, terms = random_text(rng), random_text(rng)
        wanted = cosine(words, terms)
        assert abs(score(write_text(rng, words), write_text(rng, terms)) - wanted) < 1e-8
    assert score("a b", "a b") == 1.0
    assert score("a b", "c") == 0.0


def test_spans_show_where() -> None:
    text = "The Olympic Games of Rio"
    spans = find_spans(parse_selection('"games" ftand "olympic games" ftand ftnot "x"'), text, None, _free)
    assert show_spans(text, spans) == "'Games' at word 3, 'Olympic Games' at word 2"


def test_work_is_told_before_it_is_done() -> None:
    spent = 0

    def spend(steps: int) -> None:
        nonlocal spent
        spent += steps
        if spent > 10_000:
            raise OverflowError

    selection = parse_selection('("a" ftand "b" ftand "c") distance exactly 5 words')
    with pytest.raises(OverflowError):
        holds(selection, "a b c " * 200, None, spend)


@pytest.mark.parametrize("word", ["ı", "ſ", "ß", "\u0345", "ŉ", "ǆ"])
@pytest.mark.parametrize("option", ["uppercase", "lowercase"])
def test_what_is_needed_is_the_word_in_the_case_that_is_asked_for(word: str, option: str) -> None:
    """Of some letters another case has another folding."""
    text = f"a{word}".upper() if option == "uppercase" else f"a{word}".lower()
    selection = f'"a{word}" using {option}'
    assert holds(parse_selection(selection), text, None, _free)
    assert needed_phrases(selection).alternatives == ((fold(text),),)
