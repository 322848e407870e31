"""An index in memory: of an engine without a folder, of files that are matched offline, of one query for a preview."""

from __future__ import annotations

from collections.abc import Sequence

from triplecast.index.merge import apply_changes
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot, make_removals
from triplecast.model.subscription import Registration


class MemoryIndex:
    """Segments in memory; `apply` gives the next snapshot and leaves earlier ones valid."""

    def __init__(self) -> None:
        self._segments: tuple[Segment, ...] = ()
        self._removed: dict[int, int] = {}
        self._covers = 0

    @property
    def covers(self) -> int:
        return self._covers

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]] = (),
        covers: int | None = None,
        needed_from: int = 0,
    ) -> Snapshot:
        """Adds and removes (registration, position of its removal); `covers` is the last registry position applied.

        `needed_from`: no publication at or before this position will be asked again.
        """
        grown = apply_changes(self._segments, self._removed, added, removed, needed_from)
        self._segments, self._removed = grown.segments, grown.removed
        if covers is not None:
            self._covers = covers
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        return Snapshot(self._covers, self._segments, make_removals(self._removed))
