"""Random subscriptions and publications: the index and the evaluator agree, and so do all ways to run the index."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.reference.anchors import FirstWritten, NoFilter
from tests.unit.match.match_samples import (
    Matches,
    expected,
    match_all,
    matcher,
    matches_of,
    random_case,
    random_stars,
    random_trees,
    snapshot_of,
)
from triplecast.index import IndexWriter, RarestKey, SegmentFolder, build_segment, open_snapshot
from triplecast.index.merge import merge_segments
from triplecast.kernels.layout import SHAPE_STAR, TREE
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration


def test_index_agrees_with_evaluator(seed: int) -> None:
    pairs = matched = 0
    for number in range(seed, seed + 50):
        queries, publications = random_case(number)
        wanted = expected(queries, publications)
        assert match_all(queries, publications) == wanted, f"case {number}"
        pairs += len(queries) * len(publications)
        matched += len(wanted)
    assert matched > pairs / 20


def test_stars_with_many_conditions_and_values(seed: int) -> None:
    for number in range(seed, seed + 25):
        queries, publications = random_stars(number)
        wanted = expected(queries, publications)
        assert len(wanted) > len(queries)
        assert match_all(queries, publications) == wanted, f"case {number}"
        assert _merged(queries, publications) == wanted, f"case {number}"


def test_trees_agree_with_evaluator(seed: int) -> None:
    pairs = matched = trees = 0
    for number in range(seed, seed + 15):
        queries, publications = random_trees(number)
        wanted = expected(queries, publications)
        assert match_all(queries, publications) == wanted, f"case {number}"
        assert _merged(queries, publications) == wanted, f"case {number}"
        shapes = build_segment(queries).tables.index.shapes
        trees += int((shapes[:-1, SHAPE_STAR] == TREE).sum())
        pairs, matched = pairs + len(queries) * len(publications), matched + len(wanted)
    assert matched > pairs / 6
    assert trees > 100


@pytest.mark.parametrize("anchor", [RarestKey(), FirstWritten(), NoFilter()], ids=lambda anchor: type(anchor).__name__)
def test_every_anchor_finds_every_match(anchor: RarestKey | FirstWritten | NoFilter, seed: int) -> None:
    for number in range(seed, seed + 3):
        queries, publications = random_case(number)
        assert match_all(queries, publications, anchor) == expected(queries, publications), f"case {number}"


def _singly(queries: list[Registration], publications: list[Publication]) -> Matches:
    snapshot, found = snapshot_of([build_segment(queries)]), {}
    with matcher() as one:
        for number, each in enumerate(publications):
            for (_, registration), bindings in matches_of(one.match(snapshot, [each])).items():
                found[number, registration] = bindings
    return found


def _shuffled(queries: list[Registration], publications: list[Publication]) -> Matches:
    order = list(range(len(publications)))
    random.Random(1).shuffle(order)
    snapshot = snapshot_of([build_segment(random.Random(2).sample(queries, len(queries)))])
    batch = matches_of(matcher().match(snapshot, [publications[number] for number in order]))
    return {(order[number], registration): bindings for (number, registration), bindings in batch.items()}


def _twice(queries: list[Registration], publications: list[Publication]) -> Matches:
    """The second of two batches through one matcher: no state is left over."""
    snapshot = snapshot_of([build_segment(queries)])
    with matcher() as one:
        one.match(snapshot, publications[::-1])
        return matches_of(one.match(snapshot, publications))


def _merged(queries: list[Registration], publications: list[Publication]) -> Matches:
    parts = [build_segment(queries[start::3], NoFilter() if start == 1 else None) for start in range(3)]
    return matches_of(matcher().match(snapshot_of([merge_segments(parts)]), publications))


def _grown(queries: list[Registration], publications: list[Publication]) -> Matches:
    index = IndexWriter()
    for start in range(0, len(queries), 3):
        snapshot = index.apply(queries[start : start + 3], (), start)
    return matches_of(matcher().match(snapshot, publications))


@pytest.mark.parametrize("way", [_singly, _shuffled, _twice, _merged, _grown])
def test_every_way_gives_the_same(way: object, seed: int) -> None:
    assert callable(way)
    for number in range(seed, seed + 3):
        queries, publications = random_case(number)
        assert way(queries, publications) == match_all(queries, publications), f"case {number}"


def test_reopened_folder_gives_the_same(tmp_path: Path, seed: int) -> None:
    queries, publications = random_case(seed)
    folder = IndexWriter(SegmentFolder(tmp_path))
    folder.apply(queries[:30], (), 30)
    written = folder.apply(queries[30:], (), 40)
    wanted = match_all(queries, publications)
    for snapshot in (
        written,
        IndexWriter(SegmentFolder(tmp_path)).open(),
        open_snapshot(SegmentFolder(tmp_path), written.manifest),
    ):
        assert matches_of(matcher().match(snapshot, publications)) == wanted


def test_sandboxed_evaluator_gives_the_same(seed: int) -> None:
    queries, publications = random_case(seed)
    with Matcher() as sandboxed:
        found = matches_of(sandboxed.match(snapshot_of([build_segment(queries)]), publications))
    assert found == match_all(queries, publications)
