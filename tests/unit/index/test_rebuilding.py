"""DueSegments segments: which are found, what is made of them, and that nothing but their dead is gone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.unit.match.match_samples import AFTER_ALL, matcher, matches_of, publication, registrations
from triplecast.errors import StorageFault
from triplecast.index import IndexWriter, SegmentFolder, Snapshot, merge
from triplecast.index.registrations import NO_REMOVALS, RegistrationNumbers
from triplecast.model.subscription import Registration

OF_THREE = "ASK { ?x e:p 3 }"
CALCULATED = "ASK { ?x e:p ?y FILTER(STRLEN(STR(?y)) = 1) }"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "DUE_LEAST", 8)


def _queries(count: int) -> list[Registration]:
    """Every other one is the evaluator's, whose text is kept."""
    return registrations(*(OF_THREE if number % 2 else CALCULATED for number in range(count)))


def _found(snapshot: Snapshot) -> list[int]:
    batch = matches_of(matcher().match(snapshot, [publication("e:a e:p 3", AFTER_ALL)]))
    return [registration for _, registration in batch]


def _cancel(index: IndexWriter, ids: range, needed_from: int) -> None:
    index.apply((), [(id, 100 + id) for id in ids], 200, needed_from)


@pytest.fixture(params=["memory", "folder"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> IndexWriter:
    return IndexWriter() if request.param == "memory" else IndexWriter(SegmentFolder(tmp_path))


def test_a_segment_is_due_by_its_cancelled_subscriptions(index: IndexWriter) -> None:
    index.apply(_queries(80), (), 80)
    _cancel(index, range(1, 11), 110)
    assert index.find_due() is None, "one in eight is no more than one in eight"
    _cancel(index, range(11, 21), 110)
    assert index.find_due() is None, "what is cancelled after 110 is still asked by what comes before"
    _cancel(index, range(21, 22), 111)
    found = index.find_due()
    assert found is not None
    assert found.dead.tolist() == [*range(1, 12)]


def test_the_most_due_of_several_is_found() -> None:
    index, queries = IndexWriter(), _queries(120)
    for start in range(0, 120, 40):
        index.apply(queries[start : start + 40], (), start + 40)
    _cancel(index, range(1, 9), 200)
    _cancel(index, range(41, 71), 200)
    found = index.find_due()
    assert found is not None
    assert found.segments[0].tables.registrations[0] == 41


def test_what_is_made_again_answers_the_same_without_its_dead(index: IndexWriter) -> None:
    index.apply(_queries(40), (), 40)
    _cancel(index, range(3, 25), 120)
    before = _found(index.snapshot())
    found = index.find_due()
    assert found is not None
    rebuilt = index.rebuild(found)
    assert [len(segment) for segment in index.snapshot().segments] == [40], "nothing has changed yet"
    assert index.adopt(found, rebuilt)
    after = index.snapshot()
    assert [len(segment) for segment in after.segments] == [22]
    assert after.removals.registration.tolist() == [21, 22, 23, 24], "cancelled after 120"
    assert before == _found(after) == [1, 2, *range(25, 41)]
    assert len(after) == 18
    assert index.find_due() is None


def test_a_segment_of_which_nothing_lives_is_dropped(index: IndexWriter) -> None:
    index.apply(_queries(20), (), 20)
    _cancel(index, range(1, 21), 200)
    found = index.find_due()
    assert found is not None
    assert index.adopt(found, index.rebuild(found))
    assert (index.snapshot().segments, len(index.snapshot().removals.registration)) == ((), 0)


def test_what_was_merged_meanwhile_is_not_replaced(index: IndexWriter) -> None:
    queries = _queries(40)
    for start in range(0, 30, 10):
        index.apply(queries[start : start + 10], (), start + 10)
    _cancel(index, range(1, 9), 200)
    found = index.find_due()
    assert found is not None
    rebuilt = index.rebuild(found)
    index.apply(queries[30:], (), 40, 200)
    (merged,) = index.snapshot().segments
    assert not index.adopt(found, rebuilt)
    assert index.snapshot().segments == (merged,)
    assert _found(index.snapshot()) == [*range(9, 41)]


def test_a_file_made_again_stays_until_it_has_its_place(tmp_path: Path) -> None:
    """Other changes are written, and swept, while a segment is made again."""
    index, queries = IndexWriter(SegmentFolder(tmp_path)), _queries(60)
    index.apply(queries[:40], (), 40)
    _cancel(index, range(1, 31), 200)
    found = index.find_due()
    assert found is not None
    rebuilt = index.rebuild(found)
    for query in queries[40:43]:
        index.apply([query], (), int(query.id), 200)
    assert (tmp_path / rebuilt.name).exists()
    assert index.adopt(found, rebuilt)
    again = IndexWriter(SegmentFolder(tmp_path))
    assert _found(again.open()) == _found(index.snapshot()) == [*range(31, 44)]
    assert again.find_due() is None
    for query in queries[43:60]:
        snapshot = index.apply([query], (), int(query.id), 200)
    kept = {path.name for path in tmp_path.glob("segment-*")}
    named = [json.loads(path.read_bytes())["segments"] for path in tmp_path.glob("manifest-*")]
    assert kept == {name for names in named for name in names}
    assert len(kept) < 25
    assert _found(snapshot) == [*range(31, 61)]


def test_one_that_cannot_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = IndexWriter(SegmentFolder(tmp_path))
    index.apply(_queries(40), (), 40)
    _cancel(index, range(1, 31), 200)
    found, before = index.find_due(), sorted(tmp_path.iterdir())
    assert found is not None

    def refuse(*_: object) -> None:
        raise StorageFault("segment", "no space", "free some")

    monkeypatch.setattr("triplecast.index.segment.write_arrays", refuse)
    with pytest.raises(StorageFault):
        index.rebuild(found)
    assert sorted(tmp_path.iterdir()) == before
    assert _found(IndexWriter(SegmentFolder(tmp_path)).open()) == [*range(31, 41)]


def test_removals_are_joined_and_left_out() -> None:
    removals = NO_REMOVALS.joined([(7, 20), (3, 10)])
    joined = removals.joined([(5, 30), (3, 10)])
    assert [column.tolist() for column in joined] == [[3, 5, 7], [10, 30, 20]]
    assert joined.up_to(20).tolist() == [3, 7]
    parts = [RegistrationNumbers.of(np.array(numbers, np.int64)) for numbers in ([1, 3], [7, 9])]
    assert [column.tolist() for column in joined.within(parts)] == [[3, 7], [10, 20]]
    assert joined.within([]).registration.tolist() == []
    assert NO_REMOVALS.joined([]) is NO_REMOVALS


@pytest.mark.parametrize(
    ("numbers", "width"),
    [([], 4), ([5], 4), ([7, 7, 9], 4), ([2**62, 2**62 + 2**32 - 1], 4), ([3, 3 + 2**32], 8), ([0, 2**62], 8)],
)
def test_registrations_are_kept_in_few_bytes(numbers: list[int], width: int) -> None:
    kept = RegistrationNumbers.of(np.array(numbers, np.int64))
    assert kept.distances.itemsize == width
    assert (len(kept), kept[:].tolist(), np.asarray(kept).tolist()) == (len(numbers), numbers, numbers)
    members = np.arange(len(numbers))[::-1]
    assert kept[members].tolist() == numbers[::-1]
    assert kept[members].dtype == np.int64
    asked = sorted({0, 1, 2**62 + 1, *numbers, *(number + 1 for number in numbers)})
    assert kept.among(np.array(asked, np.int64)).tolist() == [each in numbers for each in asked]


def test_neighbours_that_are_left_apart_become_one(index: IndexWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that one change of the registry would take too long to merge."""
    monkeypatch.setattr("triplecast.index.merge.MERGE_LIMIT", 24)
    queries = _queries(140)
    for start in (0, 20, 40, 60, 80, 100):
        index.apply(queries[start : start + 20], (), start + 20)
        if start < 60:
            assert index.find_due() is None, "fewer than four"
    index.apply((), [(3, 150), (30, 150)], 150, 150)
    monkeypatch.setattr(merge, "REBUILT_LIMIT", 100)
    found = index.find_due()
    assert found is not None
    assert [each.tables.registrations[0] for each in found.segments] == [1, 21, 41, 61, 81], "100 at most"
    index.apply(queries[120:], (), 140)
    assert index.adopt(found, index.rebuild(found))
    assert [len(segment) for segment in index.snapshot().segments] == [98, 20, 20]
    assert _found(index.snapshot()) == [each for each in range(1, 141) if each not in (3, 30)]
    assert index.find_due() is None


def test_readings_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.index.merge.MERGE_LIMIT", 9)
    index, entailed = IndexWriter(), [*registrations(*["ASK { ?x a e:C FILTER(tc:instance(?x, e:C)) }"] * 40)]
    for start in range(0, 40, 10):
        index.apply(entailed[start : start + 5] + _queries(40)[start + 5 : start + 10], (), start + 10)
    readings = [segment.mode for segment in index.snapshot().segments]
    assert len({*readings}) == 2
    monkeypatch.setattr(merge, "DUE_LEAST", 5)
    found = index.find_due()
    assert found is not None
    assert len({segment.mode for segment in found.segments}) == 1
    assert index.adopt(found, index.rebuild(found))
    assert sorted(map(len, index.snapshot().segments)) == [5, 5, 5, 5, 20]
