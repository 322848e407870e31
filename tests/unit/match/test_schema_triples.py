"""Publications that bring classes of their own: long chains of them cost what they give."""

from __future__ import annotations

import sys

import pytest

from tests.unit.match.match_samples import InProcess, publication
from triplecast.index import IndexWriter
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import Classes

SUB = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
LENGTH = 600
HALF = LENGTH // 2


def matched(*conditions: str) -> MatchedBatch:
    """Of a publication with a chain of `LENGTH` classes, each a type of itself alone."""
    chain = " . ".join(f"e:{number} {SUB} e:{number + 1}" for number in range(LENGTH))
    registrations = [
        Registration(
            RegistrationId(number),
            Subscription(f"s{number}", f"PREFIX e: <http://e/> SELECT ?x {{ ?x rdfs:subClassOf ?y {condition} }}"),
        )
        for number, condition in enumerate(conditions, 1)
    ]
    return Matcher(InProcess()).match(IndexWriter().apply(registrations, [], 50), [publication(chain)])


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (f"FILTER(tc:instance(?x, e:{HALF}))", 1),
        (f"FILTER(tc:descendant(?x, e:{HALF}))", HALF + 1),
        (f"FILTER(tc:ancestor(?x, e:{HALF}))", LENGTH - HALF),
        (f". ?x rdfs:subClassOf* e:{HALF} FILTER(tc:descendant(?x, e:{LENGTH}))", HALF + 1),
    ],
)
def test_a_chain_is_walked_from_what_is_wanted(condition: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The closure of each class by itself would be walked in time and room that grow with the square."""

    def refused(*_: object) -> None:
        raise AssertionError("a closure was made")

    monkeypatch.setattr(Classes, "above", refused)
    found = matched(condition)
    assert found.stats.candidates == 0
    assert found.bindings_of(0).count(b'"x"') == rows


def test_marks_beyond_the_bound_of_an_entailed_graph_leave_its_pairs_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conditions = [f"FILTER(tc:descendant(?x, e:{LENGTH - number}))" for number in range(3)]
    monkeypatch.setattr(sys.modules["triplecast.match.entailed"], "TRIPLES_LIMIT", 4 * LENGTH)
    assert len(matched(*conditions)) == 3
    monkeypatch.setattr(sys.modules["triplecast.match.entailed"], "TRIPLES_LIMIT", 4 * LENGTH - 10)
    assert [pair.registration for pair in matched(*conditions).undecided] == [1, 2, 3]
