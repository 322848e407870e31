"""What an engine takes that was read elsewhere: for local repositories, replicas and the streams of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from threading import RLock

from triplecast.crash_points import reach
from triplecast.engine.opened import Opened
from triplecast.engine.publishing import Publishing
from triplecast.ingest import Document
from triplecast.journal import FileState, Journal, PartChange, ReplicatedRecord
from triplecast.match import Matcher
from triplecast.model.answers import OperatorResult
from triplecast.model.publication import Draft
from triplecast.model.subscription import API, Subscription
from triplecast.operators.asking import Asker
from triplecast.registry.registry import Refusal, Registry, Subscribed


class Taking:
    """Writes what was read elsewhere, and matches it. May be used from any thread; raises `StorageFault`."""

    def __init__(
        self,
        opened: Opened,
        lock: RLock,
        journal: Journal,
        registry: Registry,
        publishing: Publishing,
        matcher: Matcher,
        asker: Asker,
    ) -> None:
        self._opened = opened
        self._lock = lock
        self._journal = journal
        self._registry = registry
        self._publishing = publishing
        self._matcher = matcher
        self._asker = asker

    @property
    def folder(self) -> Path | None:
        """Where the engine is; None in memory."""
        return self._journal.folder

    def changes(
        self, changes: Sequence[Draft | str], sources: Mapping[str, FileState], gone: Sequence[str] = ()
    ) -> None:
        """Take documents, and removals of graphs, in one step with where they came from."""
        self._opened.check()
        with self._lock:
            self._publishing.match_accepted()
            self._journal.commit_changes(changes, sources, gone)
            self._publishing.match_accepted()

    def batch(self, documents: Iterable[Document], source: str, number: int) -> None:
        """Publish the documents of batch `number` of a source, each once, though a process was killed and the batch
        comes again: how far it was taken is noted with the documents. Batches come in the order of their numbers, and
        one that comes again has the same documents in the same order."""
        self._opened.check()
        known = self._journal.sources().get(source)
        following, taken = (0, 0) if known is None else (known.size, known.mtime_ns)
        if following > number:
            return
        taken = taken if following == number else 0
        left = islice(documents, taken, None)
        for _ in self._publishing.many(left, lambda more: {source: FileState(number, taken + more, b"", "accepted")}):
            reach("taking.group-taken")
        with self._lock:
            self._journal.commit_documents((), (), {source: FileState(number + 1, 0, b"", "accepted")})

    def subscriptions(
        self, wanted: Sequence[Subscription], ended: Sequence[str], within: str
    ) -> list[Subscribed | Refusal]:
        """As `Registry.replace`; rules may leave out `within`, the beginning of ids."""
        self._opened.check()
        candidates = self._registry.examine_all(wanted, within=within)
        with self._lock:
            self._publishing.match_accepted()
            return self._publishing.told_first(self._registry.replace(API, wanted, candidates, ended))

    def records(
        self, records: Sequence[ReplicatedRecord], results: Sequence[OperatorResult], parts: Sequence[PartChange]
    ) -> None:
        """Take the records that follow in the journal that this folder replicates, what operators gave there, and what
        changed before them of what cut documents hold."""
        self._opened.check()
        with self._lock:
            self._journal.keep_results(results)
            self._journal.take_records(records, parts)
            recorded = self._matcher.operators.with_recorded(self._journal.operators())
            self._matcher.operators = self._asker.performer.operators = recorded
            self._publishing.match_accepted()
