"""Shards on disk: one swap, files that are checked, and workers' rows that make those of the whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.partition.samples import random_publication, random_query, registrations
from triplecast.errors import StorageFault
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal
from triplecast.model.publication import Draft
from triplecast.model.subscription import Subscription
from triplecast.outbox import OutboxBatch
from triplecast.partition import STRATEGIES, Partitioner, Routing
from triplecast.partition.folder import ShardFolder, ShardWriter
from triplecast.pipeline.rows import from_arrow, work_of
from triplecast.pipeline.shard_stages import match_routed, route_slice
from triplecast.pipeline.sharding import SnapshotCutter
from triplecast.pipeline.sink import check_cover
from triplecast.pipeline.stages import MatchSlice, Stage, match_slice
from triplecast.registry.upkeep import open_index


def test_a_change_writes_what_is_new_and_swaps_by_one_file(tmp_path: Path) -> None:
    rng = random.Random(1)
    texts = registrations([random_query(rng) for _ in range(60)])
    index, writer = IndexWriter(SegmentFolder(tmp_path / INDEX)), ShardWriter(tmp_path / "shards")
    partitioner = Partitioner("anchor", 3)
    first = writer.publish(partitioner, index.apply(texts[:40], covers=40))
    then = writer.publish(partitioner, index.apply(texts[40:], [(3, 61)], covers=61))
    assert {file.name for file in first.cuts[0].all} <= {file.name for cut in then.cuts for file in cut.all}
    folder = ShardFolder(tmp_path / "shards")
    again = folder.manifest(then.name)
    assert (again.index, again.strategy, again.shards, again.covers, again.cuts) == (
        then.index,
        "anchor",
        3,
        61,
        then.cuts,
    )
    assert len(again.load) == 3
    shards = [folder.shard(again, shard) for shard in range(3)]
    assert sum(len(shard) for shard in shards) == 59
    assert len(folder.shard(folder.manifest(first.name), 0)) <= 40, "who has the earlier name sees what it had"
    publications = [random_publication(rng, position) for position in range(70, 90)]
    routers, always = folder.routers(again)
    kept = partitioner.partition(index.snapshot())
    assert (Routing().route(routers, publications) == Routing().route(kept.routers, publications)).all()
    assert always == kept.always
    other = Partitioner("hash", 3)
    assert writer.publish(other, index.snapshot()).strategy == "hash", "another assignment"


@pytest.mark.parametrize("damage", ["gone", "exchanged", "flipped"])
def test_a_shard_that_cannot_be_had_fails_by_its_name(tmp_path: Path, damage: str) -> None:
    rng = random.Random(2)
    index, writer = IndexWriter(SegmentFolder(tmp_path / INDEX)), ShardWriter(tmp_path / "shards")
    manifest = writer.publish(
        Partitioner("hash", 2), index.apply(registrations([random_query(rng) for _ in range(40)]), covers=40)
    )
    names = [part.name for part in manifest.cuts[0].parts if part is not None]
    path = tmp_path / "shards" / names[1]
    if damage == "gone":
        path.unlink()
    elif damage == "exchanged":
        path.write_bytes((tmp_path / "shards" / names[0]).read_bytes())
    else:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    folder = ShardFolder(tmp_path / "shards")
    assert len(folder.shard(manifest, 0))
    with pytest.raises(StorageFault, match=f"shard 1 of {manifest.name} cannot be had"):
        folder.shard(manifest, 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_workers_rows_of_all_shards_make_those_of_the_whole(tmp_path: Path, strategy: str) -> None:
    rng = random.Random(3)
    publications = [random_publication(rng, number) for number in range(1, 41)]
    with Journal.open(tmp_path) as journal:
        mine = [random_query(rng) for _ in range(50)]
        added = journal.subscribe(
            [Subscription(f"s{n}", text, notify=("every", "changed")[n % 2]) for n, text in enumerate(mine)]
        )
        drafts = [
            Draft(f"http://e/{n % 15}", each.quads, str(n).encode(), "none") for n, each in enumerate(publications)
        ]
        journal.commit_documents(drafts[:20])
        journal.cancel([each.id for each in added[::5]])
        journal.commit_documents(drafts[20:])
        whole = open_index(IndexWriter(SegmentFolder(tmp_path / INDEX)), journal, 0)
        cut = SnapshotCutter(journal, tmp_path, strategy, 5).publish(whole)
        head = journal.head()
        events = journal.documents(0, head)
    (row,) = (
        from_arrow(batch.to_pylist()[0]) for batch in match_slice(Stage(tmp_path), MatchSlice(0, head, whole.manifest))
    )
    middle, stage = events[17].position, Stage(tmp_path, shards=5)
    slices = [MatchSlice(0, middle, cut.manifest), MatchSlice(middle, head, cut.manifest)]
    for groups in (1, 2, 5):
        sent = [routed for each in slices for routed in route_slice(stage, groups, each)]
        found = [
            batch.to_pylist()[0]
            for group in range(groups)
            for batch in match_routed(stage, groups, sorted(each for each in sent if each[0][0] == group))
        ]
        merged = OutboxBatch.merged([from_arrow(each) for each in found])
        assert rows_of(merged) == rows_of(row)
        assert len(row.position) > 50
        assert sum(work_of(each).publications for each in found) == 40
        assert check_cover(found, 0) == (0, head)


def rows_of(batch: OutboxBatch) -> list[tuple[object, ...]]:
    texts = (batch.bindings[batch.offsets[s] : batch.offsets[s + 1]].tobytes() for s in batch.sheet.tolist())
    columns = batch.position.tolist(), batch.registration.tolist(), batch.change.tolist()
    return [*zip(*columns, texts, strict=True), *batch.undecided, *batch.awaited]
