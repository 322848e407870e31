"""Worn segments of the index are made again in a thread of their own, so that no publication waits for it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from weakref import WeakSet

from triplecast.errors import FolderLocked, StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Segment
from triplecast.index.worn import Remade, Worn


class Compactor:
    """One segment at a time, for the one writer of an index."""

    def __init__(self, index: IndexFolder | MemoryIndex) -> None:
        self._index = index
        self._thread = ThreadPoolExecutor(1, "triplecast-index")
        self._worn: Worn | None = None
        self._made: Future[Remade] | None = None
        self._let_be: WeakSet[Segment] = WeakSet()

    def look(self) -> bool:
        """Puts what is ready in its place and begins with the next; whether the index has changed. To be called by the
        writer once it has changed the index. Raises `StorageFault` where the new snapshot cannot be written.

        Segments that could not be made again are let be: their dead cost time, nothing else.
        """
        if self._made is not None and not self._made.done():
            return False
        changed = self._adopt()
        worn = self._index.find_worn()
        if worn is not None and self._let_be.isdisjoint(worn.segments):
            self._worn, self._made = worn, self._thread.submit(self._index.remake, worn)
        return changed

    def wait(self) -> None:
        """Until what was begun is ready."""
        if self._made is not None:
            self._made.exception()

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _adopt(self) -> bool:
        if self._worn is None or self._made is None:
            return False
        worn, made = self._worn, self._made
        self._worn = self._made = None
        try:
            remade = made.result()
        except (StorageFault, FolderLocked):
            self._let_be.update(worn.segments)
            return False
        return self._index.adopt(worn, remade)
