"""The acceptor: files of the inbox go through the parsers into the journal, each once, when they are complete."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from triplecast.crash_points import reach
from triplecast.ingest import ParsedDocument, Parser
from triplecast.ingest.arrivals import Arrivals
from triplecast.ingest.document import cut_at
from triplecast.ingest.inbox import InboxFile, Look, describe_ignored, list_arrived, scan_inbox
from triplecast.ingest.inbox_files import DocumentGroup, is_whole, overrun, read_groups, seconds_to_next_try
from triplecast.journal import Journal
from triplecast.model.printable import printable_name
from triplecast.model.publication import Reject
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


class Looked(NamedTuple):
    """The outcome of a look at the inbox."""

    left: frozenset[str]
    """Sources that are new or changed and not taken yet."""
    took: bool
    """Whether any file was ready."""


class Acceptor:
    """One inbox and its journal."""

    def __init__(
        self,
        inbox: Path,
        journal: Journal,
        parser: Parser,
        dataset: bool,
        report: Callable[[Reject | str], None],
        committed: Callable[[], None] = lambda: None,
        split: str | None = None,
    ) -> None:
        """`committed` is called after each commit."""
        self._inbox = inbox
        self._journal = journal
        self._parser = parser
        self._dataset = dataset
        self._split = split
        self._report = report
        self._committed = committed
        self._known = dict(journal.sources())
        self._whole = {source: state for source, state in self._known.items() if is_whole(state)}
        self._again: dict[str, float] = {}
        """When files that took too long are parsed again, on the clock of `look`."""
        self._looks: dict[str, Look] = {}
        self.taken = Taken()
        self.ignored: tuple[str, ...] = ()

    def has_work(self) -> bool:
        """Whether the inbox has anything that was not taken as it is."""
        return bool(scan_inbox(self._inbox, self._whole, {}, 0.0).looks)

    def follow(self, ending: threading.Event) -> None:
        """Take files as they come, until the end."""
        with closing(Arrivals(self._inbox)) as arrivals:
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
                self._report(f"left for a later run, since they still change: {names}")
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
        scan = scan_inbox(self._inbox, self._whole, self._looks, now)
        self._looks = dict(scan.looks)
        self._report_ignored(scan.ignored)
        self._take(scan.ready, now, stop)
        return Looked(frozenset(self._looks), bool(scan.ready))

    def take(self, arrived: Iterable[tuple[str, ...]], now: float, stop: threading.Event) -> None:
        """Take files at paths below the inbox that are complete (`ingest.arrivals`), as `look` does."""
        self._take(list_arrived(self._inbox, arrived, self._whole), now, stop)

    def _take(self, ready: Sequence[InboxFile], now: float, stop: threading.Event) -> None:
        if not ready:
            return
        with ThreadPoolExecutor(1, "triplecast-parsing") as parsing:
            pending: tuple[DocumentGroup, Future[list[ParsedDocument]]] | None = None
            for group in read_groups(self._inbox, ready, self._known, self._dataset):
                following = (group, parsing.submit(self._parser.parse, cut_at(group.documents, self._split)))
                if pending is not None:
                    self._commit(now, *pending)
                pending = None if stop.is_set() else following
                if pending is None:
                    break
            if pending is not None:
                self._commit(now, *pending)

    def _report_ignored(self, ignored: tuple[str, ...]) -> None:
        """Report each file once."""
        new = sorted(set(ignored) - set(self.ignored))
        self.ignored = ignored
        if new:
            self._report(describe_ignored(new))

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
        acceptance = self._journal.commit_documents(drafts, rejects, sources)
        self._committed()
        new = sum(accepted.outcome == "accepted" for accepted in acceptance.accepted)
        self.taken.accepted += new
        self.taken.unchanged += len(drafts) - new
        self.taken.rejects += len(rejects)
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
        for reject in rejects:
            self._report(reject)
        for document, result in zip(group.documents, parsed, strict=True):
            for warning in result.warnings:
                self._report(f"{printable_name(document.source)}: note: {warning}")
