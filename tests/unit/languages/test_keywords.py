"""Words to look for, as the query that finds them; held to a plain reading of the words in Python."""

from __future__ import annotations

import random
import re

import pytest

from triplecast import Engine, InputError
from triplecast.languages.keywords import Keywords, keywords_query, read_keywords, with_query
from triplecast.registry.lines import SubscriptionFault, subscription_of

WORDS = ("rail", "railway", "night", "train", "games", "olympic", "winter")


def test_the_query_reads_as_one_would_write_it() -> None:
    wanted = Keywords("olympic games", 3, ("dc:title",), "rss:item")
    assert keywords_query(wanted) == (
        "SELECT ?item ?text WHERE {\n"
        "  ?item a rss:item .\n"
        "  ?item dc:title ?text\n"
        """  FILTER(ft:contains(?text, '("olympic" ftand "games") distance at most 3 words'))\n"""
        "}"
    )


@pytest.mark.parametrize(
    ("words", "selection"),
    [
        ('"olympic games" -winter', '"olympic games" ftand ftnot "winter"'),
        ("rail*", '"rail.*" using wildcards'),
        ("it's", '"it\\\'s"'),
        ("a.b{2} x", '"a.b{2}" ftand "x"'),
        ("back\\slash", '"back\\\\slash"'),
        ("wi-fi -free", '"wi-fi" ftand ftnot "free"'),
    ],
)
def test_words_become_a_selection(words: str, selection: str) -> None:
    text = keywords_query(Keywords(words))
    assert f"ft:contains(?text, '{selection}')" in text
    with Engine() as engine:
        engine.subscribe(text, id="words")


@pytest.mark.parametrize(
    "wanted",
    [
        Keywords(""),
        Keywords("-winter"),
        Keywords("... * -"),
        Keywords("a b", -1),
        Keywords("a", None, ("title",)),
        Keywords("a", None, ("nix:title",)),
        Keywords("a", None, ("dc:title } SELECT",)),
        Keywords("a", None, (), "<a b>"),
        Keywords(" ".join(f"w{number}" for number in range(300))),
    ],
)
def test_what_makes_no_query_is_refused_with_what_to_write(wanted: Keywords) -> None:
    with pytest.raises(InputError) as refused:
        keywords_query(wanted)
    assert refused.value.hint


@pytest.mark.parametrize("words", ["rail OR tram", "(rail tram)", "a AND b", "NOT a", "a || b", 'a "b', "a “b c”"])
def test_signs_of_other_searches_are_refused_and_not_taken_for_words(words: str) -> None:
    with pytest.raises(InputError, match=r"is not read in .*; all words are to occur, .* ftor "):
        keywords_query(Keywords(words))
    quoted = words.replace('"', "")
    assert "ft:contains" in keywords_query(Keywords(f'rail "{quoted}" or and-not'))


def test_it_is_read_from_json() -> None:
    fields = {"id": "games", "words": "olympic games", "near": 3, "in": ["dc:title"], "class": "rss:item"}
    found = subscription_of(fields, "here")
    assert not isinstance(found, SubscriptionFault)
    assert found.text == keywords_query(Keywords("olympic games", 3, ("dc:title",), "rss:item"))
    assert read_keywords({"words": "a", "in": "dc:title"}) == Keywords("a", None, ("dc:title",), None)
    for wrong in ({"words": 1}, {"words": "a", "near": True}, {"words": "a", "in": [1]}, {"words": "a", "class": 2}):
        assert isinstance(subscription_of({"id": "x"} | wrong, "here"), SubscriptionFault)
    with pytest.raises(InputError):
        with_query({"words": "a", "text": "ASK {}"})


def test_they_match_what_a_plain_reading_does(seed: int) -> None:
    source = random.Random(seed)
    texts = [" ".join(source.choices(WORDS, k=source.randint(1, 7))) for _ in range(60)]
    with Engine() as engine:
        wanted: dict[str, tuple[list[str], list[str], int | None]] = {}
        for number in range(60):
            found = source.sample(WORDS, source.randint(1, 2))
            without = source.sample(WORDS, source.choice([0, 0, 1]))
            near = source.choice([None, 0, 1, 2])
            words = " ".join([*found, *(f"-{each}" for each in without)])
            engine.subscribe(keywords_query(Keywords(words, near, ("dc:title",))), id=str(number), lease=10**6)
            wanted[str(number)] = (found, without, near)
        for number, text in enumerate(texts):
            receipt = engine.publish(
                f'<urn:{number}> <http://purl.org/dc/elements/1.1/title> "{text}" .', "text/turtle"
            )
            told = {match.subscription for match in receipt.matches}
            assert told == {id for id, each in wanted.items() if _matches(text, *each)}, text


def _matches(text: str, found: list[str], without: list[str], near: int | None) -> bool:
    words = re.findall(r"\w+", text)
    if not {*found} <= {*words} or {*without} & {*words}:
        return False
    if near is None or len(found) < 2:
        return True
    first, second = ([place for place, word in enumerate(words) if word == each] for each in found)
    return any(abs(one - other) - 1 <= near for one in first for other in second)
