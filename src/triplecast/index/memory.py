"""An index in memory, for an engine without a folder, for offline matching and for previews."""

from __future__ import annotations

from collections.abc import Sequence

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.index.merge import apply_changes
from triplecast.index.rebuilding import DueSegments, RebuiltSegment, find_due, rebuild, replace_due
from triplecast.index.removals import NO_REMOVALS
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot
from triplecast.model.subscription import Registration


class MemoryIndex:
    """Segments in memory; `apply` returns the next snapshot and leaves earlier ones valid."""

    def __init__(self) -> None:
        self._segments: tuple[Segment, ...] = ()
        self._removals = NO_REMOVALS
        self._covers = 0
        self._needed_from = 0

    @property
    def covers(self) -> int:
        return self._covers

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]] = (),
        covers: int | None = None,
        needed_from: int = 0,
        compiler: SubscriptionCompiler = DEFAULT_COMPILER,
    ) -> Snapshot:
        """Add registrations and remove (registration, position); `covers` is the last registry position applied.

        `needed_from`: no publication at or before this position will be matched again. `compiler`
        compiles those `added`.
        """
        grown = apply_changes(self._segments, self._removals, added, removed, needed_from, compiler)
        self._segments, self._removals = grown
        self._needed_from = max(self._needed_from, needed_from)
        if covers is not None:
            self._covers = covers
        return self.snapshot()

    def find_due(self) -> DueSegments | None:
        return find_due(self._segments, self._removals, self._needed_from)

    def rebuild(self, due: DueSegments) -> RebuiltSegment:
        """Rebuild `due` segments, in any thread."""
        return RebuiltSegment(rebuild(due))

    def adopt(self, due: DueSegments, rebuilt: RebuiltSegment) -> bool:
        """Put the rebuilt segment in the place of the due ones; return False if those have been merged meanwhile."""
        segments = replace_due(self._segments, due, rebuilt.segment)
        if segments is None:
            return False
        self._segments = tuple(segments)
        self._removals = self._removals.within(segment.tables.registrations for segment in segments)
        return True

    def snapshot(self) -> Snapshot:
        return Snapshot(self._covers, self._segments, self._removals)
