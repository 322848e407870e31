"""Small texts that would come to much: refused by name and place, or bounded; none stalls or kills."""

from __future__ import annotations

import resource
import time
import tracemalloc
from pathlib import Path

import pytest

from triplecast.errors import QueryRefused
from triplecast.evaluate import Budget, BudgetExceeded
from triplecast.evaluate.regex import PROGRAMS_OF_A_QUERY
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit
from triplecast.text import holds, parse_selection
from triplecast.text.grammar import DEEPEST, LONGEST, MOST_FILTERS, MOST_WORDS
from triplecast.text.wildcards import MOST_CHARACTERS, MOST_POSITIONS
from triplecast.text.words import LONGEST_STEMMED, Form, fold, stemmer_of

TEXT_MATCH = "<tag:stardog:api:property:textMatch>"
WORDS = [f"w{number}" for number in range(100_000)]


def contains(selection: str) -> str:
    return f"SELECT ?s {{ ?s dc:title ?t FILTER(ft:contains(?t, '{selection}')) }}"


def score(terms: str) -> str:
    return f'SELECT ?s {{ ?s dc:title ?t FILTER(ft:score(?t, "{terms}") > 0.3) }}'


def search(predicate: str, text: str) -> str:
    return f'PREFIX bds: <http://www.bigdata.com/rdf/search#> SELECT ?s {{ ?s dc:title ?t . ?t {predicate} "{text}" }}'


def regex(*patterns: str) -> str:
    calls = " || ".join(f"REGEX(?t, '{pattern}')" for pattern in patterns)
    return f"SELECT ?s {{ ?s dc:title ?t FILTER({calls}) }}"


REFUSED = {
    "a selection": (contains('"' + "a" * LONGEST + '"'), "a longer full-text selection"),
    "words": (contains(" ftor ".join(f'"w{n}"' for n in range(MOST_WORDS + 1))), "a selection of more words"),
    "words of one string": (contains(f'"{" ".join(WORDS[:1000])}" any word'), "a selection of more words"),
    "brackets": (contains("(" * (DEEPEST + 1) + '"a"' + ")" * (DEEPEST + 1)), "nesting"),
    "filters": (contains('"a"' + " ordered" * (MOST_FILTERS + 1)), "another filter"),
    "many filters": (contains('"a"' + " window 5 words" * 600), "another filter"),
    "wildcards": (contains('"' + f".{{0,{MOST_CHARACTERS}}}" * 11 + '" using wildcards'), "a longer pattern of a word"),
    "a long pattern": (contains('"' + "a" * MOST_POSITIONS + '." using wildcards'), "a longer pattern of a word"),
    "terms of a score": (score(" ".join(WORDS)), "a longer text of ft:score"),
    "words of a score": (score(" ".join(WORDS[: MOST_WORDS + 1])), "ft:score of more words"),
    "nesting in Lucene": (search(TEXT_MATCH, "(" * 4_000 + "a" + ")" * 4_000), "nesting"),
    "length in Lucene": (search(TEXT_MATCH, " ".join(WORDS)), "a longer full-text selection"),
    "quotes in Lucene": (search(TEXT_MATCH, '\\"a' * 50_001), "a longer full-text selection"),
    "length in Virtuoso": (search("bif:contains", "(" * 50_000), "a longer full-text selection"),
    "length in Blazegraph": (search("bds:search", " ".join(WORDS)), "a longer full-text selection"),
    "a repetition": (regex("a{1001}"), "regular expression"),
    "nested repetitions": (regex("((a{100}){100}){10}"), "regular expression"),
    "repeated classes": (regex(r"\\p{L}{500}"), "regular expression"),
    "a long expression": (regex("a" * 10_001), "regular expression"),
    "many expressions": (regex(*(rf"\\w{{20}}{n}" for n in range(1_000))), "a query with so many regular expressions"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_explode_is_refused_by_name_and_soon(name: str) -> None:
    text, construct = REFUSED[name]
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(QueryRefused) as refused:
        admit(Subscription("s", text))
    assert refused.value.construct == construct
    assert len(str(refused.value)) < 600 or "RE2 cannot run" in str(refused.value)
    assert time.process_time() - began < 3.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 << 10


def deepest(leaf: str, filters: str) -> str:
    for _ in range(DEEPEST):
        leaf = f'("x" ftor "y" ftand {leaf}{filters})'
    return contains(leaf)


@pytest.mark.parametrize(
    "text",
    [
        deepest('"a"', "").replace("')) }", " ordered" * MOST_FILTERS + "')) }"),
        deepest('"a"', " ordered"),
        deepest('ftnot "a"', ""),
        contains(" ftand ".join("(" + " ftor ".join(f'"w{i}x{j}"' for i in range(10)) + ")" for j in range(20))),
        contains(" ftor ".join(f'"w{number}"' for number in range(MOST_WORDS))),
        contains(" ftand ".join(f'ftnot "w{number}"' for number in range(MOST_WORDS))),
        contains('("a" ftand "b") distance at most 999999999 words window 999999999 words'),
        contains('"' + ".*a" * (MOST_POSITIONS // 2) + '" using wildcards using stemming using case sensitive'),
        score(" ".join(WORDS[:MOST_WORDS])),
        regex("a{1000}", "(?:abc|def){300}"),
        regex(*(f"word{number}" for number in range(1_000))),
    ],
)
def test_what_is_at_a_limit_is_taken_and_soon(text: str) -> None:
    began = time.process_time()
    admit(Subscription("s", text))
    assert time.process_time() - began < 3.0


def test_the_error_of_a_long_translation_is_short() -> None:
    with pytest.raises(QueryRefused, match="longer full-text selection") as refused:
        admit(Subscription("s", search(TEXT_MATCH, " ".join(WORDS[:1_500]))))
    assert '(read as "w0" ftor "w1"' in refused.value.reason
    assert len(refused.value.reason) < 400


def test_the_programs_of_a_query_are_summed_once_each() -> None:
    admit(Subscription("s", regex(*(r"\\w{40}" for _ in range(100)))))
    assert PROGRAMS_OF_A_QUERY < 500_000, "else its evaluation would be undecided by compiling alone"


SAME = "a " * 5_000


@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (f'"{"a " * MOST_WORDS}" using case sensitive', SAME),
        (" ftand ".join(['"a"'] * 100) + " window 9 words", SAME),
        (" ftand ".join(['"a"'] * 3) + " distance exactly 5 words ordered", SAME),
        (" ftnear[0,] ".join(['"a"'] * 150), SAME),
        ('"' + ".*b" * 400 + '" using wildcards', "ab" * 40_000),
        ('"' + ".{0,100}b" * 9 + '" using wildcards', " ".join("ab" * 500 + str(n) for n in range(60))),
    ],
)
def test_a_text_that_fits_in_many_ways_ends_by_steps(selection: str, text: str) -> None:
    parsed = parse_selection(selection)
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded):
            holds(parsed, text, None, Budget(50_000).spend)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 20.0


def test_a_long_word_is_its_own_stem() -> None:
    """Stemmers take time that grows with the square of a word's length: minutes for a million characters."""
    form = Form(stem=stemmer_of("en"))
    assert fold("running", form) == "run"
    at_limit = "ay" * ((LONGEST_STEMMED - 4) // 2) + "ying"
    assert fold(at_limit, form) != at_limit
    began = time.process_time()
    long = "ay" * 500_000 + "ing"
    assert fold(long, form) == long
    assert time.process_time() - began < 1.0


def test_the_limits_are_documented() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "language.md").read_text("utf-8")
    for line in (
        f"(`\\w` is some 1,500, `a` one)|{PROGRAMS_OF_A_QUERY:,}|",
        f"of the terms of `ft:score`|{LONGEST:,}|",
        f"their words|{MOST_WORDS}|",
        f"its filters (`distance`, `window`, `ordered`)|{DEEPEST}; {MOST_FILTERS}|",
        f"bounds of `.{{n,m}}`|{MOST_POSITIONS:,}; {MOST_CHARACTERS}|",
        f"A word of more than {LONGEST_STEMMED} characters is its own stem",
    ):
        assert line in page


def test_what_re2_says_is_told_in_words() -> None:
    with pytest.raises(QueryRefused) as refused:
        admit(Subscription("s", regex("(?=é)")))
    assert "'(?=é)': invalid perl operator: (?=;" in str(refused.value)
