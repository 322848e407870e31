"""Which structures are joined: those whose next keys may be present, of the anchor's subject where they share it."""

from __future__ import annotations

import pytest

from tests.unit.match.match_samples import expected, matcher, matches_of, publication, registrations, snapshot_of
from triplecast.index import build_segment

STAR = "ASK { ?x e:p e:1 ; e:q e:2 ; e:r e:3 }"
MANY = " . ".join(f"e:a{number} e:p e:1" for number in range(70))
"""More subjects than have bits."""


@pytest.mark.parametrize(
    ("query", "turtle", "joined", "matched"),
    [
        (STAR, "e:a e:p e:1 ; e:q e:2 ; e:r e:3", 1, 1),
        (STAR, "e:a e:p e:1 ; e:r e:3", 0, 0),
        (STAR, "e:a e:p e:1 ; e:q e:2", 0, 0),
        (STAR, "e:a e:p e:1 ; e:q e:2 . e:b e:r e:3", 0, 0),
        (STAR, "e:a e:p e:1 ; e:r e:3 . e:b e:q e:2", 0, 0),
        (STAR, f"{MANY} . e:a69 e:q e:2 ; e:r e:3", 1, 1),
        (STAR, f"{MANY} . e:a0 e:q e:2 ; e:r e:3", 1, 1),
        (STAR, f"{MANY} . e:b e:q e:2 ; e:r e:3", 1, 0),
        ("ASK { ?x e:p e:1 . ?y e:q e:2 }", "e:a e:p e:1 . e:b e:q e:2", 1, 1),
        ("ASK { ?x e:p e:1 . ?y e:q e:2 }", "e:a e:p e:1 . e:b e:q e:3", 0, 0),
        ("ASK { ?x e:p e:1 ; e:r ?y . ?y e:q e:2 }", "e:a e:p e:1 ; e:r e:b . e:b e:q e:2", 1, 1),
        ("ASK { e:a e:p e:1 . e:b e:q e:2 }", "e:a e:p e:1 . e:b e:q e:2", 1, 1),
        ("ASK { e:a e:p e:1 . ?x e:q e:2 }", "e:a e:p e:1 . e:b e:q e:2", 1, 1),
    ],
)
def test_structures_without_their_next_keys_are_not_joined(query: str, turtle: str, joined: int, matched: int) -> None:
    queries, publications = registrations(query), [publication("e:z e:z e:z"), publication(turtle)]
    batch = matcher().match(snapshot_of([build_segment(queries)]), publications)
    assert matches_of(batch) == expected(queries, publications)
    assert (batch.stats.joins, batch.stats.matches) == (joined, matched)


def test_nothing_of_one_publication_is_present_in_the_next() -> None:
    queries = registrations(STAR)
    publications = [publication("e:a e:p e:1 ; e:q e:2"), publication("e:a e:p e:1 ; e:r e:3")]
    batch = matcher().match(snapshot_of([build_segment(queries)]), publications)
    assert (batch.stats.touched, batch.stats.joins) == (2, 0)
