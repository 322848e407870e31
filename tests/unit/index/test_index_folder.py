"""The index folder: snapshots by name, removals, merges and what a damaged folder says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.match.match_samples import AFTER_ALL, matcher, matches_of, publication, registrations
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.errors import FolderLocked, StorageFault
from triplecast.index import IndexWriter, SegmentFolder, Snapshot, open_snapshot
from triplecast.index.snapshot import Manifest, read_manifest
from triplecast.index.writer import MANIFESTS_KEPT
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.subscription import Registration


def _asks(count: int) -> list[Registration]:
    return registrations(*(f"ASK {{ ?x e:p {number % 7} }}" for number in range(count)))


def _found(snapshot: Snapshot, turtle: str = "e:a e:p 3", position: int = AFTER_ALL) -> list[int]:
    batch = matches_of(matcher().match(snapshot, [publication(turtle, position)]))
    return [registration for _, registration in batch]


def test_an_empty_folder_is_an_empty_snapshot(tmp_path: Path) -> None:
    snapshot = IndexWriter(SegmentFolder(tmp_path / "new")).open()
    assert (snapshot.covers, snapshot.segments, len(snapshot)) == (0, (), 0)


def test_snapshots_stay_while_their_names_are_young(tmp_path: Path) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    queries = _asks(8)
    names = [folder.apply([query], (), int(query.id)).manifest for query in queries]
    assert folder.covers == 8
    for number, name in enumerate(names, 1):
        assert name is not None
        snapshot = open_snapshot(SegmentFolder(tmp_path), name)
        assert snapshot.covers == number
        assert _found(snapshot) == [each for each in (4,) if each <= number]
    assert _found(IndexWriter(SegmentFolder(tmp_path)).open()) == [4]


def test_old_files_are_swept(tmp_path: Path) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    for query in _asks(3 * MANIFESTS_KEPT):
        folder.apply([query], (), int(query.id))
    manifests = list(tmp_path.glob("manifest-*.json"))
    assert len(manifests) == MANIFESTS_KEPT
    named = {name for path in manifests for name in _segments(tmp_path, path.name)}
    assert {path.name for path in tmp_path.glob("segment-*.tcx")} == named
    assert not list(tmp_path.glob("*.tmp"))


def _segments(folder: Path, manifest: str) -> list[str]:
    return list(read_manifest(folder, manifest).segments)


def test_removals_hold_from_their_position_and_survive_merges(tmp_path: Path) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    queries = registrations(*("ASK { ?x e:p 3 }" for _ in range(20)))
    snapshot = folder.apply(queries[:10], (), 10)
    snapshot = folder.apply((), [(4, 50), (5, 60)], 60)
    for query in queries[10:]:
        snapshot = folder.apply([query], (), 60)
    everybody = list(range(1, 21))
    assert _found(snapshot, position=50) == [each for each in everybody if each != 4]
    assert _found(snapshot, position=49) == everybody
    assert _found(IndexWriter(SegmentFolder(tmp_path)).open(), position=61) == [
        each for each in everybody if each not in (4, 5)
    ]


def test_what_nobody_needs_is_merged_away() -> None:
    index = IndexWriter()
    queries = registrations(*("ASK { ?x e:p 3 }" for _ in range(8)))
    index.apply(queries[:4], (), 4)
    index.apply((), [(2, 50), (3, 70)], 70)
    for query in queries[4:]:
        snapshot = index.apply([query], (), 70, needed_from=60)
    assert _found(snapshot, position=65) == [1, 3, 4, 5, 6, 7, 8]
    assert sum(len(segment) for segment in snapshot.segments) == 7
    assert snapshot.removals.registration.tolist() == [3]


def test_a_folder_says_from_where_it_can_answer(tmp_path: Path) -> None:
    """What was dropped for one `needed_from` does not come back with a lower one, or with another process."""
    folder = IndexWriter(SegmentFolder(tmp_path))
    queries = _asks(3)
    for query, needed_from in zip(queries, (0, 60, 50), strict=True):
        folder.apply([query], (), 70, needed_from=needed_from)
    again = IndexWriter(SegmentFolder(tmp_path))
    again.open()
    assert (folder.needed_from, again.needed_from) == (60, 60)
    again.reset()
    assert again.needed_from == 0


def test_segments_stay_few() -> None:
    index = IndexWriter()
    for query in _asks(200):
        snapshot = index.apply([query], (), int(query.id))
    assert sum(len(segment) for segment in snapshot.segments) == 200
    assert len(snapshot.segments) <= 15
    assert _found(snapshot) == list(range(4, 201, 7))


@pytest.mark.parametrize("damage", ["torn", "flipped", "not json", "segment gone", "segment torn", "format"])
def test_a_damaged_folder_says_so_and_starts_again(tmp_path: Path, damage: str) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    name = folder.apply(_asks(5), (), 5).manifest
    assert name is not None
    manifest, segment = tmp_path / name, next(tmp_path.glob("segment-*.tcx"))
    content = manifest.read_bytes()
    if damage == "torn":
        manifest.write_bytes(content[:-10])
    elif damage == "flipped":
        manifest.write_bytes(content.replace(b'"covers": 5', b'"covers": 6'))
    elif damage == "not json":
        manifest.write_bytes(b"[]")
    elif damage == "segment gone":
        segment.unlink()
    elif damage == "segment torn":
        segment.write_bytes(segment.read_bytes()[:-64])
    else:
        manifest.write_bytes(content.replace(b'"format": ', b'"format": 9'))
    again = IndexWriter(SegmentFolder(tmp_path))
    with pytest.raises(StorageFault) as fault:
        again.open()
    assert fault.value.path in (manifest.name, segment.name)
    again.reset()
    rebuilt = again.apply(_asks(5), (), 5)
    assert rebuilt.manifest > name
    assert _found(IndexWriter(SegmentFolder(tmp_path)).open()) == [4]


def test_a_writer_that_another_has_followed_leaves_no_file(tmp_path: Path) -> None:
    followed = False

    @contextmanager
    def sole() -> Iterator[None]:
        if followed:
            raise FolderLocked("here", "a later writer")
        yield

    folder = IndexWriter(SegmentFolder(tmp_path, sole))
    folder.apply(_asks(3), (), 3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    followed = True
    for added, removed in ((_asks(2), ()), ((), [(1, 9)])):
        with pytest.raises(FolderLocked):
            folder.apply(added, removed, 9)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert folder.covers == 3


def test_a_writer_that_is_followed_as_it_writes_is_told_so(tmp_path: Path) -> None:
    """`tests.kills`: its successor had swept the file that it had begun, and it called that a fault of the disk."""
    entered: list[None] = []

    @contextmanager
    def sole() -> Iterator[None]:
        if entered:
            raise FolderLocked("here", "a later writer")
        entered.append(None)
        yield
        for left in tmp_path.glob("*.tmp"):
            left.unlink()

    with pytest.raises(FolderLocked):
        IndexWriter(SegmentFolder(tmp_path, sole)).apply(_asks(3), (), 3)
    assert [*tmp_path.iterdir()] == []


def test_what_a_killed_process_was_writing_is_swept(tmp_path: Path) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    left = tmp_path / "segment-0000000001.tcx.0123abcd.tmp"
    left.write_bytes(b"half")
    folder.apply(_asks(3), (), 3)
    assert not left.exists()


def test_refusals_are_kept_with_their_reason() -> None:
    snapshot = IndexWriter().apply(registrations("SELECT", "ASK { ?x e:p 3 }", "SELECT ?x { ?x e:p 3 } LIMIT 0"), (), 3)
    (segment,) = snapshot.segments
    assert [each.registration for each in segment.refused] == [1, 3]
    assert "LIMIT 0" in segment.refused[1].reason
    assert _found(snapshot) == [2]


def test_a_manifest_is_read_once_to_know_what_it_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = IndexWriter(SegmentFolder(tmp_path))
    for query in _asks(4):
        folder.apply([query], (), int(query.id))
    again, read = IndexWriter(SegmentFolder(tmp_path)), []

    def note(path: Path, name: str) -> Manifest:
        read.append(name)
        return read_manifest(path, name)

    again.open()
    monkeypatch.setattr("triplecast.index.segment_store.read_manifest", note)
    for query in _asks(8)[4:]:
        again.apply([query], (), int(query.id))
    assert read == [f"manifest-{number:010}.json" for number in (1, 2, 3, 4)]


def test_a_snapshot_is_of_the_arguments_that_its_operators_took(tmp_path: Path) -> None:
    """Versions and other operators make no difference; arguments that change under way do, until it is rebuilt."""
    one = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "gone", "one")
    other, changed = replace(one, iri="urn:o:two"), replace(one, arguments=("bound", "bound", "free"))
    IndexWriter(SegmentFolder(tmp_path)).apply([], [], 1, compiler=SubscriptionCompiler(OperatorSet((one,))))
    folder = IndexWriter(SegmentFolder(tmp_path))
    folder.open()
    for declared in ((), (one,), (replace(one, version="2"),), (one, other)):
        assert folder.is_compiled_for(OperatorSet(declared))
    assert not folder.is_compiled_for(OperatorSet((changed,)))
    folder.apply([], [], 2, compiler=SubscriptionCompiler(OperatorSet((changed,))))
    assert not folder.is_compiled_for(OperatorSet((changed,))), "older segments are of the arguments before"
    folder.reset()
    folder.apply([], [], 3, compiler=SubscriptionCompiler(OperatorSet((changed,))))
    assert folder.is_compiled_for(OperatorSet((changed,)))


def test_an_empty_snapshot_is_written_where_no_folder_is(tmp_path: Path) -> None:
    """A run opens its index before anything is registered."""
    snapshot = IndexWriter(SegmentFolder(tmp_path / "output" / "index")).apply([], [], 0)
    assert snapshot.manifest == "manifest-0000000001.json"
    assert IndexWriter(SegmentFolder(tmp_path / "output" / "index")).open().covers == 0
