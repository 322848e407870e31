"""Every legal spacing of real queries reads as the query that was spaced by hand.

No test saw that `FILTERsameTerm(…)` was refused: all texts of the tests are written, or rendered, with spaces between
words. SPARQL 19.8 takes the longest token at each place and asks for no space that this rule does not need; texts
without all others, and with odd ones, show it.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from tests.conformance.opinions import APART, oracle_accepts, real_queries
from triplecast.errors import TriplecastError
from triplecast.languages import parse_query

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "subscriptions"
WORDS = re.findall(
    r"\w+",
    """SELECT ASK CONSTRUCT WHERE DISTINCT REDUCED AS GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET VALUES UNDEF UNION
    OPTIONAL MINUS GRAPH FILTER BIND IN NOT EXISTS COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT SEPARATOR TRUE FALSE
    PREFIX BASE STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE
    ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ NOW
    MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX
    SUBSTR REPLACE""",
)
_START = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
)
_CHARACTER = _START + "_0-9\u00b7\u0300-\u036f-"
_ESCAPE = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PREFIX = rf"(?:[{_START}](?:[{_CHARACTER}.]*[{_CHARACTER}])?)?:"
_LOCAL = rf"(?:[{_START}_:0-9]|{_ESCAPE})(?:(?:[{_CHARACTER}.:]|{_ESCAPE})*(?:[{_CHARACTER}:]|{_ESCAPE}))?"
_NUMBER = r"[+-]?(?:[0-9]+\.[0-9]*[eE][+-]?[0-9]+|\.?[0-9]+[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+)"
_TERMINALS = [
    re.compile(terminal, re.DOTALL)
    for terminal in (
        r'<[^<>"{}|^`\\\x00-\x20]*>',
        rf"{_PREFIX}(?:{_LOCAL})?",
        rf"_:[{_START}_0-9](?:[{_CHARACTER}.]*[{_CHARACTER}])?",
        rf"[?$][{_START}_0-9][{_CHARACTER.removesuffix('-')}]*",
        r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*",
        _NUMBER,
        r'"""(?:"{0,2}(?:[^"\\]|\\.))*"""',
        r"'''(?:'{0,2}(?:[^'\\]|\\.))*'''",
        r'"(?:[^"\\\n\r]|\\.)*"',
        r"'(?:[^'\\\n\r]|\\.)*'",
        r"\([ \t\r\n]*\)|\[[ \t\r\n]*\]",
        r"&&|\|\||!=|<=|>=|\^\^|[{}()\[\];,.*/|^?+\-!=<>a]",
        "(?i:" + "|".join(sorted(WORDS, key=len, reverse=True)) + ")",
    )
]
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
GAPS = ("", "", "", "", "", "", " ", "\n", "\t\r\n", " # a comment\n", "#\n")


def tokens_of(text: str) -> list[str] | None:
    """The terminals of SPARQL 19.8, the longest at each place; None for text that is none."""
    found, at = [], _space_end(text, 0)
    while at < len(text):
        longest = max((match[0] for each in _TERMINALS if (match := each.match(text, at))), key=len, default="")
        if not longest:
            return None
        found.append(longest)
        at = _space_end(text, at + len(longest))
    return found


def _space_end(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def respaced(tokens: list[str], chance: Random) -> str:
    """The tokens with random gaps, and a space where the longest match would read others without."""
    gaps = [chance.choice(GAPS) for _ in tokens]
    while True:
        text = "".join(token + gap for token, gap in zip(tokens, gaps, strict=True))
        found = tokens_of(text)
        if found == tokens:
            return text
        wrong = next((at for at, (one, two) in enumerate(zip(tokens, found or (), strict=False)) if one != two), None)
        if wrong is None or gaps[wrong]:
            gaps = [gap or " " for gap in gaps]
        else:
            gaps[wrong] = " "


def check(texts: list[str], rounds: int, seed: int) -> int:
    chance, checked, odd = Random(seed), 0, []
    for text in texts:
        tokens = tokens_of(text)
        if tokens is None or "\\u" in text.lower():
            continue
        try:
            meant = parse_query(text)
        except TriplecastError:
            continue
        for _ in range(rounds):
            other = respaced(tokens, chance)
            assert parse_query(other) == meant, other
            if oracle_accepts(text) and not (oracle_accepts(other) or APART.search(other)):
                odd.append(other)
            checked += 1
    assert odd == []
    return checked


SAME_TERM = (
    "SELECT DISTINCT ?x WHERE { ?x ?p ?y FILTER sameTerm(?x, ?y) FILTER NOT EXISTS { ?x a ?y } } LIMIT 10 OFFSET 5"
)
EVERY_WORD = [
    SAME_TERM,
    "PREFIX : <urn:> SELECT REDUCED ?x (COUNT(DISTINCT ?y) AS ?n) { ?x :p ?y . ?y :q.r ?z MINUS { ?x a :b } } "
    "GROUP BY ?x HAVING (COUNT(*) > 1) ORDER BY DESC(?n) ASC(?x) ?x LIMIT 5",
    "BASE <urn:a> ASK WHERE { VALUES ?x { 1 1.5 1e0 UNDEF true 'a'@en 'b'^^<x> } "
    "FILTER(?x NOT IN (1, -1) || ?x - 1 < 2) }",
    "CONSTRUCT { ?x a [ ] } WHERE { ?x <urn:p>/<urn:q>?|^<urn:r>* [ ] ; a [] . GRAPH ?g { _:b <urn:p> ( 1 2 ) } }",
    "SELECT * { { ?x ?y -1 } UNION { ?x ?y +.5 } OPTIONAL { ?x ?y ?z FILTER EXISTS { ?x ?y 5 } FILTER REGEX(?z, '#') } "
    "BIND (IF(BOUND(?z), 1, 2) AS ?w) FILTER(?x = ?y && !ISIRI(?z)) }",
]


@pytest.mark.parametrize("rounds", [40, pytest.param(1_000, marks=pytest.mark.slow)])
def test_every_pair_of_words(rounds: int, seed: int) -> None:
    assert check(EVERY_WORD, rounds, seed) == rounds * len(EVERY_WORD)


def test_the_examples(seed: int) -> None:
    texts = [path.read_text("utf-8") for path in sorted(EXAMPLES.rglob("*.rq"))]
    assert check(texts, 4, seed) > 3 * len(texts)


@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_real_queries(rounds: int, seed: int, shared_data: Path) -> None:
    texts = real_queries(shared_data)
    chance = Random(seed)
    assert check(chance.sample(texts, 300) if rounds == 1 else texts, rounds, seed) > 100
