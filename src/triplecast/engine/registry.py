"""Journal, index and outbox of one folder held against each other: the index is a cache of the journal's registry,
brought up to date or made again; an outbox ahead of its journal is a fault."""

from __future__ import annotations

from collections.abc import Mapping

from triplecast.compile.meaning import Meaning
from triplecast.delivery import Outbox
from triplecast.errors import StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Snapshot
from triplecast.index.flat import NO_MEANINGS
from triplecast.index.merge import MERGE_LIMIT
from triplecast.journal import JournalReader

AT_ONCE = MERGE_LIMIT
"""Records of the registry that are in memory together while an index is brought up to date; the subscriptions of one
segment then."""


def open_index(index: IndexFolder, journal: JournalReader, matched: int) -> Snapshot:
    """The index brought up to the journal's head.

    One that is missing, damaged, of another format, ahead of the journal, or of which something was dropped that a
    publication after position `matched` may be asked of (the outbox was restored from an older copy), is made again
    from the journal's records.
    """
    head = journal.head()
    try:
        snapshot = index.open()
    except StorageFault:
        return _rebuild(index, journal, matched, head)
    if snapshot.covers > head or index.needed_from > matched:
        return _rebuild(index, journal, matched, head)
    if not _apply_changes(index, journal, head, matched):
        return snapshot
    return index.snapshot()


def check_progress(journal: JournalReader, outbox: Outbox) -> None:
    """Raises `StorageFault` where more has been matched than the journal holds: it has lost its end."""
    head = journal.head()
    if outbox.progress > head:
        found = f"it ends at position {head}, but {outbox.progress} has been matched"
        raise StorageFault(journal.where, found, "restore journal and outbox from one copy")


def update_index(
    index: IndexFolder | MemoryIndex,
    snapshot: Snapshot,
    journal: JournalReader,
    head: int,
    matched: int,
    meanings: Mapping[int, Meaning] = NO_MEANINGS,
) -> Snapshot:
    """The index as the registry is at `head`; `snapshot` is what it was, and stays where nothing has changed.

    What changed is read from the journal, so that an exception anywhere before leaves nothing behind that is unknown;
    the texts of those whose `meanings` are given, by registration, are not parsed.
    """
    _apply_changes(index, journal, head, matched, meanings)
    return snapshot if index.covers == snapshot.covers else index.snapshot()


def _rebuild(index: IndexFolder, journal: JournalReader, matched: int, head: int) -> Snapshot:
    index.reset()
    if not _apply_changes(index, journal, head, matched):
        return index.apply([], [], head, needed_from=matched)
    return index.snapshot()


def _apply_changes(
    index: IndexFolder | MemoryIndex,
    journal: JournalReader,
    head: int,
    matched: int,
    meanings: Mapping[int, Meaning] = NO_MEANINGS,
) -> bool:
    """Applies what the journal says after what the index covers, in slices; whether it said anything. What had ended
    before anything that is still to be matched is left out."""
    changed = False
    for (added, removed), upto in journal.registry_slices(index.covers, head, AT_ONCE):
        needed = [found for found in added if found.removed is None or found.removed > matched]
        index.apply(needed, removed, upto, matched, meanings)
        changed = True
    return changed
