"""The registrar: what stands in the subscription files is what is registered, in the journal and then in the index."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.compile.operator_arguments import operators_of
from triplecast.errors import InputError, QuotaReached
from triplecast.index import IndexFolder, Snapshot
from triplecast.index.census import broad_registrations, take_census
from triplecast.journal import Journal
from triplecast.languages import Template, parse_template
from triplecast.model.counts import SubscriptionCounts
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.subscription import BROAD_PER_OWNER, Subscription
from triplecast.registry.admission import Admission
from triplecast.registry.admitted import describe_doubts, describe_refusal, examine, first_of
from triplecast.registry.files import (
    FileContent,
    LoadedSubscriptions,
    SubscriptionFault,
    SubscriptionFile,
    describe_unread,
    find_subscription_files,
    join_contents,
    read_subscription_file,
)
from triplecast.registry.quota import Places, check_quota
from triplecast.registry.upkeep import missing_operators, open_index, unread_subscriptions

QUIET = 0.3
"""Seconds that subscription files must stand still before they are read: a change is to take effect within two."""


class _Read(NamedTuple):
    file: SubscriptionFile
    content: FileContent


class _Broad(NamedTuple):
    """A broad subscription that takes a place of its owner's."""

    subscription: Subscription
    place: str
    """Where it stands."""
    admission: Admission


class _Kept(NamedTuple):
    """What stays registered although the files no longer say it in a way that can be registered."""

    subscriptions: dict[str, Subscription]
    files: set[Path]
    """Whose unreadable lines or text are the reason, where it is not the query itself."""


class FileSource:
    """The subscription files of a run. The only writer of registry records and of the index, in one thread."""

    def __init__(
        self,
        paths: Sequence[Path],
        journal: Journal,
        index: IndexFolder,
        cover: Callable[[str, int], None],
        accepting: threading.Lock,
        progress: Callable[[], int],
        tell: Callable[[SubscriptionFault | str], None],
        datasets: bool = True,
        broad_per_owner: int = BROAD_PER_OWNER,
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        """`datasets`: whether what comes in may be a dataset (`admit`). `broad_per_owner`: broad subscriptions that one
        owner may have registered. `operators`: those that queries may call."""
        self._paths = paths
        self._journal = journal
        self._index = index
        self._cover_with = cover
        self._accepting = accepting
        self._progress = progress
        self._tell = tell
        self._datasets = datasets
        self._operators = operators
        self._broad_per_owner = check_quota(broad_per_owner)
        self._live = {found.subscription.name: found for found in journal.live_registrations()}
        self._read: dict[Path, _Read] = {}
        self._seen: list[SubscriptionFile] = []
        self._since = 0.0
        self._refused: dict[str, tuple[Subscription, SubscriptionFault]] = {}
        self._waiting: dict[str, _Broad] = {}
        """Those refused that only lack a place."""
        self._snapshot: Snapshot | None = None
        self._origin: dict[str, Path] = {}
        self._missing: SubscriptionFault | None = None
        self._unasked: dict[int, str] = {}
        """What the index refuses of all registrations, and why."""
        self.faults: tuple[SubscriptionFault, ...] = ()
        self.ignored: tuple[str, ...] = ()
        """Files that are not read, since their extension is unknown."""
        self.warnings = 0
        """Notes on what was registered (`describe_doubts`)."""

    @property
    def live(self) -> int:
        """How many subscriptions are registered."""
        return len(self._live)

    @property
    def standing(self) -> SubscriptionCounts:
        """What is registered, by what it costs and by who decides it."""
        return SubscriptionCounts() if self._snapshot is None else take_census(self._snapshot)

    def start(self, now: float) -> None:
        """Brings journal, index and horizon in line with the files as they stand. Raises InputError where there are
        none.
        """
        self._seen, self._since = self._find(), now
        snapshot = open_index(self._index, self._journal, self._progress(), self._operators)
        for told in (
            *missing_operators(self._journal, self._operators),
            *unread_subscriptions(self._journal, snapshot),
        ):
            self._tell(told)
        if snapshot.covers == 0:  # an empty one has no file yet that a worker could open
            snapshot = self._index.apply([], [], self._journal.head())
        self._cover(snapshot)
        self._register(self._seen)

    def look(self, now: float) -> bool:
        """Takes up what changed in the files, once they stand still; whether anything was read.

        What was edited into something that cannot be registered stays in force as it was before the edit.

        A path that went missing leaves its subscriptions as they are, and is told of once.
        """
        try:
            files = self._find()
        except InputError as error:
            self._tell_missing(error)
            return False
        self._missing = None
        if files != self._seen:
            self._seen, self._since = files, now
        if now - self._since < QUIET or files == [read.file for read in self._read.values()]:
            return False
        return self._register(files)

    def _find(self) -> list[SubscriptionFile]:
        """The files to read; names each other file once."""
        files, ignored = find_subscription_files(self._paths)
        known = set(self.ignored)
        new = [name for name in ignored if name not in known]
        self.ignored = ignored
        if new:
            self._tell(describe_unread(new))
        return files

    def _register(self, files: list[SubscriptionFile]) -> bool:
        """False when a file changed while it was read: the next look finds it again."""
        read = {}
        for file in files:
            before = self._read.get(file.path)
            if before is not None and before.file == file:
                read[file.path] = before
            else:
                read[file.path] = _Read(file, read_subscription_file(file, before.content if before else None))
        if self._find() != files:
            return False
        self._read = read
        loaded = join_contents([entry.content.loaded for entry in read.values()])
        self._refused = self._admit(loaded)
        wanted = {found.name: found for found in loaded.subscriptions if found.name not in self._refused}
        kept = self._kept(wanted, self._refused)
        self._origin = {name: self._origin[name] for name in kept.subscriptions if name in self._origin}
        for path, entry in read.items():
            self._origin.update((found.name, path) for found in entry.content.loaded.subscriptions)
        self._change({**wanted, **kept.subscriptions})
        self._tell_faults(self._faults(loaded, kept))
        return True

    def _kept(self, wanted: dict[str, Subscription], refused: Container[str]) -> _Kept:
        """What stays registered as it was because what the files say of it now cannot be registered or read
        (docs/decisions/0006): a broken query, a file that is not text, a ``.jsonl`` file with a line that is no
        subscription, a folder that cannot be listed.
        """
        faulty = [read.file for read in self._read.values() if read.content.loaded.faults]
        unread = {file.name: file.path for file in faulty if not file.is_opaque}
        opaque = {file.path for file in faulty if file.is_opaque}
        kept = _Kept({}, set())
        for name, found in self._live.items():
            if name in wanted:
                continue
            origin = self._origin.get(name)
            if name in unread:
                kept.files.add(unread[name])
            elif origin is not None and (above := opaque.intersection((origin, *origin.parents))):
                kept.files.update(above)
            elif origin is None and opaque:  # registered by an earlier run: any of these may hold it
                kept.files.update(opaque)
            elif name not in refused:
                continue
            kept.subscriptions[name] = found.subscription
        return kept

    def _faults(self, loaded: LoadedSubscriptions, kept: _Kept) -> tuple[SubscriptionFault, ...]:
        """All faults of the files as they stand; where a text from before stays in force they say so. Also what is
        registered but cannot be asked: another version of Triplecast took it."""
        keeping = {fault for path in kept.files for fault in self._read[path].content.loaded.faults}
        told = [until_mended(fault) if fault in keeping else fault for fault in loaded.faults]
        for name, (_, fault) in self._refused.items():
            told.append(until_mended(fault) if name in kept.subscriptions else fault)
        if self._unasked:
            told += [
                SubscriptionFault(
                    name,
                    f"it is registered, but this version of Triplecast cannot ask it: {self._unasked[found.id]}",
                    "change the query, or use the version that took it",
                )
                for name, found in self._live.items()
                if found.id in self._unasked
            ]
        return tuple(told)

    def _admit(self, loaded: LoadedSubscriptions) -> dict[str, tuple[Subscription, SubscriptionFault]]:
        """Those that cannot be registered, each with its fault; what is live or was refused already is not asked
        again, but for a place. Notes on the others are told.
        """
        refused: dict[str, tuple[Subscription, SubscriptionFault]] = {}
        broad: list[_Broad] = []
        warnings: list[str] = []
        for subscription, place in zip(loaded.subscriptions, loaded.places, strict=True):
            live, before = self._live.get(subscription.name), self._refused.get(subscription.name)
            if live is not None and is_same(live.subscription, subscription):
                continue
            waiting = self._waiting.get(subscription.name)
            if waiting is not None and waiting.subscription == subscription:
                broad.append(waiting._replace(place=place))
                continue
            if before is not None and before[0] == subscription:
                refused[subscription.name] = before
                continue
            found = examine(subscription, place, self._datasets, self._operators)
            if isinstance(found, SubscriptionFault):
                refused[subscription.name] = (subscription, found)
            elif found.broad:
                broad.append(_Broad(subscription, place, found))
            else:
                warnings += describe_doubts(found, place)
        for each in self._take_places(broad, loaded, refused):
            warnings += describe_doubts(each.admission, each.place)
        self.warnings += len(warnings)
        for line in first_of(warnings):
            self._tell(line)
        return refused

    def _take_places(
        self,
        broad: list[_Broad],
        loaded: LoadedSubscriptions,
        refused: dict[str, tuple[Subscription, SubscriptionFault]],
    ) -> list[_Broad]:
        """Those of `broad` that there is a place for; the others join the `refused`, and wait.

        Who is live keeps the place, also for another text; the places that are left are taken in the order of the
        files.
        """
        self._waiting = {}
        if not broad:
            return []
        coming = {each.subscription.name for each in broad}
        wanted = {found.name: found for found in loaded.subscriptions if found.name not in refused}
        kept = self._kept(wanted, refused).subscriptions
        assert self._snapshot is not None
        known = set(broad_registrations(self._snapshot))
        holders = {
            name: found.subscription.owner
            for name, found in self._live.items()
            if int(found.id) in known
            and (name in coming or name in kept or is_same(wanted.get(name), found.subscription))
        }
        places = Places(self._broad_per_owner, Counter(holders.values()).__getitem__)
        taken = []
        for each in sorted(broad, key=lambda each: each.subscription.name not in holders):
            name = each.subscription.name
            try:
                if name in holders:
                    places.move(each.subscription, each.admission, holders[name])
                else:
                    places.take(each.subscription, each.admission)
                taken.append(each)
            except QuotaReached as error:
                refused[name] = (each.subscription, describe_refusal(error, each.place))
                self._waiting[name] = each
        return taken

    def _change(self, wanted: dict[str, Subscription]) -> None:
        """Cancels what is no longer wanted as it is and registers what is new; an edited text is both, and no document
        gets a position between the two."""
        leaving = [found for name, found in self._live.items() if not is_same(wanted.get(name), found.subscription)]
        staying = self._live.keys() - {found.subscription.name for found in leaving}
        coming = [subscription for name, subscription in wanted.items() if name not in staying]
        if not leaving and not coming:
            return
        with self._accepting:
            self._journal.declare_operators(operators_of(templates_of(coming, self._operators), self._operators))
            positions = self._journal.cancel([found.id for found in leaving]) if leaving else []
            added = self._journal.subscribe(coming) if coming else []
            covers = self._journal.head()
        for found in leaving:
            del self._live[found.subscription.name]
        self._live.update((found.subscription.name, found) for found in added)
        removed = [(int(found.id), position) for found, position in zip(leaving, positions, strict=True)]
        self._cover(self._index.apply(added, removed, covers, self._progress(), SubscriptionCompiler(self._operators)))

    def _cover(self, snapshot: Snapshot) -> None:
        assert snapshot.manifest is not None
        self._snapshot = snapshot
        self._unasked = {refused.registration: refused.reason for refused in snapshot.refused}
        self._cover_with(snapshot.manifest, snapshot.covers)

    def _tell_faults(self, faults: tuple[SubscriptionFault, ...]) -> None:
        told = set(self.faults)
        self.faults = faults
        for fault in faults:
            if fault not in told:
                self._tell(fault)

    def _tell_missing(self, error: InputError) -> None:
        fault = SubscriptionFault("subscriptions", f"{error.what}; what is registered stays", error.hint)
        if fault != self._missing:
            self._missing = fault
            self._tell(fault)


def until_mended(fault: SubscriptionFault) -> SubscriptionFault:
    hint = f"{fault.hint}. " if fault.hint else ""
    return replace(fault, hint=f"{hint}Until it is fixed, what was registered before stays in force")


def templates_of(subscriptions: Iterable[Subscription], operators: OperatorSet) -> Iterator[Template]:
    """Of subscriptions that are admitted."""
    return (parse_template(each.text, each.language, operators=operators)[0] for each in subscriptions)


def is_same(one: Subscription | None, other: Subscription) -> bool:
    """Equality that is quick where, as nearly always, both are one object."""
    return one is other or one == other
