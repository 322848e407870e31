"""SPARQL syntax: the W3C suites, and pyoxigraph's opinion on broken variants of them and of real queries."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse

from tests.conformance.opinions import APART, oracle_accepts, real_queries, verdict
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_query
from triplecast.languages.tokens import TOKEN

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
BASE = "BASE <http://example.org/> "
"""The suites read a query with its file's IRI as base; in a subscription a relative IRI without BASE is an error."""

REFUSED = {
    # FROM: a subscription cannot choose its dataset (semantics 1.5)
    "sparql10/syntax-sparql2/syntax-dataset-01.rq": "FROM",
    "sparql10/syntax-sparql2/syntax-dataset-02.rq": "FROM",
    "sparql10/syntax-sparql2/syntax-dataset-03.rq": "FROM",
    "sparql10/syntax-sparql2/syntax-dataset-04.rq": "FROM",
    "sparql11/syntax-query/syntax-construct-where-02.rq": "FROM",
    # DESCRIBE: its answer is not defined (semantics 1.5)
    "sparql10/syntax-sparql2/syntax-form-describe01.rq": "DESCRIBE",
    "sparql10/syntax-sparql2/syntax-form-describe02.rq": "DESCRIBE",
    # SERVICE: it reaches outside the publication (semantics 1.5)
    "sparql11/syntax-fed/syntax-service-01.rq": "SERVICE",
    "sparql11/syntax-fed/syntax-service-02.rq": "SERVICE",
    "sparql11/syntax-fed/syntax-service-03.rq": "SERVICE",
    # A function that nobody defines: a query that can only fail is refused when it is subscribed
    "sparql10/syntax-sparql1/syntax-expr-05.rq": "function <http://example.org/ns#myFunc>",
    "sparql10/syntax-sparql1/syntax-order-05.rq": "function <http://example.org/ns#func>",
    "sparql10/syntax-sparql1/syntax-order-06.rq": "function <http://example.org/ns#func2>",
    "sparql10/syntax-sparql2/syntax-function-01.rq": "function <http://example.org/name>",
    "sparql10/syntax-sparql2/syntax-function-02.rq": "function <http://example.org/name>",
    "sparql10/syntax-sparql2/syntax-function-03.rq": "function <http://example.org/name>",
    "sparql10/syntax-sparql2/syntax-function-04.rq": "function <http://example.org/name>",
    "sparql11/syntax-query/syntax-select-expr-04.rq": "function <http://example/function>",
}
"""Positive tests that are refused by name, with what is named; all others must parse."""


class SyntaxCase(NamedTuple):
    name: str
    positive: bool
    text: str


def syntax_cases(suites: Path) -> Iterator[SyntaxCase]:
    """The query syntax tests of all manifests; those of updates are another language's."""
    for manifest in sorted(suites.glob("*/*/manifest.ttl")):
        base = "file:///" + manifest.relative_to(suites).as_posix()
        triples = list(parse(path=manifest, format=RdfFormat.TURTLE, base_iri=base))
        actions = {
            t.subject: t.object.value for t in triples if t.predicate.value == MF + "action" and is_iri(t.object)
        }
        for triple in triples:
            kind = triple.object.value if triple.predicate.value == TYPE and is_iri(triple.object) else ""
            if "SyntaxTest" not in kind or "Update" in kind or not actions[triple.subject].endswith(".rq"):
                continue
            name = actions[triple.subject].removeprefix("file:///")
            text = (suites / name).read_bytes().decode("utf-8")
            yield SyntaxCase(name, "Positive" in kind, text)


def is_iri(term: object) -> bool:
    return isinstance(term, NamedNode)


def test_the_w3c_syntax_suites(shared_data: Path) -> None:
    cases = list(syntax_cases(shared_data / "conformance" / "rdf-tests" / "sparql"))
    assert Counter(case.positive for case in cases) == {True: 215, False: 90}
    found = {}
    for case in cases:
        try:
            parse_query(case.text if "BASE" in case.text else BASE + case.text)
            found[case.name] = "parsed"
        except QueryRefused as error:
            found[case.name] = error.construct
        except QuerySyntaxError:
            found[case.name] = "fault"
    expected = {case.name: "parsed" if case.positive else "fault" for case in cases} | REFUSED
    assert {name: (found[name], expected[name]) for name in found if found[name] != expected[name]} == {}


# ---- broken queries


@pytest.mark.parametrize("rounds", [1_500, pytest.param(30_000, marks=pytest.mark.slow)])
def test_broken_queries_are_judged_as_pyoxigraph_judges_them(shared_data: Path, rounds: int, seed: int) -> None:
    """Queries of the W3C suites and the corpora with tokens dropped, doubled or put in from elsewhere."""
    chance = random.Random(seed)
    suites = shared_data / "conformance" / "rdf-tests" / "sparql"
    texts = [path.read_bytes().decode("utf-8") for path in sorted(suites.glob("*/*/*.rq"))] + real_queries(shared_data)
    texts = [text for text in texts if len(text) < 1_500 and oracle_accepts(text)]
    tokens = [token for text in texts for token in TOKEN.findall(text) if token[0] != "#"]
    judged: Counter[str] = Counter()
    for _ in range(rounds):
        text = broken(chance.choice(texts), tokens, chance)
        found = verdict(text)
        judged["parsed" if found == "parsed" else "fault" if found == "fault" else "refused"] += 1
        if found in ("parsed", "fault") and (found == "parsed") != oracle_accepts(text):
            assert known_difference(text), text
    assert judged["parsed"] > rounds // 50
    assert judged["fault"] > rounds // 2


def broken(text: str, tokens: list[str], chance: random.Random) -> str:
    for _ in range(chance.choice((1, 1, 2))):
        places = list(TOKEN.finditer(text))
        if not places:
            return text
        place = chance.choice(places)
        match chance.randrange(3):
            case 0:
                text = text[: place.start()] + text[place.end() :]
            case 1:
                text = f"{text[: place.start()]} {chance.choice(tokens)} {text[place.end() :]}"
            case _:
                text = f"{text[: place.start()]} {chance.choice(tokens)} {text[place.start() :]}"
    return text


def known_difference(text: str) -> bool:
    """Where we differ from pyoxigraph on purpose, or it from the recommendation.

    It refuses ``SELECT ?x ?x``, some names apart from their bracket (`APART`) and selecting the name of a key
    ``(?x AS ?name)``. It accepts an aggregate in GROUP BY, casts without an argument (found when it evaluates),
    keywords that run into the next word, a space between the sign and the digits of a signed number (``- + 1``), and
    ``?x<?a&&?b>?y``, where the longest token is an IRI.
    """
    try:
        parse_query(text)
    except QuerySyntaxError as error:
        known = ("in GROUP BY", "and got 0", "unknown word", "unexpected <?a&&?b>")
        spaced = error.message in ("unexpected +", "unexpected -") and re.search(r"[-+]\s*[-+]\s+[\d.]", text)
        return bool(spaced) or any(part in error.message for part in known)
    if APART.search(text):
        return True
    if re.search(r"(?i)GROUP\s+BY.*\(\s*[?$]\w+[\s)]+AS\s", text, re.DOTALL):
        return True
    words = [token.upper() for token in TOKEN.findall(text)]
    return any(twice(words[at + 1 :]) for at, word in enumerate(words) if word == "SELECT")


def twice(words: list[str]) -> bool:
    """Whether a SELECT clause, given what follows the keyword, names a column twice."""
    names, depth = [], 0
    for before, word in zip(["", *words], words, strict=False):
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in ("{", "WHERE"):
            break
        if word[0] in "?$" and (depth == 0 or before == "AS"):
            names.append(word[1:])
    return len(names) > len(set(names))
