"""Each correction is needed: with it the answer is right, without it the same index answers wrongly."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NamedTuple

import pytest

from experiments.rtf.corrections import CORRECTED, LITERAL
from experiments.rtf.forest import TrieForest, Variant
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.publications import read_publication
from experiments.rtf.queries import (
    ANY,
    And,
    Chain,
    ContinuousQuery,
    Element,
    Expression,
    Not,
    Or,
    QueryTuple,
    Variable,
    phrase,
)
from tests.experiments.rtf.indexes import make_index

S, T, U = map(Variable, "stu")
TITLE, BODY, TYPE = "<urn:title>", "<urn:body>", "<urn:type>"


class Case(NamedTuple):
    algorithm: str
    correction: str
    tuples: tuple[QueryTuple, ...]
    publications: tuple[str, ...]
    """Given one after the other; the last one's answer counts."""
    right: int
    wrong: int
    """How often the subscription is told, with and without the correction."""


def asked(subject: Element, predicate: Element, last: Element, text: Expression | None = None) -> QueryTuple:
    return QueryTuple(subject, predicate, last, text)


def word(name: str) -> Chain:
    return Chain((name,))


FIGURE_1 = (
    asked(S, TYPE, "<urn:article>"),
    asked(S, TITLE, T, And((word("olympic"), word("games")))),
    asked(S, BODY, U, And((word("olympic"), Chain(("games", "rio"), ((0, 2),))))),
)
OLYMPIC = (
    "<urn:a> <urn:type> <urn:article>",
    '<urn:a> <urn:title> "Olympic Games"',
    '<urn:a> <urn:body> "The Olympic Games are in Rio"',
)
TWO_SUBJECTS = ("<urn:a> <urn:type> <urn:article>", '<urn:b> <urn:title> "olympic"')
ABOUT_ARTICLES = (asked(S, TYPE, "<urn:article>"), asked(S, TITLE, T, word("olympic")))
EITHER = (asked(S, TITLE, T, Or((word("olympic"), word("games")))),)
NOT_RIO = (asked(S, TITLE, T, And((word("olympic"), Not(word("rio"))))),)
TITLE_ONLY = (asked(S, TITLE, T, word("olympic")),)

CASES = (
    *(
        case
        for variant in ("RTFm", "RTFs")
        for case in (
            Case(variant, "c1_variable_roots", FIGURE_1, (*OLYMPIC,), 1, 0),
            Case(variant, "c2_joined", ABOUT_ARTICLES, TWO_SUBJECTS, 0, 1),
            Case(variant, "c3_cleared", TITLE_ONLY, ('<urn:a> <urn:title> "olympic"', "|", TWO_SUBJECTS[0]), 0, 1),
            Case(variant, "c4_notified_once", EITHER, ('<urn:a> <urn:title> "olympic games"',), 1, 2),
            Case(variant, "c5_negated", NOT_RIO, ('<urn:a> <urn:title> "olympic rio"',), 0, 1),
        )
    ),
    Case(
        "RTFs",
        "c6_one_statement",
        TITLE_ONLY,
        ('<urn:a> <urn:title> "games"', '<urn:a> <urn:body> "olympic"'),
        0,
        1,
    ),
    Case("iBroker", "c2_joined", ABOUT_ARTICLES, TWO_SUBJECTS, 0, 1),
    Case(
        "iBroker",
        "c4_notified_once",
        (asked(ANY, TITLE, ANY),),
        ('<urn:a> <urn:title> "olympic"', '<urn:a> <urn:title> "games"'),
        1,
        2,
    ),
    Case("iBroker", "c5_negated", NOT_RIO, ('<urn:a> <urn:title> "olympic rio"',), 0, 1),
    Case(
        "iBroker",
        "c7_positions_kept",
        (asked(S, TITLE, T, phrase("olympic", "games")),),
        ('<urn:a> <urn:title> "games olympic"',),
        0,
        1,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.algorithm}-{case.correction}" for case in CASES])
def test_without_the_correction_the_answer_is_wrong(case: Case) -> None:
    for form, expected in ((CORRECTED, case.right), (replace(CORRECTED, **{case.correction: False}), case.wrong)):
        index = make_index(case.algorithm, form)
        index.insert(ContinuousQuery(5, case.tuples))
        assert answer(index, case.publications) == [5] * expected


def answer(index: TrieForest | InvertedIndex, lines: tuple[str, ...]) -> list[int]:
    """Of the last publication; a bar divides them."""
    found: list[int] = []
    for text in " .\n".join((*lines, "")).split("| .\n"):
        found = index.filter(read_publication(text.encode()))
    return found


@pytest.mark.parametrize("variant", Variant)
def test_a_variable_that_stands_twice_in_a_tuple_is_one_term(variant: Variant) -> None:
    for joined, expected in ((True, []), (False, [5])):
        index = TrieForest(variant, replace(CORRECTED, c2_joined=joined))
        index.insert(ContinuousQuery(5, (asked(S, TITLE, S),)))
        assert index.filter(read_publication(b"<urn:a> <urn:title> <urn:b> .\n")) == expected
        assert index.filter(read_publication(b"<urn:a> <urn:title> <urn:a> .\n")) == [5]


def test_every_correction_has_a_case() -> None:
    corrections = {field.name for field in fields(CORRECTED) if getattr(CORRECTED, field.name)}
    assert {case.correction for case in CASES} == corrections
    assert {name for name in corrections if getattr(LITERAL, name)} == set()


def test_the_chain_of_ibroker_keeps_what_it_bound() -> None:
    """Two triples have the next attribute, and only the second one's subject is that of the first entry."""
    index = InvertedIndex()
    index.insert(ContinuousQuery(5, ABOUT_ARTICLES))
    lines = ("<urn:b> <urn:type> <urn:article>", '<urn:a> <urn:title> "olympic"', '<urn:b> <urn:title> "olympic"')
    assert answer(index, lines) == [5]
    assert answer(index, lines[:2]) == []
