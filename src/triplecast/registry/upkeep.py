"""Journal, index and outbox of one folder held against each other: the index is a cache of the journal's registry,
brought up to date or made again; an outbox ahead of its journal is a fault."""

from __future__ import annotations

from contextlib import suppress

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.compile.operator_arguments import operators_of
from triplecast.errors import QueryRefused, QuerySyntaxError, StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Snapshot
from triplecast.index.merge import MERGE_LIMIT
from triplecast.journal import Journal, JournalReader
from triplecast.languages import parse_template
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet
from triplecast.operators.mending import missing_modules
from triplecast.outbox import Outbox

AT_ONCE = MERGE_LIMIT
"""Records of the registry that are in memory together while an index is brought up to date; the subscriptions of one
segment then."""
NAMED = 20
"""Subscriptions that cannot be read any more and are told by name."""


def settle_operators(journal: Journal, declared: OperatorSet) -> tuple[OperatorSet, bool]:
    """Holds what the journal says of operators against what is declared here; to be called before the index is opened.

    One that is not declared here is known as it was declared last, until it is: who asks it stands, and its calls wait
    unless a worker can import its module. One that is declared otherwise is written so. Returns the operators with
    those recorded, and whether arguments have changed: then the index has to be made again.
    """
    recorded = journal.operators()
    pairs = ((declared.find_declared(each.iri), each) for each in recorded)
    changed = [(now, before) for now, before in pairs if now is not None and now != before]
    journal.declare_operators([now for now, _ in changed])
    return declared.with_recorded(recorded), any(now.arguments != before.arguments for now, before in changed)


def missing_operators(journal: JournalReader, operators: OperatorSet) -> tuple[str, ...]:
    """What is wrong with operators that live subscriptions ask and whose module is not here (`missing_modules`)."""
    lost = {each.iri: each for each in journal.operators() if missing_modules([each])}
    needed: dict[str, Operator] = {}
    for found in journal.registrations() if lost else ():
        if len(needed) == len(lost):
            break
        with suppress(QuerySyntaxError, QueryRefused):
            asked = found.subscription
            template, _ = parse_template(asked.text, asked.language, operators=operators)
            needed |= {each.iri: each for each in operators_of([template], operators) if each.iri in lost}
    return missing_modules(needed.values())


def unread_subscriptions(journal: JournalReader, snapshot: Snapshot) -> tuple[str, ...]:
    """What is wrong with live subscriptions that are asked nothing, as they cannot be read any more (an operator takes
    other arguments now): a line for each of the first `NAMED`, and how many more."""
    ended = {*snapshot.removals.registration.tolist()}
    reasons = {each.registration: each.reason for each in snapshot.refused if each.registration not in ended}
    first = journal.registrations_of(sorted(reasons)[:NAMED])
    lines = [
        f"subscription {each.subscription.name!r} is asked nothing any more: {reasons[each.id]}; subscribe anew, or "
        "declare the operator as it was"
        for each in first
    ]
    more = len(reasons) - len(first)
    return (*lines, f"and {more} more subscriptions that cannot be read") if more else tuple(lines)


def open_index(
    index: IndexFolder,
    journal: JournalReader,
    matched: int,
    operators: OperatorSet = NO_OPERATORS,
    fresh: bool = False,
) -> Snapshot:
    """The index brought up to the journal's head; made again if it has to be `fresh`. Queries may call `operators`.

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
        return _rebuild(index, journal, matched, head, SubscriptionCompiler(operators))
    if snapshot.covers > head or index.needed_from > matched:
        return _rebuild(index, journal, matched, head, SubscriptionCompiler(operators))
    if not _apply_changes(index, journal, head, matched, SubscriptionCompiler(operators)):
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
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> Snapshot:
    """The index as the registry is at `head`; `snapshot` is what it was, and stays where nothing has changed.

    What changed is read from the journal, so that an exception anywhere before leaves nothing behind that is unknown;
    `compiler` says how texts are read.
    """
    _apply_changes(index, journal, head, matched, compiler)
    return snapshot if index.covers == snapshot.covers else index.snapshot()


def _rebuild(
    index: IndexFolder, journal: JournalReader, matched: int, head: int, compiler: SubscriptionCompiler
) -> Snapshot:
    index.reset()
    if not _apply_changes(index, journal, head, matched, compiler):
        return index.apply([], [], head, needed_from=matched)
    return index.snapshot()


def _apply_changes(
    index: IndexFolder | MemoryIndex,
    journal: JournalReader,
    head: int,
    matched: int,
    compiler: SubscriptionCompiler,
) -> bool:
    """Applies what the journal says after what the index covers, in slices; whether it said anything. What had ended
    before anything that is still to be matched is left out."""
    changed = False
    for (added, removed), upto in journal.registry_slices(index.covers, head, AT_ONCE):
        needed = [found for found in added if found.removed is None or found.removed > matched]
        index.apply(needed, removed, upto, matched, compiler)
        changed = True
    return changed
