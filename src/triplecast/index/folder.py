"""The index on disk: segment files under numbered manifests. It is a cache of the journal's registry.

A manifest is immutable and names its segments; the one with the highest number is current. A worker that has a
manifest's name sees the same snapshot while its files exist: manifests older than the last `MANIFESTS_KEPT`, and
segments that no kept manifest names, are deleted. A mapped file stays readable after its deletion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.index.file import Sole
from triplecast.index.manifest import Manifest
from triplecast.index.merge import apply_changes
from triplecast.index.rebuilding import DueSegments, RebuiltSegment, find_due, rebuild, replace_due
from triplecast.index.removals import NO_REMOVALS, Removals
from triplecast.index.segment import Segment
from triplecast.index.segment_store import SegmentFolder, SegmentStore, manifest_number
from triplecast.index.snapshot import Snapshot
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Registration

INDEX = "index"
"""The index's folder beside the journal."""
MANIFESTS_KEPT = 16


class IndexFolder:
    """The one writer of an index folder. Its caller holds the journal's lock; files change inside `sole`
    (`Journal.sole`), so that a writer that another has replaced changes none."""

    def __init__(self, path: Path, sole: Sole = nullcontext) -> None:
        self._sole = sole
        self._store: SegmentStore = SegmentFolder(path, sole)
        self._segments: dict[str, Segment] = {}
        self._manifest = Manifest(0, 0, (), NO_REMOVALS)

    @property
    def covers(self) -> int:
        """The last registry position in the current snapshot."""
        return self._manifest.covers

    @property
    def needed_from(self) -> int:
        """The position after which the current snapshot is valid."""
        return self._manifest.needed_from

    def is_compiled_for(self, operators: OperatorSet) -> bool:
        """Whether no operator takes other arguments than when the current snapshot's subscriptions were compiled."""
        return self._manifest.is_compiled_for(operators)

    def open(self) -> Snapshot:
        """Open the latest snapshot, or an empty one that covers position 0 if there is no manifest.

        Raises `StorageFault` for a file that is missing, damaged or of another format: call `reset`, then `apply` the
        registry.
        """
        latest = self._store.latest()
        if latest is None:
            return self.reset()
        self._manifest = self._store.manifest(latest)
        self._segments = {name: self._store.segment(name) for name in self._manifest.segments}
        return self.snapshot()

    def reset(self) -> Snapshot:
        """Start with an empty snapshot, which is not written, whatever the folder contains."""
        self._segments = {}
        self._manifest = Manifest(self._last_number(), 0, (), NO_REMOVALS)
        return self.snapshot()

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]],
        covers: int,
        needed_from: int = 0,
        compiler: SubscriptionCompiler = DEFAULT_COMPILER,
    ) -> Snapshot:
        """Write the snapshot after these registry changes; `removed` has (registration, position of its removal).

        `needed_from`: no publication at or before this position will be matched again. `compiler`
        compiles those `added`. Raises `StorageFault`; then nothing has changed.
        """
        grown = apply_changes(
            tuple(self._segments.values()), self._manifest.removals, added, removed, needed_from, compiler
        )
        names = {id(segment): name for name, segment in self._segments.items()}
        segments: dict[str, Segment] = {}
        for segment in grown.segments:
            name = names.get(id(segment))
            if name is None:
                name = self._store.write(segment)
                reach("index.segment-written")
                segment = self._open_written(name)
            segments[name] = segment
        needed_from = max(self._manifest.needed_from, needed_from)
        operators = {each.iri: each.signature for each in compiler.operators} | {**self._manifest.operators}
        return self._write(segments, grown.removals, covers, needed_from, operators)

    def find_due(self) -> DueSegments | None:
        manifest = self._manifest
        return find_due(tuple(self._segments.values()), manifest.removals, manifest.needed_from)

    def rebuild(self, due: DueSegments) -> RebuiltSegment:
        """Write the live subscriptions of due segments as one segment, in any thread; `adopt` has to follow. Raises
        `StorageFault`."""
        segment = rebuild(due)
        if segment is None:
            return RebuiltSegment(None)
        name = self._store.write(segment)
        return RebuiltSegment(self._open_written(name), name)

    def adopt(self, due: DueSegments, rebuilt: RebuiltSegment) -> bool:
        """Write the snapshot with the rebuilt segment in the place of the due ones; return False if those have been
        merged meanwhile. Raises `StorageFault`; then nothing has changed."""
        segments = replace_due(tuple(self._segments.values()), due, rebuilt.segment)
        if segments is None:
            self._store.release(rebuilt.name)
            return False
        names = {segment: name for name, segment in self._segments.items()}
        named = {names.get(segment, rebuilt.name): segment for segment in segments}
        manifest = self._manifest
        removals = manifest.removals.within(segment.tables.registrations for segment in segments)
        self._write(named, removals, manifest.covers, manifest.needed_from, manifest.operators)
        return True

    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        manifest = self._manifest
        return Snapshot(manifest.covers, tuple(self._segments.values()), manifest.removals, manifest.name)

    def _write(
        self,
        segments: dict[str, Segment],
        removals: Removals,
        covers: int,
        needed_from: int,
        operators: Mapping[str, str],
    ) -> Snapshot:
        """Write the manifest of these segments, whose files exist."""
        manifest = Manifest(self._last_number() + 1, covers, tuple(segments), removals, needed_from, operators)
        self._store.publish(manifest)
        self._segments, self._manifest = segments, manifest
        self._store.sweep(MANIFESTS_KEPT)
        return self.snapshot()

    def _last_number(self) -> int:
        """The highest number that a manifest has, readable or not."""
        latest = self._store.latest()
        return max(0 if latest is None else manifest_number(latest), self._manifest.number)

    def _open_written(self, name: str) -> Segment:
        try:
            return self._store.segment(name)
        except StorageFault:
            with self._sole():  # raises if it is gone because another process has become the writer
                raise
