"""Rebuild due segments of the index in a thread of its own, so that no publication waits for it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from weakref import WeakSet

from triplecast.errors import FolderLocked, StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Segment
from triplecast.index.rebuilding import DueSegments, RebuiltSegment


class Compactor:
    """Rebuilds one segment at a time, for the one writer of an index."""

    def __init__(self, index: IndexFolder | MemoryIndex) -> None:
        self._index = index
        self._thread = ThreadPoolExecutor(1, "triplecast-index")
        self._due: DueSegments | None = None
        self._made: Future[RebuiltSegment] | None = None
        self._given_up: WeakSet[Segment] = WeakSet()

    def look(self) -> bool:
        """Adopt the rebuilt segment if it is ready, and start on the next; return whether the index has changed.

        The writer calls it after each change of the index. Segments that could not be rebuilt are not tried again:
        their cancelled subscriptions cost time only. Raises `StorageFault` if the snapshot cannot be written.
        """
        if self._made is not None and not self._made.done():
            return False
        changed = self._adopt()
        due = self._index.find_due()
        if due is not None and self._given_up.isdisjoint(due.segments):
            self._due, self._made = due, self._thread.submit(self._index.rebuild, due)
        return changed

    def wait(self) -> None:
        """Wait for the rebuild that has started."""
        if self._made is not None:
            self._made.exception()

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _adopt(self) -> bool:
        if self._due is None or self._made is None:
            return False
        due, made = self._due, self._made
        self._due = self._made = None
        try:
            rebuilt = made.result()
        except (StorageFault, FolderLocked):
            self._given_up.update(due.segments)
            return False
        return self._index.adopt(due, rebuilt)
