"""The subscription files of a run as a source of the registry: what they say is what is registered of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import InputError
from triplecast.journal import Journal
from triplecast.model.subscription import FILES, Registration, RegistrationId, Subscription
from triplecast.registry.admission import AdmittedSubscription, describe_warnings, fault_of, first_of
from triplecast.registry.bulk import paused_collection
from triplecast.registry.files import (
    SubscriptionFile,
    describe_unread,
    find_subscription_files,
    join_contents,
    read_subscription_file,
)
from triplecast.registry.lines import FileContent, LoadedSubscriptions, SubscriptionFault
from triplecast.registry.registry import Refusal, Registry

QUIET = 0.3
"""Seconds that subscription files must stay unchanged before they are read: a change takes effect within two."""


class _ReadFile(NamedTuple):
    file: SubscriptionFile
    content: FileContent


class _Refused(NamedTuple):
    subscription: Subscription
    fault: SubscriptionFault
    candidate: AdmittedSubscription | None
    """Where only a place or the id is missing, which another source may free."""


class FileSource:
    """The subscription files of one run, looked at by one thread. No leases, no tickets; an edit that cannot be
    registered leaves the text before it in force. Without paths, what is registered of files stays."""

    def __init__(
        self,
        paths: Sequence[Path],
        registry: Registry,
        journal: Journal,
        report: Callable[[SubscriptionFault | str], None],
    ) -> None:
        self._paths = paths
        self._registry = registry
        self._journal = journal
        self._report = report
        self._live: dict[str, Registration] = {}
        self._read: dict[Path, _ReadFile] = {}
        self._seen: list[SubscriptionFile] = []
        self._since = 0.0
        self._refused: dict[str, _Refused] = {}
        self._origin: dict[str, Path] = {}
        self._missing: SubscriptionFault | None = None
        self._kept: set[Path] = set()
        """Files whose unreadable lines or text keep something registered that they say no more."""
        self._file_faults: tuple[SubscriptionFault, ...] = ()
        self._registered_at = 0
        """The journal's head when the files were registered last."""
        self.faults: tuple[SubscriptionFault, ...] = ()
        self.ignored: tuple[str, ...] = ()
        """Files that are not read, since their extension is unknown."""
        self.warnings = 0
        """Warnings about what was registered (`describe_warnings`)."""

    def start(self, now: float) -> None:
        """Register the files as they are. Raises `InputError` where there are none."""
        self._live = {
            each.subscription.name: each for each in self._journal.live_registrations() if each.source == FILES
        }
        self._seen, self._since = self._find(), now
        if self._paths:
            self._register(self._seen)

    def look(self, now: float) -> bool:
        """Register what changed in the files, once they stay unchanged, and try again what was refused once another
        source has changed the registry; whether anything was read or tried.

        A path that went missing leaves its subscriptions as they are, and is reported once.
        """
        try:
            files = self._find()
        except InputError as error:
            self._report_missing(error)
            return False
        self._missing = None
        if files != self._seen:
            self._seen, self._since = files, now
        if now - self._since < QUIET:
            return False
        if files == [read.file for read in self._read.values()] and not self._may_retry():
            return False
        return self._register(files)

    def _may_retry(self) -> bool:
        waits = any(each.candidate is not None for each in self._refused.values())
        return waits and self._journal.next_registry_change(self._registered_at) is not None

    def _find(self) -> list[SubscriptionFile]:
        """The files to read; reports each other file once."""
        files, ignored = find_subscription_files(self._paths)
        known = set(self.ignored)
        new = [name for name in ignored if name not in known]
        self.ignored = ignored
        if new:
            self._report(describe_unread(new))
        return files

    def _register(self, files: list[SubscriptionFile]) -> bool:
        """False when a file changed while it was read: the next look finds it again."""
        read = {}
        for file in files:
            before = self._read.get(file.path)
            if before is not None and before.file == file:
                read[file.path] = before
            else:
                read[file.path] = _ReadFile(file, read_subscription_file(file, before.content if before else None))
        if self._find() != files:
            return False
        self._read = read
        loaded = join_contents([entry.content.loaded for entry in read.values()])
        self._file_faults = loaded.faults
        kept = self._kept_names({each.name for each in loaded.subscriptions})
        self._origin = {name: self._origin[name] for name in kept if name in self._origin}
        for path, entry in read.items():
            self._origin.update((each.name, path) for each in entry.content.loaded.subscriptions)
        with paused_collection(len(loaded.subscriptions)):
            self._change(loaded, kept)
        self._registry.follow()
        self._registered_at = self._registry.index.snapshot.covers
        self._report_faults()
        return True

    def _kept_names(self, wanted: set[str]) -> set[str]:
        """What stays registered although the files say it no more, since it may be in what cannot be read
        (docs/decisions/0006): a file that is not text, a ``.jsonl`` file with a line that is no subscription, a folder
        that cannot be listed."""
        faulty = [read.file for read in self._read.values() if read.content.loaded.faults]
        unread = {file.name: file.path for file in faulty if not file.is_opaque}
        opaque = {file.path for file in faulty if file.is_opaque}
        kept: set[str] = set()
        self._kept = set()
        for name in self._live.keys() - wanted:
            origin = self._origin.get(name)
            if name in unread:
                self._kept.add(unread[name])
            elif origin is not None and (above := opaque.intersection((origin, *origin.parents))):
                self._kept.update(above)
            elif origin is None and opaque:  # registered by an earlier run: any of these may hold it
                self._kept.update(opaque)
            else:
                continue
            kept.add(name)
        return kept

    def _change(self, loaded: LoadedSubscriptions, kept: set[str]) -> None:
        """Register what is new or edited and cancel what the files say no more, in one step: no document gets a
        position between an edited text's end and its beginning."""
        refused: dict[str, _Refused] = {}
        wanted: list[AdmittedSubscription | Refusal] = []
        places: list[str] = []
        subscriptions: list[Subscription] = []
        bound = self._registry.bind(loaded.subscriptions)
        for written, taken, place in zip(loaded.subscriptions, bound, loaded.places, strict=True):
            name = written.name
            subscription = taken if isinstance(taken, Subscription) else written
            live, before = self._live.get(name), self._refused.get(name)
            if live is not None and is_same(live.subscription, subscription):
                continue
            if before is not None and before.candidate is None and before.subscription == subscription:
                refused[name] = before
                continue
            if before is not None and before.candidate is not None and before.subscription == subscription:
                found: AdmittedSubscription | Refusal = before.candidate
            else:
                found = self._registry.examine(taken) if isinstance(taken, Subscription) else taken
            wanted.append(found._replace(replaces=live) if isinstance(found, AdmittedSubscription) else found)
            places.append(place)
            subscriptions.append(subscription)
        names = {each.name for each in loaded.subscriptions} | kept
        leaving = [found for name, found in self._live.items() if name not in names]
        outcomes = self._registry.change(FILES, wanted, leaving) if wanted or leaving else []
        warnings: list[str] = []
        for asked, outcome, place, subscription in zip(wanted, outcomes, places, subscriptions, strict=True):
            candidate = asked if isinstance(asked, AdmittedSubscription) else None
            if isinstance(outcome, Refusal):
                refused[subscription.name] = _Refused(
                    subscription, fault_of(outcome, subscription.name, place), candidate
                )
            elif candidate is not None:
                id = RegistrationId(outcome.registration)
                self._live[subscription.name] = Registration(id, subscription, source=FILES)
                warnings += describe_warnings(candidate.admission, subscription.name, place)
        for gone in leaving:
            del self._live[gone.subscription.name]
        self._refused = refused
        self.warnings += len(warnings)
        for line in first_of(warnings):
            self._report(line)

    def _report_faults(self) -> None:
        """Report the faults that are new of all that the files have; where a text from before stays in force they say
        so. Among them is what is registered but cannot be evaluated: another version of Triplecast took it."""
        keeping = {fault for path in self._kept for fault in self._read[path].content.loaded.faults}
        faults = [until_fixed(fault) if fault in keeping else fault for fault in self._file_faults]
        for name, each in self._refused.items():
            faults.append(until_fixed(each.fault) if name in self._live else each.fault)
        refused = {each.registration: each.reason for each in self._registry.index.snapshot.refused}
        faults += [
            SubscriptionFault(
                name,
                f"it is registered, but this version of Triplecast cannot evaluate it: {refused[found.id]}",
                "change the query, or use the version that took it",
            )
            for name, found in (self._live.items() if refused else ())
            if found.id in refused
        ]
        known = set(self.faults)
        self.faults = tuple(faults)
        for fault in faults:
            if fault not in known:
                self._report(fault)

    def _report_missing(self, error: InputError) -> None:
        fault = SubscriptionFault("subscriptions", f"{error.what}; what is registered stays", error.hint)
        if fault != self._missing:
            self._missing = fault
            self._report(fault)


def until_fixed(fault: SubscriptionFault) -> SubscriptionFault:
    hint = f"{fault.hint}. " if fault.hint else ""
    return replace(fault, hint=f"{hint}Until it is fixed, what was registered before stays in force")


def is_same(one: Subscription, other: Subscription) -> bool:
    """Whether a registered subscription and one of a file say the same, which is quick where, as nearly always, both
    are one object. What the file leaves to its query's comment, or to nobody, is as it was registered."""
    if one is other or one == other:
        return True
    notify, initial, key = other.notify or one.notify, other.initial or one.initial, other.key or one.key
    return one == replace(other, notify=notify, initial=initial, key=key)
