"""Shards on disk: the files of each cut, and manifests that name them.

A manifest is replaced in one step, so an assignment is swapped while publications flow: who has a manifest's name sees
the same shards while its files exist. Those of the last `MANIFESTS_KEPT` are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from triplecast.errors import StorageFault
from triplecast.index import Removals, Segment, Snapshot
from triplecast.index.file import ArrayFile, Sole, read_arrays, read_mark, write_arrays
from triplecast.index.snapshot import open_segment, read_checked, read_removals, write_checked, write_removals
from triplecast.index.writer import MANIFESTS_KEPT
from triplecast.kernels.directory import Directory
from triplecast.partition.items import mark_shards
from triplecast.partition.routing import IndexedEntries, Router
from triplecast.partition.shards import Partitioner, SegmentCut

SHARDS = "shards"
"""The folder beside the index."""
REBUILD_SHARDS = "start the run again; shards are cut anew from the index"


class ShardFile(NamedTuple):
    """A file as a manifest names it."""

    name: str
    bytes: int
    checksum: str
    """That of the file's head, in hexadecimal digits."""
    subscriptions: int


class RouterFiles(NamedTuple):
    stage: ShardFile
    """The directory, and where indexed entries lead."""
    entries: ShardFile | None
    """The segment of these."""


class CutFiles(NamedTuple):
    """Of one segment."""

    router: RouterFiles | None
    parts: tuple[ShardFile | None, ...]
    load: tuple[int, ...]

    @property
    def all(self) -> list[ShardFile]:
        router = () if self.router is None else self.router
        return [file for file in (*router, *self.parts) if file is not None]


@dataclass(frozen=True, slots=True, eq=False)
class ShardManifest:
    """What is on disk of a partition."""

    name: str
    index: str
    """The manifest of the whole snapshot."""
    strategy: str
    shards: int
    covers: int
    removals: Removals
    cuts: tuple[CutFiles, ...]

    @property
    def load(self) -> tuple[int, ...]:
        return tuple(sum(cut.load[shard] for cut in self.cuts) for shard in range(self.shards))


class ShardWriter:
    """The one writer of a folder of shards, which is a cache of the index; what an earlier process left is deleted."""

    def __init__(self, path: Path, sole: Sole = nullcontext) -> None:
        self._path, self._sole = path, sole
        self._number = 0
        self._written: WeakKeyDictionary[Partitioner, WeakKeyDictionary[Segment, CutFiles]] = WeakKeyDictionary()
        self._kept: OrderedDict[str, ShardManifest] = OrderedDict()

    def publish(self, partitioner: Partitioner, snapshot: Snapshot) -> ShardManifest:
        """Write what is new of a snapshot's shards, then the manifest. Raises `StorageFault`."""
        with self._sole():
            self._path.mkdir(parents=True, exist_ok=True)
        cuts = tuple(self._write(partitioner, segment) for segment in snapshot.segments)
        manifest = ShardManifest(
            f"shards-{self._next():010}.json",
            snapshot.manifest,
            partitioner.strategy,
            partitioner.shards,
            snapshot.covers,
            snapshot.removals,
            cuts,
        )
        write_checked(self._path / manifest.name, _as_json(manifest), self._sole)
        self._kept[manifest.name] = manifest
        while len(self._kept) > MANIFESTS_KEPT:
            self._kept.popitem(last=False)
        self._sweep()
        return manifest

    def _write(self, partitioner: Partitioner, segment: Segment) -> CutFiles:
        written = self._written.setdefault(partitioner, WeakKeyDictionary())
        found = written.get(segment)
        if found is None:
            found = written[segment] = self._write_cut(partitioner.cut(segment))
        return found

    def _write_cut(self, cut: SegmentCut) -> CutFiles:
        router = None if cut.router is None else self._write_router(cut.router)
        parts = tuple(None if part is None else self._write_segment(part) for part in cut.parts)
        return CutFiles(router, parts, tuple(cut.load.tolist()))

    def _write_router(self, router: Router) -> RouterFiles:
        directory, indexed, always = router
        arrays = {} if directory is None else directory._asdict()
        notes: dict[str, Any] = {"always": always}
        if indexed is not None:
            arrays["leads"], notes["by_keys"] = indexed.leads, indexed.by_keys
        name = f"stage-{self._next():010}.tcx"
        write_arrays(self._path / name, ArrayFile(arrays, notes), self._sole)
        entries = None if indexed is None else self._write_segment(indexed.segment)
        return RouterFiles(self._describe(name, 0), entries)

    def _write_segment(self, segment: Segment) -> ShardFile:
        name = f"segment-{self._next():010}.tcx"
        segment.write(self._path / name, self._sole)
        return self._describe(name, len(segment))

    def _describe(self, name: str, subscriptions: int) -> ShardFile:
        path = self._path / name
        return ShardFile(name, path.stat().st_size, f"{read_mark(path):016x}", subscriptions)

    def _next(self) -> int:
        """A number that no file has, of an earlier process either."""
        if not self._number:
            numbers = [path.stem.rpartition("-")[2] for path in self._path.iterdir()]
            self._number = max((int(each) for each in numbers if each.isdecimal()), default=0)
        self._number += 1
        return self._number

    def _sweep(self) -> None:
        needed = {file.name for kept in self._kept.values() for cut in kept.cuts for file in cut.all}
        with self._sole():
            for path in self._path.iterdir():
                if path.name not in needed and path.name not in self._kept:
                    path.unlink(missing_ok=True)


class ShardFolder:
    """Shards as any process opens them, each when it is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def manifest(self, name: str) -> ShardManifest:
        """Raises `StorageFault`."""
        content = read_checked(self._path / name)
        cuts = tuple(
            CutFiles(_read_router(r), tuple(map(_read_file, p)), tuple(load)) for r, p, load in content["cuts"]
        )
        return ShardManifest(
            name,
            content["index"],
            content["strategy"],
            content["shards"],
            content["covers"],
            read_removals(content["removals"]),
            cuts,
        )

    def routers(self, manifest: ShardManifest) -> tuple[tuple[Router, ...], int]:
        """The index stage, and the shards that every publication visits. Raises `StorageFault`."""
        routers, always = [], 0
        for cut in manifest.cuts:
            if cut.router is None:
                always |= mark_shards(cut.parts)
            else:
                routers.append(self._open_router(cut.router))
        return tuple(routers), always

    def shard(self, manifest: ShardManifest, shard: int) -> Snapshot:
        """One shard. Raises `StorageFault` that names it."""
        try:
            segments = tuple(self._open(part) for cut in manifest.cuts if (part := cut.parts[shard]) is not None)
        except StorageFault as fault:
            problem = f"shard {shard} of {manifest.name} cannot be had: {fault.found}"
            raise StorageFault(fault.path, problem, REBUILD_SHARDS) from fault
        removals = manifest.removals.within(segment.tables.registrations for segment in segments)
        return Snapshot(manifest.covers, segments, removals, manifest.name)

    def _open_router(self, files: RouterFiles) -> Router:
        self._check(files.stage)
        stage = read_arrays(self._path / files.stage.name)
        leads, notes, indexed = stage.arrays.pop("leads", None), stage.notes, None
        if files.entries is not None and leads is not None:
            indexed = IndexedEntries(self._open(files.entries), leads, notes["by_keys"])
        return Router(Directory(**stage.arrays) if stage.arrays else None, indexed, notes["always"])

    def _open(self, file: ShardFile) -> Segment:
        self._check(file)
        return open_segment(self._path / file.name)

    def _check(self, file: ShardFile) -> None:
        path = self._path / file.name
        if f"{read_mark(path):016x}" != file.checksum or path.stat().st_size != file.bytes:
            raise StorageFault(file.name, "it is not the file that the manifest names", REBUILD_SHARDS)


def _as_json(manifest: ShardManifest) -> dict[str, Any]:
    return {
        "index": manifest.index,
        "strategy": manifest.strategy,
        "shards": manifest.shards,
        "covers": manifest.covers,
        "removals": write_removals(manifest.removals),
        "cuts": [list(cut) for cut in manifest.cuts],
    }


def _read_file(written: list[Any] | None) -> ShardFile | None:
    return None if written is None else ShardFile(*written)


def _read_router(written: list[Any] | None) -> RouterFiles | None:
    if written is None:
        return None
    stage, entries = written
    return RouterFiles(ShardFile(*stage), _read_file(entries))
