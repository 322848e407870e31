"""An engine's part of publishing: documents that were parsed, through the journal and matching, in groups.

A group is what the documents of one call of `publish_many` come to, or those of all threads that call `publish` at
once: whoever gets the engine's lock commits the documents of all who wait for it, with one transaction and one sync.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from threading import RLock

from triplecast.engine.findings import Findings
from triplecast.engine.matching import Matching
from triplecast.engine.receipt import Receipt
from triplecast.errors import StorageFault
from triplecast.ingest import Document, ParsedDocument, Parser
from triplecast.ingest.ahead import parse_ahead
from triplecast.ingest.document import checked_documents, cut_groups
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.model.events import Removal
from triplecast.registry.registry import Refusal, Registry, Subscribed

DOCUMENTS_AT_ONCE = 200
"""Documents that are committed together, unless fewer come to `BYTES_AT_ONCE`."""


class _Call:
    """A document of one thread, which waits for its receipt."""

    __slots__ = ("document", "error", "given_up", "parsed", "receipt")

    def __init__(self, document: Document, parsed: ParsedDocument) -> None:
        self.document = document
        self.parsed = parsed
        self.receipt: Receipt | None = None
        self.error: Exception | None = None
        self.given_up = False
        """Its thread was interrupted."""

    @property
    def is_answered(self) -> bool:
        return self.receipt is not None or self.error is not None


class Publishing:
    """Accepts documents and matches what they bring; from any thread, one group at a time."""

    def __init__(self, lock: RLock, parser: Parser, journal: Journal, registry: Registry, matching: Matching) -> None:
        """`lock` is that of all calls of the engine that write."""
        self._lock = lock
        self._parser = parser
        self._journal = journal
        self._registry = registry
        self._matching = matching
        self._waiting: deque[_Call] = deque()
        self._owed: Findings | None = None
        """Of the documents that were accepted last by a call that raised: published again, they have their matches."""

    def one(self, document: Document) -> Receipt:
        """The receipt of one document, committed with those of other threads that wait. What its group raises is raised
        in each of them; an interrupt of who commits is a `StorageFault` in the others, which publish again."""
        self._registry.check_documents([document])
        (parsed,) = self._parser.parse_soon([document])
        call = _Call(document, parsed)
        self._waiting.append(call)
        try:
            with self._lock:
                while not call.is_answered:
                    self._commit_waiting(call)
        except BaseException:
            call.given_up = True
            raise
        if call.receipt is None:
            assert call.error is not None
            raise call.error
        return call.receipt

    def many(self, documents: Iterable[Document]) -> Iterator[list[Receipt]]:
        """Yield the receipts of one group of documents after the other."""
        store = Findings().store
        groups = cut_groups(checked_documents(documents), DOCUMENTS_AT_ONCE, BYTES_AT_ONCE)
        for group, parsed in parse_ahead(self._parser, groups):
            with self._lock:
                self._registry.check_documents(group)
                receipts = self._commit(parsed, Findings(store))
            yield receipts

    def removed(self, removal: Removal) -> Receipt:
        """The receipt of a removal that the journal has. The caller holds the lock."""
        outcome = Findings()
        self._matching.follow(outcome)
        return Receipt.of_removal(removal, outcome.matches([removal.position]), outcome.undecided([removal.position]))

    def told_first(self, outcomes: list[Subscribed | Refusal]) -> list[Subscribed | Refusal]:
        """Subscriptions with what they found as they were registered. The caller holds the lock."""
        if not self._journal.has_repository_scope:
            return outcomes
        found = Findings()
        self._matching.follow(found)
        return [
            replace(each, matches=found.matches([each.registration])) if isinstance(each, Subscribed) else each
            for each in outcomes
        ]

    def match_accepted(self) -> None:
        """Match what the journal has and the outbox has not, and tell the documents that were accepted last by a call
        that raised. The caller holds the lock."""
        self._matching.follow(self._owed)

    def _commit_waiting(self, call: _Call) -> None:
        """Commit the first documents that wait. Where none does, an interrupt came as that of `call` was taken."""
        group: list[_Call] = []
        size = 0
        try:
            if not self._waiting:
                call.error = _interrupted()
            while self._waiting and len(group) < DOCUMENTS_AT_ONCE and size < BYTES_AT_ONCE:
                taken = self._waiting.popleft()
                if not taken.given_up:
                    group.append(taken)
                    size += taken.document.size
            for each, receipt in zip(group, self._commit([each.parsed for each in group], Findings()), strict=True):
                each.receipt = receipt
        except Exception as error:
            for each in group:
                each.error = error
        except BaseException:
            for each in group:
                each.error = None if each.is_answered else _interrupted()
            raise

    def _commit(self, parsed: Sequence[ParsedDocument], outcome: Findings) -> list[Receipt]:
        self.match_accepted()
        drafts = [draft for result in parsed for draft in result.drafts]
        rejects = [reject for result in parsed for reject in result.rejects]
        acceptance = self._journal.commit_documents(drafts, rejects)
        owed, self._owed = self._owed, outcome
        self._matching.follow(outcome)
        self._owed = owed
        return list(outcome.share_out(parsed, acceptance, owed))


def _interrupted() -> StorageFault:
    found = "the thread that committed for others was interrupted, and whether this document was accepted is not known"
    return StorageFault("journal", found, "publish it again; a document that was accepted is not accepted twice")
