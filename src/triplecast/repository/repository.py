"""The repository of a folder: a store that follows its journal, and keeps a cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path

from triplecast.errors import FolderLocked, StorageFault
from triplecast.index.file import Sole
from triplecast.journal import BYTES_AT_ONCE, JournalFile
from triplecast.model.events import Event
from triplecast.model.publication import Publication
from triplecast.repository.cache import CACHE, CachedStore, mark_of, read_cache, write_cache
from triplecast.repository.changes import Changes
from triplecast.repository.store import Store
from triplecast.taxonomy import Taxonomy

EVENTS_AT_ONCE = 10_000
"""Events that are read together; where there are more, all are taken at once and not one by one."""
SAVED_AFTER = 1 << 20
"""Bytes of documents that came before the cache is written again; in a large store 12 for each triple, an eighth."""


class Repository:
    """The current documents of a journal."""

    def __init__(
        self, journal: JournalFile, folder: Path | None = None, sole: Sole = nullcontext, upto: int | None = None
    ) -> None:
        """Open the cache in `folder`, if it is given and its cache is of this journal; with `upto`, if it is of no
        later position. Raises `StorageFault` for a damaged journal, never for a damaged cache."""
        self._journal = journal
        self._path = None if folder is None else folder / CACHE
        self._sole = sole
        self._upto = upto
        self._open()

    def _open(self) -> None:
        self._is_whole = True
        """Whether no event was interrupted while the store took it."""
        self._last: Event | None = None
        """The store's last event, as far as it was read here."""
        self._reached = 0
        """The store has all events up to here."""
        self._unsaved = 0
        cached = None if self._path is None else read_cache(self._path)
        if cached is not None and self._is_of_journal(cached):
            self._store = Store(cached.assembled, cached.position)
            self._reached = cached.reached
        else:
            self._store = Store.empty()

    @property
    def reached(self) -> int:
        """The store has all events up to here."""
        return self._reached

    @property
    def store(self) -> Store:
        return self._store

    @property
    def taxonomy(self) -> Taxonomy:
        """That which holds where the store is. Raises `StorageFault`."""
        return self._journal.taxonomies(self._reached, self._reached).before(self._reached + 1)

    def coming(self, upto: int) -> Iterator[Sequence[Event]]:
        """The events up to a position that the store lacks, in order and in groups: all of a group are handed to `take`
        before the next is asked for. Raises `StorageFault`."""
        yield from self._groups(upto)
        self._reached = max(self._reached, upto)

    def take(self, events: Sequence[Event]) -> Changes:
        """Bring the store up to the events that are next, one or more, and return what they changed."""
        self._is_whole = False
        changes = self._apply(events)
        self._is_whole = True
        return changes

    def follow(self, upto: int | None = None) -> Store:
        """Bring the store up to a position, or the journal's last event. Raises `StorageFault`; a store that was
        interrupted is read again."""
        if not self._is_whole:
            self._open()
        self._is_whole = False
        head = self._journal.head() if upto is None else upto
        groups = self._groups(head)
        first, second = next(groups, ()), next(groups, ())
        if second:
            self._store.load(self._counted(chain((first, second), groups)))
            self._reached = self._store.position
        if first and not second:
            self._apply(first)
        self._reached = max(self._reached, head)
        self._is_whole = True
        return self._store

    def save(self) -> None:
        """Write the cache where so much has changed that it is worth it; a cache that cannot be written is none."""
        if not self._is_whole or self._path is None or self._last is None:
            return
        if self._unsaved <= max(SAVED_AFTER, 12 * self._store.size):
            return
        assembled = self._store.merge()
        cached = CachedStore(assembled, self._store.position, mark_of(self._last), self._reached)
        with suppress(StorageFault, FolderLocked):
            write_cache(self._path, cached, self._sole)
            self._unsaved = 0

    def _apply(self, events: Sequence[Event]) -> Changes:
        self._last = events[-1]
        changes = self._store.apply_all(events)
        self._unsaved += sum(len(event.quads) for event in events if isinstance(event, Publication))
        self._reached = events[-1].position
        return changes

    def _groups(self, head: int) -> Iterator[Sequence[Event]]:
        after = self._reached
        while after < head and (events := self._journal.events(after, head, EVENTS_AT_ONCE, BYTES_AT_ONCE)):
            after = events[-1].position
            yield events

    def _counted(self, groups: Iterable[Sequence[Event]]) -> Iterator[Sequence[Event]]:
        for group in groups:
            self._last = group[-1]
            self._unsaved += sum(len(event.quads) for event in group if isinstance(event, Publication))
            yield group

    def _is_of_journal(self, cached: CachedStore) -> bool:
        if self._upto is not None and cached.reached > self._upto:
            return False
        if cached.position == 0 or cached.reached > self._journal.head():
            return False
        events = self._journal.events(cached.position - 1, cached.position)
        return len(events) == 1 and mark_of(events[0]) == cached.mark
