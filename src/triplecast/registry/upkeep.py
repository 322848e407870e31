"""Journal, index and outbox of one folder held against each other: the index is a cache of the journal's registry,
brought up to date or made again; an outbox ahead of its journal is a fault."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from triplecast.compile.compiled import CompiledSubscription
from triplecast.compile.operator_arguments import operators_of
from triplecast.errors import QueryRefused, QuerySyntaxError, StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Snapshot
from triplecast.index.members import NONE_COMPILED
from triplecast.index.merge import MERGE_LIMIT
from triplecast.journal import Journal, JournalFile
from triplecast.languages import parse_template
from triplecast.operators import Operator, known_operators
from triplecast.operators.registry import missing_modules
from triplecast.outbox import Outbox

AT_ONCE = MERGE_LIMIT
"""Records of the registry that are in memory together while an index is brought up to date; the subscriptions of one
segment then."""
NAMED = 20
"""Subscriptions that cannot be read any more and are told by name."""


def settle_operators(journal: Journal) -> bool:
    """Holds what the journal says of operators against what is declared here; to be called before the index is opened.

    One that is not declared here is known as it was declared last, until it is: who asks it stands, and its calls wait
    unless a worker can import its module. One that is declared otherwise is written so. True where arguments have
    changed: then the index has to be made again.
    """
    known = known_operators()
    stale = False
    changed: list[Operator] = []
    for recorded in journal.operators():
        declared = known.find_declared(recorded.iri)
        if declared is None:
            known.record(recorded)
        elif declared != recorded:
            changed.append(declared)
            stale = stale or declared.arguments != recorded.arguments
    journal.declare_operators(changed)
    return stale


def missing_operators(journal: JournalFile) -> tuple[str, ...]:
    """What is wrong with operators that live subscriptions ask and whose module is not here (`missing_modules`)."""
    lost = {each.iri: each for each in journal.operators() if missing_modules([each])}
    needed: dict[str, Operator] = {}
    for found in journal.live_registrations() if lost else ():
        if len(needed) == len(lost):
            break
        with suppress(QuerySyntaxError, QueryRefused):
            template, _ = parse_template(found.subscription.text, found.subscription.language)
            needed |= {each.iri: each for each in operators_of([template]) if each.iri in lost}
    return missing_modules(needed.values())


def unread_subscriptions(journal: JournalFile, snapshot: Snapshot) -> tuple[str, ...]:
    """What is wrong with live subscriptions that are asked nothing, as they cannot be read any more (an operator takes
    other arguments now): a line for each of the first `NAMED`, and how many more."""
    ended = {*snapshot.removals.registration.tolist()}
    reasons = {each.registration: each.reason for each in snapshot.refused if each.registration not in ended}
    first = journal.registrations(sorted(reasons)[:NAMED])
    lines = [
        f"subscription {each.subscription.name!r} is asked nothing any more: {reasons[each.id]}; subscribe anew, or "
        "declare the operator as it was"
        for each in first
    ]
    more = len(reasons) - len(first)
    return (*lines, f"and {more} more subscriptions that cannot be read") if more else tuple(lines)


def open_index(index: IndexFolder, journal: JournalFile, matched: int, fresh: bool = False) -> Snapshot:
    """The index brought up to the journal's head; made again if it has to be `fresh`.

    One that is missing, damaged, of another format, ahead of the journal, or of which something was dropped that a
    publication after position `matched` may be asked of (the outbox was restored from an older copy), is made again
    from the journal's records.
    """
    head = journal.head()
    try:
        snapshot = index.open()
    except StorageFault:
        fresh = True
    if fresh:
        return _rebuild(index, journal, matched, head)
    if snapshot.covers > head or index.needed_from > matched:
        return _rebuild(index, journal, matched, head)
    if not _apply_changes(index, journal, head, matched):
        return snapshot
    return index.snapshot()


def check_progress(journal: JournalFile, outbox: Outbox) -> None:
    """Raises `StorageFault` where more has been matched than the journal holds: it has lost its end."""
    head = journal.head()
    if outbox.progress > head:
        found = f"it ends at position {head}, but {outbox.progress} has been matched"
        raise StorageFault(journal.where, found, "restore journal and outbox from one copy")


def update_index(
    index: IndexFolder | MemoryIndex,
    snapshot: Snapshot,
    journal: JournalFile,
    head: int,
    matched: int,
    compiled: Mapping[int, CompiledSubscription] = NONE_COMPILED,
) -> Snapshot:
    """The index as the registry is at `head`; `snapshot` is what it was, and stays where nothing has changed.

    What changed is read from the journal, so that an exception anywhere before leaves nothing behind that is unknown;
    the texts of those whose `compiled` are given, by registration, are not parsed.
    """
    _apply_changes(index, journal, head, matched, compiled)
    return snapshot if index.covers == snapshot.covers else index.snapshot()


def _rebuild(index: IndexFolder, journal: JournalFile, matched: int, head: int) -> Snapshot:
    index.reset()
    if not _apply_changes(index, journal, head, matched):
        return index.apply([], [], head, needed_from=matched)
    return index.snapshot()


def _apply_changes(
    index: IndexFolder | MemoryIndex,
    journal: JournalFile,
    head: int,
    matched: int,
    compiled: Mapping[int, CompiledSubscription] = NONE_COMPILED,
) -> bool:
    """Applies what the journal says after what the index covers, in slices; whether it said anything. What had ended
    before anything that is still to be matched is left out."""
    changed = False
    for (added, removed), upto in journal.registry_slices(index.covers, head, AT_ONCE):
        needed = [found for found in added if found.removed is None or found.removed > matched]
        index.apply(needed, removed, upto, matched, compiled)
        changed = True
    return changed
