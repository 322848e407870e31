"""The index kept in step with the journal's registry, of which it is a cache: updated, rebuilt, compacted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from weakref import WeakSet

from triplecast.compile.compiled import DEFAULT_COMPILER, CompiledSubscription, SubscriptionCompiler
from triplecast.compile.refusals import operators_of
from triplecast.errors import FolderLocked, QueryRefused, QuerySyntaxError, StorageFault
from triplecast.index import IndexWriter, Segment, Snapshot
from triplecast.index.merge import MERGE_LIMIT, DueSegments, RebuiltSegment
from triplecast.journal import Journal, JournalFile
from triplecast.languages import parse_template
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.operators.failure_hints import missing_modules
from triplecast.registry.bulk import return_memory

AT_ONCE = MERGE_LIMIT
"""Records of the registry that are in memory together while an index is brought up to date; the subscriptions of one
segment then."""
UNINDEXED = 62_500
"""Registrations that may wait for the next update, so that neither it nor memory has to take more; those of one change
may be more. Four times as many are what the index merges at once."""
LARGE = 10_000
"""Registrations of one update after which freed memory goes back to the system."""
NAMED = 20
"""Most subscriptions that cannot be read any more and are named."""


class IndexUpkeep:
    """The index of a journal's writer: it follows the registry whenever `update` is called."""

    def __init__(
        self,
        index: IndexWriter,
        journal: Journal,
        needed_from: Callable[[], int],
        publish: Callable[[Snapshot], None] | None = None,
        operators: Callable[[], OperatorSet] = lambda: NO_OPERATORS,
    ) -> None:
        """`needed_from`: no publication at or before this position will be matched again. `publish` receives the
        snapshot that `open` finds and each new one, which is on disk by then. `operators`: what queries may call."""
        self._index = index
        self._journal = journal
        self._needed_from = needed_from
        self._publish = publish
        self.operators = operators
        self._is_open = False
        self._is_settled = False
        """Whether an update came to its end, and nothing is being rebuilt: there is nothing to do until the registry
        changes."""
        self._compactor = Compactor(index)
        self._compiled: dict[int, CompiledSubscription] = {}
        """By registration: what admission read of subscriptions that the index lacks. At most `UNINDEXED`, or those of
        one change."""
        self.snapshot = index.snapshot()

    def open(self) -> tuple[str, ...]:
        """Bring the index in line with the journal before anything else is done; what is wrong with live
        subscriptions, a line each. Raises `StorageFault`."""
        index, journal, operators = self._index, self._journal, self.operators()
        self._is_open = True
        self.snapshot = open_index(index, journal, self._needed_from(), operators)
        if self._publish is not None:
            if self.snapshot.covers == 0:  # no file yet that a worker could open
                self.snapshot = index.apply([], [], journal.head())
            self._publish(self.snapshot)
        return (*missing_operators(journal, operators), *unread_subscriptions(journal, self.snapshot))

    def opened(self) -> Snapshot:
        """The current snapshot; the index is opened where it has not been."""
        if not self._is_open:
            self.open()
        return self.snapshot

    def expect(self, coming: int) -> None:
        """Make room for the compiled form of so many new subscriptions: update the index where too many wait for it."""
        if self._compiled and len(self._compiled) + coming > UNINDEXED:
            self.update()

    def note(self, registrations: Sequence[Registration], compiled: Sequence[CompiledSubscription]) -> None:
        """Keep what was read of new registrations, so that the next update need not read it again."""
        for found, each in zip(registrations, compiled, strict=True):
            self._compiled[int(found.id)] = each

    @property
    def compiled(self) -> Mapping[int, CompiledSubscription]:
        """What is kept now of new registrations, by id; it changes."""
        return self._compiled

    def update(self) -> bool:
        """Bring the index up to the journal's head and compact it; whether it changed. Raises `StorageFault`."""
        if self._is_settled and not self._journal.has_registry_changes(self._index.covers):
            return False
        self._is_settled = False
        self.opened()
        compiler, waiting = SubscriptionCompiler(self.operators(), self._compiled), len(self._compiled)
        update_index(self._index, self._journal, self._needed_from(), compiler)
        self._compiled.clear()
        compacted = self._compactor.look()
        if compacted or waiting > LARGE:
            return_memory()
        # not what the update says: an earlier one may have been interrupted once the index was written
        changed = compacted or self._index.covers != self.snapshot.covers
        if changed:
            self.snapshot = self._index.snapshot()
            if self._publish is not None:
                self._publish(self.snapshot)
        self._is_settled = not self._compactor.is_busy
        return changed

    def close(self) -> None:
        self._compactor.close()
        self._index.close()
        self.snapshot = self._index.snapshot()


class Compactor:
    """Rebuilds one segment at a time, for the one writer of an index."""

    def __init__(self, index: IndexWriter) -> None:
        self._index = index
        self._thread = ThreadPoolExecutor(1, "triplecast-index")
        self._rebuild: tuple[DueSegments, Future[RebuiltSegment]] | None = None
        self._given_up: WeakSet[Segment] = WeakSet()

    @property
    def is_busy(self) -> bool:
        """Whether a segment is being rebuilt."""
        return self._rebuild is not None

    def look(self) -> bool:
        """Adopt the rebuilt segment if it is ready, and start on the next; return whether the index has changed.

        The writer calls it after each change of the index. Segments that could not be rebuilt are not tried again:
        their cancelled subscriptions cost time only. Raises `StorageFault` if the snapshot cannot be written.
        """
        changed = False
        if self._rebuild is not None:
            due, made = self._rebuild
            if not made.done():
                return False
            self._rebuild = None
            try:
                rebuilt = made.result()
            except (StorageFault, FolderLocked):
                self._given_up.update(due.segments)
            else:
                changed = self._index.adopt(due, rebuilt)
        following = self._index.find_due()
        if following is not None and self._given_up.isdisjoint(following.segments):
            self._rebuild = following, self._thread.submit(self._index.rebuild, following)
        return changed

    def wait(self) -> None:
        """Wait for the rebuild that has started."""
        if self._rebuild is not None:
            self._rebuild[1].exception()

    def close(self) -> None:
        self._thread.shutdown(wait=True)


def settle_operators(journal: Journal, declared: OperatorSet) -> OperatorSet:
    """Compare what the journal says of operators with what is declared here, before the index is opened.

    An operator that is not declared here stays as it was declared last: subscriptions that call it stay live, and its
    calls are pending unless a worker can import its module. One that is declared otherwise is recorded. Returns the
    operators with those recorded.
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
            text, language = found.subscription.text, found.subscription.language
            template, _ = parse_template(text, language, operators=operators)
            needed |= {each.iri: each for each in operators_of([template], operators) if each.iri in lost}
    return missing_modules(needed.values())


def unread_subscriptions(journal: JournalFile, snapshot: Snapshot) -> tuple[str, ...]:
    """What is wrong with live subscriptions that are not evaluated, as they cannot be read any more (an operator takes
    other arguments now): a line for each of the first `NAMED`, and how many more."""
    ended = {*snapshot.removals.registration.tolist()}
    reasons = {each.registration: each.reason for each in snapshot.refused if each.registration not in ended}
    first = journal.registrations_at(sorted(reasons)[:NAMED])
    lines = [
        f"subscription {each.subscription.name!r} is no longer evaluated: {reasons[each.id]}; subscribe again, or "
        "declare the operator as it was"
        for each in first
    ]
    more = len(reasons) - len(first)
    return (*lines, f"and {more} more subscriptions that cannot be read") if more else tuple(lines)


def open_index(
    index: IndexWriter, journal: JournalFile, matched: int, operators: OperatorSet = NO_OPERATORS
) -> Snapshot:
    """Open the index and bring it up to the journal's head. Queries may call `operators`.

    It is rebuilt from the journal's records if it is missing, damaged, of another format or ahead of the journal, if an
    operator takes other arguments now, or if it lacks something that a publication after position `matched` needs (the
    outbox was restored from an older copy).
    """
    try:
        index.open()
        is_valid = index.covers <= journal.head() and index.needed_from <= matched and index.is_compiled_for(operators)
    except StorageFault:
        is_valid = False
    if not is_valid:
        index.reset()
    changed = update_index(index, journal, matched, SubscriptionCompiler(operators))
    if not changed and not is_valid:
        index.apply([], covers=journal.head(), needed_from=matched)
    return index.snapshot()


def update_index(
    index: IndexWriter, journal: JournalFile, matched: int, compiler: SubscriptionCompiler = DEFAULT_COMPILER
) -> bool:
    """Apply what the journal says after what the index covers, in slices; whether it said anything. What had ended
    before anything that is still to be matched is left out.

    All is read from the journal, so that an exception leaves nothing behind that is unknown.
    """
    changed = False
    for (added, removed), upto in journal.registry_slices(index.covers, journal.head(), AT_ONCE):
        own = [found for found in added if found.subscription.scope != REPOSITORY]
        needed = [found for found in own if found.removed is None or found.removed > matched]
        index.apply(needed, removed, upto, matched, compiler)
        changed = True
    return changed
