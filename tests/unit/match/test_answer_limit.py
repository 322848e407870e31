"""Answers of one publication beyond their limit (decision 15): which pairs are undecided is a function of publication
and position, whatever the batch, the segments and the way of deciding.

No test saw memory without a limit because no generator multiplied rows by subscriptions: each pair was small, and pairs
few. The tests here lower the limits instead, so that random cases cross them; `tests/unit/engine/test_peak_memory.py`
measures processes under the real ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from tests.unit.match.match_samples import InProcess, publication, random_case, random_stars, registrations, snapshot_of
from triplecast.index import IndexWriter, Snapshot, build_segment
from triplecast.index.merge import merge_segments
from triplecast.match import Matcher
from triplecast.match.answer_limit import NO_ROOM
from triplecast.model.match import AnswerLimits
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration

Outcome = tuple[dict[tuple[int, int], bytes], set[tuple[int, int]]]
"""By position and registration: answers, and the pairs without room."""


def outcome(snapshot: Snapshot, batches: Sequence[Sequence[Publication]], limits: AnswerLimits) -> Outcome:
    found: Outcome = ({}, set())
    with Matcher(InProcess(), limits=limits) as matcher:
        for batch in batches:
            done: list[Publication] = []
            for of, matched in matcher.match_pieces(snapshot, batch):
                done += of
                rows = zip(matched.publication.tolist(), matched.registration.tolist(), strict=True)
                for row, (place, registration) in enumerate(rows):
                    found[0][of[place].position, registration] = matched.bindings_of(row)
                pairs = [pair for pair in matched.undecided if pair.reason == NO_ROOM]
                found[1].update((of[pair.publication].position, pair.registration) for pair in pairs)
                assert matched.stats.matches == len(matched)
                assert matched.stats.undecided == len(matched.undecided)
            assert done == [*batch], "pieces are of all publications, in order"
    return found


def limited(whole: Outcome, limit: int) -> Outcome:
    """What semantics 1.7 says of answers without a limit."""
    spent: dict[int, int] = {}
    kept: Outcome = ({}, set())
    for (position, registration), bindings in sorted(whole[0].items()):
        spent[position] = spent.get(position, 0) + len(bindings)
        if spent[position] <= limit:
            kept[0][position, registration] = bindings
        else:
            kept[1].add((position, registration))
    return kept


def ways(
    queries: Sequence[Registration], publications: list[Publication]
) -> Iterator[tuple[Snapshot, list[list[Publication]]]]:
    parts = [build_segment(queries[start::3]) for start in range(3)]
    index = IndexWriter()
    for start in range(0, len(queries), 7):
        grown = index.apply(queries[start : start + 7], (), start)
    yield snapshot_of([build_segment(queries)]), [publications]
    yield snapshot_of([build_segment(queries)]), [[each] for each in publications]
    yield snapshot_of(parts), [publications[:2], publications[2:]]
    yield snapshot_of([merge_segments(parts)]), [publications]
    yield grown, [publications]


@pytest.mark.parametrize("make", [random_case, random_stars])
def test_every_way_leaves_the_same_pairs_undecided(make: object, seed: int) -> None:
    assert callable(make)
    crossed = 0
    for number in range(seed, seed + 3):
        queries, publications = make(number)
        publications = [*publications, publication("")]
        whole = outcome(snapshot_of([build_segment(queries)]), [publications], AnswerLimits())
        assert not whole[1]
        sizes = sorted(len(bindings) for bindings in whole[0].values())
        for limit in (0, sizes[len(sizes) // 2], sizes[-1], 3 * sizes[-1], sum(sizes)):
            wanted = limited(whole, limit)
            crossed += bool(wanted[0] and wanted[1])
            limits = AnswerLimits(limit, pairs=random.Random(number).choice((1, 5, 50)))
            for way, (snapshot, batches) in enumerate(ways(queries, publications)):
                assert outcome(snapshot, batches, limits) == wanted, (number, limit, way)
    assert crossed > 3


def test_pieces_hold_no_more_than_the_limit_together() -> None:
    """Counted work: of 40 publications with 40 answers each, a piece takes as many as fit and no fewer than a third."""
    queries = registrations(*(f"SELECT * {{ ?s e:p ?o FILTER(?o != {number}) }}" for number in range(40)))
    publications = [publication(" . ".join(f"e:s{number} e:p {number}" for number in range(10))) for _ in range(40)]
    snapshot = snapshot_of([build_segment(queries)])
    alone = len(Matcher(InProcess()).match(snapshot, publications[:1]).bindings)
    with Matcher(InProcess(), limits=AnswerLimits(10 * alone + 1)) as matcher:
        pieces = [(len(of), len(matched.bindings)) for of, matched in matcher.match_pieces(snapshot, publications)]
    assert sum(count for count, _ in pieces) == 40
    assert max(size for _, size in pieces) <= 10 * alone + 1
    assert len(pieces) <= 12


def test_an_answer_that_is_too_long_is_undecided_by_every_route_and_takes_no_room() -> None:
    """The evaluator has always had this limit; the index had none, and 10,000 rows of a long literal were tried."""
    text = "x" * 1_000_000
    graph = publication(f'e:a e:t "{text}"  . ' + " . ".join(f"e:s{number} e:p {number}" for number in range(20)))
    queries = registrations(
        "SELECT * { ?a e:t ?t . ?s e:p ?o }",
        "SELECT * { { ?a e:t ?t . ?s e:p ?o } UNION { ?a e:q ?t } }",
        "SELECT * { ?a e:t ?t . ?s e:p ?o } ORDER BY ?o LIMIT 30",
        "ASK { ?a e:t ?t . ?s e:p ?o }",
    )
    with Matcher() as matcher:
        matched = matcher.match(snapshot_of([build_segment(queries)]), [graph])
    reason = "answer: more than 16777216 bytes of bindings"
    assert [(pair.registration, pair.reason) for pair in matched.undecided] == [(1, reason), (2, reason), (3, reason)]
    assert matched.registration.tolist() == [4]
