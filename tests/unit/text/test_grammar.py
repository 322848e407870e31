"""What a selection's text may be, and how it is told that it may not."""

from __future__ import annotations

import pytest

from triplecast.text import TextFault, TextRefused, parse_selection
from triplecast.text.query import And, Distance, Near, Not, Options, Or, Ordered, Phrase, Window


def test_precedence_and_filters() -> None:
    a, b, c = (Phrase((letter,)) for letter in "abc")
    assert parse_selection('"a" ftor "b" ftand "c"') == Or((a, And((b, c))))
    assert parse_selection('"a" FTAND ftnot "b"') == And((a, Not(b)))
    assert parse_selection('"a" ftor "b" window 3 words ordered') == Ordered(Window(Or((a, b)), 3))
    assert parse_selection("('a' ftand 'b') distance from 1 to 3 words") == Distance(And((a, b)), 1, 3)
    assert parse_selection('"a" ftnear[0,2] "b" ftnear[1,] "c"') == Near((a, b, c), ((0, 2), (1, None)))


def test_options_nearest_to_the_words_win() -> None:
    parsed = parse_selection('("a" using case sensitive ftand "b") using case insensitive using stemming')
    assert parsed == And((Phrase(("a",), Options("sensitive", False, True)), Phrase(("b",), Options(stemming=True))))


def test_strings() -> None:
    assert parse_selection('"say ""yes"" now"') == Phrase(("say", "yes", "now"))
    assert parse_selection("'it''s'") == Phrase(("it's",))
    assert parse_selection('"a b" any word') == Or((Phrase(("a",)), Phrase(("b",))))


@pytest.mark.parametrize(
    ("text", "offset", "said"),
    [
        ("", 0, "ends too early"),
        ('"a" ftand', 9, "ends too early"),
        ('"a" "b"', 4, 'unexpected "b"'),
        ("games", 0, "the word games is not in quotes"),
        ('"a" ftand ("b"', 14, "ends too early"),
        ('"a', 0, "does not end"),
        ('"a" ftand "…"', 10, "this string has no word"),
        ('"a" distance 3 words', 13, "unexpected 3"),
        ('"a" distance at most x words', 21, "unexpected x"),
        ('"a" window 3 lines', 13, "unexpected lines"),
        ('"a" using magic', 10, "unexpected magic"),
        ('"a" using stemming using no stemming', 25, "given twice"),
        ('("a" ftand "b") ordered ftand "c"', 24, "ftand after a filter"),
        ('("a" ftand "b") ftnear[0,1] "c"', 0, "ftnear joins"),
    ],
)  # fmt: skip
def test_faults_say_where(text: str, offset: int, said: str) -> None:
    with pytest.raises(TextFault) as fault:
        parse_selection(text)
    assert said in fault.value.message
    assert not isinstance(fault.value, TextRefused)
    assert fault.value.offset == offset


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ('("a" ftand ftnot "b") ordered', "ftnot under distance, window or ordered"),
        ('"a" window 2 sentences', "the unit sentences"),
        ('"a" occurs at least 2 times', "'occurs' in a full-text selection"),
        ('"a" not in "a b"', "'not' in a full-text selection"),
        ('"a" using thesaurus default', "'using thesaurus'"),
        ('"a" using language "en"', "'using language'"),
        ('"a" at start', "'at' in a full-text selection"),
        ("(" * 60 + '"a"' + ")" * 60, "nesting"),
        ('"' + "a " * 300 + '"', "a selection of more words"),
        ('"' + "a" * 10_000 + '"', "a longer full-text selection"),
    ],
)  # fmt: skip
def test_refused_by_name(text: str, construct: str) -> None:
    with pytest.raises(TextRefused) as refused:
        parse_selection(text)
    assert refused.value.construct == construct
    assert refused.value.message
    assert refused.value.hint


def test_of_several_ftnot_the_one_under_the_filter_is_named() -> None:
    text = 'ftnot "a" ftand (("b" ftand ftnot "c") ordered)'
    with pytest.raises(TextRefused) as refused:
        parse_selection(text)
    assert refused.value.offset == text.rindex("ftnot")
