"""Shards of a run's index: cut whenever the registry's thread publishes a snapshot, opened by workers one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from triplecast.index import INDEX, SegmentFolder, Snapshot, open_snapshot
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.kernels.layout import I64
from triplecast.kernels.views import Views
from triplecast.model.publication import Publication
from triplecast.partition import SLICES, Partitioner, Routing
from triplecast.partition.folder import SHARDS, ShardFolder, ShardManifest, ShardWriter
from triplecast.partition.routing import Router
from triplecast.partition.shards import SAMPLE_LIMIT
from triplecast.taxonomy import Taxonomies

WHOLE, ROUTERS = -1, -2
"""In place of a shard's number: the whole index, or the index stage alone."""


class SnapshotCutter:
    """Cuts the snapshots of a run, by its last publications as sample. Another start assigns anew."""

    def __init__(
        self,
        journal: Journal,
        folder: Path,
        strategy: str,
        shards: int,
        share: Callable[[Snapshot], object] | None = None,
    ) -> None:
        """`share` is called with what workers may open, before they are told of it."""
        self._journal = journal
        self._writer = ShardWriter(folder / SHARDS, journal.sole)
        self._strategy, self._shards = strategy, shards
        self._share = share

    def publish(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the manifest by which workers open it; it is on disk. Raises `StorageFault`."""
        if self._strategy != SLICES:
            snapshot = replace(snapshot, manifest=self._writer.publish(self._partitioner, snapshot).name)
        if self._share is not None:
            self._share(snapshot)
        return snapshot

    @cached_property
    def _partitioner(self) -> Partitioner:
        head = self._journal.head()
        after = max(0, head - SAMPLE_LIMIT)
        events = self._journal.documents(after, head, SAMPLE_LIMIT, BYTES_AT_ONCE)
        sample = [each for each in events if isinstance(each, Publication)]
        return Partitioner(self._strategy, self._shards, sample, self._journal.taxonomies(after, head))


def open_shard(folder: Path, manifest: str, shard: int) -> Snapshot:
    """Open one shard, or the whole snapshot that a manifest of shards or of the index names. Raises `StorageFault`."""
    if shard != WHOLE:
        shards, found = _read(folder, manifest)
        return shards.shard(found, shard)
    index = _read(folder, manifest)[1].index if manifest.startswith(SHARDS) else manifest
    return open_snapshot(SegmentFolder(folder / INDEX), index)


class IndexStage(NamedTuple):
    """What routes publications to the shards of a manifest."""

    routers: tuple[Router, ...]
    always: int
    """Bit k: every publication visits shard k."""

    def visits(self, publications: Sequence[Publication], taxonomies: Taxonomies, scanned: Views) -> I64:
        """[publications] the shards that each has to visit: bit k for shard k."""
        return _routing().route(self.routers, publications, taxonomies, scanned) | self.always


@lru_cache(maxsize=1)
def open_index_stage(folder: Path, manifest: str, _: int = ROUTERS) -> IndexStage:
    """Raises `StorageFault`."""
    shards, found = _read(folder, manifest)
    return IndexStage(*shards.routers(found))


@lru_cache(maxsize=1)
def _read(folder: Path, manifest: str) -> tuple[ShardFolder, ShardManifest]:
    shards = ShardFolder(folder / SHARDS)
    return shards, shards.manifest(manifest)


@lru_cache(maxsize=1)
def _routing() -> Routing:
    return Routing()
