"""An index in memory: of an engine without a folder, of files that are matched offline, of one query for a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triplecast.compile.compiled import CompiledSubscription
from triplecast.index.flat import NONE_COMPILED
from triplecast.index.merge import apply_changes
from triplecast.index.removals import NO_REMOVALS
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot
from triplecast.index.worn import Remade, Worn, find_worn, remake, replace_worn
from triplecast.model.subscription import Registration


class MemoryIndex:
    """Segments in memory; `apply` gives the next snapshot and leaves earlier ones valid."""

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
        compiled: Mapping[int, CompiledSubscription] = NONE_COMPILED,
    ) -> Snapshot:
        """Adds and removes (registration, position of its removal); `covers` is the last registry position applied.

        `needed_from`: no publication at or before this position will be asked again. `compiled`: of some that are
        added, by id, which are not parsed again.
        """
        grown = apply_changes(self._segments, self._removals, added, removed, needed_from, compiled)
        self._segments, self._removals = grown
        self._needed_from = max(self._needed_from, needed_from)
        if covers is not None:
            self._covers = covers
        return self.snapshot()

    def find_worn(self) -> Worn | None:
        return find_worn(self._segments, self._removals, self._needed_from)

    def remake(self, worn: Worn) -> Remade:
        """In any thread, beside all else."""
        return Remade(remake(worn))

    def adopt(self, worn: Worn, remade: Remade) -> bool:
        """Puts what was made in the place of the worn segments, if they still stand; whether they did."""
        segments = replace_worn(self._segments, worn, remade.segment)
        if segments is None:
            return False
        self._segments = tuple(segments)
        self._removals = self._removals.within(segment.tables.registrations for segment in segments)
        return True

    def snapshot(self) -> Snapshot:
        return Snapshot(self._covers, self._segments, self._removals)
