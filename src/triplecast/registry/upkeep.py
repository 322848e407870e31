"""Journal, index and outbox of one folder held against each other: the index is a cache of the journal's registry,
brought up to date or made again; an outbox ahead of its journal is a fault."""

from __future__ import annotations

from contextlib import suppress

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.compile.operator_arguments import operators_of
from triplecast.errors import QueryRefused, QuerySyntaxError, StorageFault
from triplecast.index import IndexFolder, MemoryIndex, Snapshot
from triplecast.index.merge import MERGE_LIMIT
from triplecast.journal import Journal, JournalFile
from triplecast.languages import parse_template
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet
from triplecast.operators.failure_hints import missing_modules
from triplecast.outbox import Outbox

AT_ONCE = MERGE_LIMIT
"""Records of the registry that are in memory together while an index is brought up to date; the subscriptions of one
segment then."""
NAMED = 20
"""Subscriptions that cannot be read any more and are told by name."""


def settle_operators(journal: Journal, declared: OperatorSet) -> OperatorSet:
    """Holds what the journal says of operators against what is declared here; to be called before the index is opened.

    One that is not declared here is known as it was declared last, until it is: who asks it stands, and its calls wait
    unless a worker can import its module. One that is declared otherwise is written so. Returns the operators with
    those recorded.
    """
    recorded = journal.operators()
    pairs = ((declared.find_declared(each.iri), each) for each in recorded)
    journal.declare_operators([now for now, before in pairs if now is not None and now != before])
    return declared.with_recorded(recorded)


def missing_operators(journal: JournalFile, operators: OperatorSet) -> tuple[str, ...]:
    """What is wrong with operators that live subscriptions ask and whose module is not here (`missing_modules`)."""
    lost = {each.iri: each for each in journal.operators() if missing_modules([each])}
    needed: dict[str, Operator] = {}
    for found in journal.live_registrations() if lost else ():
        if len(needed) == len(lost):
            break
        with suppress(QuerySyntaxError, QueryRefused):
            asked = found.subscription
            template, _ = parse_template(asked.text, asked.language, operators=operators)
            needed |= {each.iri: each for each in operators_of([template], operators) if each.iri in lost}
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


def open_index(
    index: IndexFolder, journal: JournalFile, matched: int, operators: OperatorSet = NO_OPERATORS
) -> Snapshot:
    """Open the index and bring it up to the journal's head. Queries may call `operators`.

    It is rebuilt from the journal's records if it is missing, damaged, of another format or ahead of the journal, if an
    operator takes other arguments now, or if it lacks something that a publication after position `matched` needs (the
    outbox was restored from an older copy).
    """
    head, compiler = journal.head(), SubscriptionCompiler(operators)
    try:
        snapshot = index.open()
    except StorageFault:
        return _rebuild(index, journal, matched, head, compiler)
    if snapshot.covers > head or index.needed_from > matched or not index.is_compiled_for(operators):
        return _rebuild(index, journal, matched, head, compiler)
    if not _apply_changes(index, journal, head, matched, compiler):
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
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> Snapshot:
    """The index as the registry is at `head`; `snapshot` is what it was, and stays where nothing has changed.

    What changed is read from the journal, so that an exception anywhere before leaves nothing behind that is unknown;
    `compiler` says how texts are read.
    """
    _apply_changes(index, journal, head, matched, compiler)
    return snapshot if index.covers == snapshot.covers else index.snapshot()


def _rebuild(
    index: IndexFolder, journal: JournalFile, matched: int, head: int, compiler: SubscriptionCompiler
) -> Snapshot:
    index.reset()
    if not _apply_changes(index, journal, head, matched, compiler):
        return index.apply([], [], head, needed_from=matched)
    return index.snapshot()


def _apply_changes(
    index: IndexFolder | MemoryIndex,
    journal: JournalFile,
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
