"""The acceptor: files of the inbox go through the parsers into the journal, each once, when they are complete.

While a group of documents is committed, the next ones are parsed (`Intake.ahead`); they are committed in order.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from triplecast.crash_points import reach
from triplecast.ingest import Document, ParsedDocument
from triplecast.ingest.arrivals import Arrivals
from triplecast.ingest.document import cut_at
from triplecast.ingest.inbox import InboxFile, Look, Scan, describe_ignored, list_arrived, scan_inbox
from triplecast.ingest.inbox_files import DocumentGroup, is_whole, overrun, read_groups, seconds_to_next_try
from triplecast.journal import Journal
from triplecast.model.printable import printable_name
from triplecast.model.publication import FileState, Reject
from triplecast.pipeline.looks import LOOK_SECONDS, look_again

RESTLESS_SECONDS = 5.0
"""How long `Acceptor.drain` waits for files that keep changing before it leaves them."""


@dataclass(slots=True)
class Taken:
    """Counts since the run began."""

    accepted: int = 0
    unchanged: int = 0
    rejects: int = 0


class DocumentSource(Protocol):
    """Where a run has its documents from. Two threads call it: one takes, the other asks what there is to do."""

    taken: Taken
    ignored: tuple[str, ...]
    """What is there and is never taken."""

    def has_work(self) -> bool:
        """Whether there is anything that was not taken."""

    def follow(self, ending: threading.Event) -> None:
        """Take what comes, until the end."""

    def drain(self, ending: threading.Event) -> bool:
        """Take what is there, and return whether all that was to be taken was taken."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Intake:
    """How documents of a run come from their source into its journal."""

    journal: Journal
    parse: Callable[[Sequence[Document]], list[ParsedDocument]]
    dataset: bool
    report: Callable[[Reject | str], None]
    committed: Callable[[], None] = lambda: None
    """Called after each commit."""
    split: str | None = None
    ahead: int = 1
    """Groups of documents that are parsed while the one before them is committed."""

    def tell(self, taken: Taken, new: int, unchanged: int, rejects: Sequence[Reject], warnings: Iterable[str]) -> None:
        """Count and report what became of a group."""
        taken.accepted += new
        taken.unchanged += unchanged
        taken.rejects += len(rejects)
        for reject in rejects:
            self.report(reject)
        for warning in warnings:
            self.report(warning)


def describe_warnings(source: str, parsed: ParsedDocument) -> list[str]:
    return [f"{printable_name(source)}: note: {warning}" for warning in parsed.warnings]


class Inbox(Protocol):
    """Where files are put that become documents."""

    def scan(self, known: Mapping[str, FileState], looks: Mapping[str, Look], now: float) -> Scan:
        """As `scan_inbox`."""

    def read(
        self, ready: Sequence[InboxFile], known: Mapping[str, FileState], dataset: bool
    ) -> Iterator[DocumentGroup]:
        """As `read_groups`."""

    def arrivals(self) -> Arrivals | None:
        """What tells at once that a file has come, if anything does."""

    def list_arrived(self, arrived: Iterable[tuple[str, ...]], known: Mapping[str, FileState]) -> list[InboxFile]:
        """As `ingest.inbox.list_arrived`."""


class FolderInbox:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError for one that cannot be listed."""
        self.scan = partial(scan_inbox, folder)
        self.read = partial(read_groups, folder)
        self.list_arrived = partial(list_arrived, folder)
        self._folder = folder
        self.scan({}, {}, 0.0)

    def arrivals(self) -> Arrivals:
        return Arrivals(self._folder)


class Looked(NamedTuple):
    """The outcome of a look at the inbox."""

    left: frozenset[str]
    """Sources that are new or changed and not taken yet."""
    took: bool
    """Whether any file was ready."""


class Acceptor:
    """One inbox and its journal."""

    def __init__(self, inbox: Inbox, intake: Intake) -> None:
        self._inbox = inbox
        self._intake = intake
        self._known = dict(intake.journal.sources())
        self._whole = {source: state for source, state in self._known.items() if is_whole(state)}
        self._again: dict[str, float] = {}
        """When files that took too long are parsed again, on the clock of `look`."""
        self._looks: dict[str, Look] = {}
        self.taken = Taken()
        self.ignored: tuple[str, ...] = ()

    def has_work(self) -> bool:
        """Whether the inbox has anything that was not taken as it is."""
        return bool(self._inbox.scan(self._whole, {}, 0.0).looks)

    def follow(self, ending: threading.Event) -> None:
        """Take files as they come, until the end."""
        watched = self._inbox.arrivals()
        if watched is None:
            look_again(ending, lambda: self.look(time.monotonic(), ending).took)
            return
        with closing(watched) as arrivals:
            look_again(
                ending, lambda: self._look_at_all(arrivals, ending), lambda rest: self._rest(arrivals, rest, ending)
            )

    def drain(self, ending: threading.Event) -> bool:
        """Take the files that are there at the first look, but for those that keep changing."""
        present = self.look(time.monotonic(), ending).left
        left, moved = present, time.monotonic()
        while left:
            if ending.wait(LOOK_SECONDS):
                return False
            still = present & self.look(time.monotonic(), ending).left
            if len(still) < len(left):
                moved = time.monotonic()
            left = still
            if time.monotonic() - moved > RESTLESS_SECONDS:
                names = ", ".join(sorted(left)[:9])
                self._intake.report(f"left for a later run, since they still change: {names}")
                break
        return True

    def close(self) -> None:
        """Nothing is open between two looks."""

    def _look_at_all(self, arrivals: Arrivals, ending: threading.Event) -> bool:
        arrivals.refresh()
        return self.look(time.monotonic(), ending).took

    def _rest(self, arrivals: Arrivals, rest: float, ending: threading.Event) -> bool:
        """Take for `rest` seconds what arrives; return whether the end has come."""
        until = time.monotonic() + rest
        while not ending.is_set() and (left := until - time.monotonic()) > 0:
            if arrived := arrivals.wait(min(left, LOOK_SECONDS)):
                self.take(arrived, time.monotonic(), ending)
        return ending.is_set()

    def look(self, now: float, stop: threading.Event) -> Looked:
        """Take every file that is ready; end early, between two commits, when `stop` is set.

        Raises InputError when the inbox cannot be listed, StorageFault when the journal cannot be written.
        """
        for source in [source for source, due in self._again.items() if due <= now]:
            del self._again[source]
            self._whole.pop(source, None)
        scan = self._inbox.scan(self._whole, self._looks, now)
        self._looks = dict(scan.looks)
        self._report_ignored(scan.ignored)
        self._take(scan.ready, now, stop)
        return Looked(frozenset(self._looks), bool(scan.ready))

    def take(self, arrived: Iterable[tuple[str, ...]], now: float, stop: threading.Event) -> None:
        """Take files at paths below the inbox that are complete (`ingest.arrivals`), as `look` does."""
        self._take(self._inbox.list_arrived(arrived, self._whole), now, stop)

    def _take(self, ready: Sequence[InboxFile], now: float, stop: threading.Event) -> None:
        if not ready:
            return
        of = self._intake
        pending: deque[tuple[DocumentGroup, Future[list[ParsedDocument]]]] = deque()
        with ThreadPoolExecutor(of.ahead, "triplecast-parsing") as parsing:
            for group in self._inbox.read(ready, self._known, of.dataset):
                pending.append((group, parsing.submit(of.parse, cut_at(group.documents, of.split))))
                if len(pending) > of.ahead:
                    self._commit(now, *pending.popleft())
                if stop.is_set():
                    return
            while pending and not stop.is_set():
                self._commit(now, *pending.popleft())

    def _report_ignored(self, ignored: tuple[str, ...]) -> None:
        """Report each file once."""
        new = sorted(set(ignored) - set(self.ignored))
        self.ignored = ignored
        if new:
            self._intake.report(describe_ignored(new))

    def _commit(self, now: float, group: DocumentGroup, parsing: Future[list[ParsedDocument]]) -> None:
        parsed = parsing.result()
        rejects = [*group.rejects, *(reject for result in parsed for reject in result.rejects)]
        drafts = [draft for result in parsed for draft in result.drafts]
        sources = dict(group.sources)
        for document, result in zip(group.documents, parsed, strict=True):
            if not result.drafts and (state := sources.get(document.source)) is not None:
                before = self._known.get(document.source)
                sources[document.source] = (
                    overrun(state, before) if result.overran else state._replace(outcome="rejected")
                )
        reach("inbox.taken")
        acceptance = self._intake.journal.commit_documents(drafts, rejects, sources)
        self._intake.committed()
        self._known.update(sources)
        for source, state in sources.items():
            rest = seconds_to_next_try(state)
            if rest is not None:
                self._again[source] = now + rest
            if is_whole(state) or rest is not None:
                self._whole[source] = state
                self._looks.pop(source, None)
            else:
                self._whole.pop(source, None)
        new = sum(accepted.outcome == "accepted" for accepted in acceptance.accepted)
        warnings = [
            each
            for document, result in zip(group.documents, parsed, strict=True)
            for each in describe_warnings(document.source, result)
        ]
        self._intake.tell(self.taken, new, len(drafts) - new, rejects, warnings)
