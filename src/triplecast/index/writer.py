"""The one writer of an index, which is a cache of the journal's registry.

It applies registry changes, merges small segments, replaces rebuilt ones, and publishes a manifest for each snapshot.
A manifest is immutable and names its segments; the one with the highest number is current. A worker that has a
manifest's name sees the same snapshot while its files exist: manifests older than the last `MANIFESTS_KEPT`, and
segments that no kept manifest names, are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.crash_points import reach
from triplecast.index.merge import DueSegments, RebuiltSegment, apply_changes, find_due, rebuild
from triplecast.index.registrations import NO_REMOVALS
from triplecast.index.segment import Segment
from triplecast.index.segment_store import SegmentMemory, SegmentStore, number_of
from triplecast.index.snapshot import Manifest, Snapshot
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Registration

INDEX = "index"
"""The index's folder beside the journal."""
MANIFESTS_KEPT = 16


class IndexWriter:
    """Writes snapshots to a store; the caller sees to it that nobody else does. Earlier snapshots stay valid."""

    def __init__(self, store: SegmentStore | None = None) -> None:
        """Without a store the index lives in memory."""
        self._store: SegmentStore = SegmentMemory() if store is None else store
        self._segments: dict[str, Segment] = {}
        self._manifest = Manifest(0, 0, (), NO_REMOVALS)
        self._searched: Manifest | None = None
        """The snapshot whose due segments are known."""
        self._due: DueSegments | None = None

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
        known = self._manifest.operators
        return all(known.get(each.iri, each.signature) == each.signature for each in operators)

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
        """Start with an empty snapshot, which is not published, whatever the store contains."""
        self._segments = {}
        self._manifest = Manifest(self._last_number(), 0, (), NO_REMOVALS)
        return self.snapshot()

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]] = (),
        covers: int | None = None,
        needed_from: int = 0,
        compiler: SubscriptionCompiler = DEFAULT_COMPILER,
    ) -> Snapshot:
        """Publish the snapshot after these registry changes; `removed` has (registration, position of its removal).

        `covers`: the last registry position applied, by default the same as before. `needed_from`: no publication at or
        before this position will be matched again. `compiler` compiles those `added`. Raises `StorageFault`; then
        nothing has changed.
        """
        manifest = self._manifest
        segments, removals = apply_changes(
            tuple(self._segments.values()), manifest.removals, added, removed, needed_from, compiler
        )
        names = {segment: name for name, segment in self._segments.items()}
        named: dict[str, Segment] = {}
        for segment in segments:
            if segment in names:
                named[names[segment]] = segment
            else:
                name = self._store.write(segment)
                reach("index.segment-written")
                named[name] = self._store.segment(name)
        signatures = {each.iri: each.signature for each in compiler.operators}
        following = replace(
            manifest,
            covers=manifest.covers if covers is None else covers,
            removals=removals,
            needed_from=max(manifest.needed_from, needed_from),
            operators=signatures | {**manifest.operators},
        )
        return self._publish(named, following)

    def find_due(self) -> DueSegments | None:
        if self._manifest is not self._searched:
            self._searched = self._manifest
            self._due = find_due(tuple(self._segments.values()), self._manifest.removals, self._manifest.needed_from)
        return self._due

    def rebuild(self, due: DueSegments) -> RebuiltSegment:
        """Write the live subscriptions of due segments as one segment, in any thread; `adopt` has to follow. Raises
        `StorageFault`."""
        segment = rebuild(due)
        if segment is None:
            return RebuiltSegment(None)
        name = self._store.write(segment)
        return RebuiltSegment(self._store.segment(name), name)

    def adopt(self, due: DueSegments, rebuilt: RebuiltSegment) -> bool:
        """Publish the snapshot with the rebuilt segment in the place of the due ones; return False if those have been
        merged meanwhile. Raises `StorageFault`; then nothing has changed."""
        if not {*due.segments} <= {*self._segments.values()}:
            self._store.release(rebuilt.name)
            return False
        named: dict[str, Segment] = {}
        for name, segment in self._segments.items():
            if segment is due.segments[0] and rebuilt.segment is not None:
                named[rebuilt.name] = rebuilt.segment
            elif segment not in due.segments:
                named[name] = segment
        removals = self._manifest.removals.within(segment.tables.registrations for segment in named.values())
        self._publish(named, replace(self._manifest, removals=removals))
        return True

    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        manifest = self._manifest
        return Snapshot(manifest.covers, tuple(self._segments.values()), manifest.removals, manifest.name)

    def close(self) -> None:
        """Let go of all segments, which are unmapped unless somebody else holds a snapshot."""
        self._segments, self._manifest = {}, Manifest(0, 0, (), NO_REMOVALS)
        self._store.close()

    def _publish(self, segments: dict[str, Segment], manifest: Manifest) -> Snapshot:
        """Publish `manifest` of these segments, which are written, under the next number."""
        manifest = replace(manifest, number=self._last_number() + 1, segments=tuple(segments))
        self._store.publish(manifest)
        self._segments, self._manifest = segments, manifest
        self._store.sweep(MANIFESTS_KEPT)
        return self.snapshot()

    def _last_number(self) -> int:
        """The highest number that a manifest has, readable or not."""
        latest = self._store.latest()
        return max(0 if latest is None else number_of(latest), self._manifest.number)
