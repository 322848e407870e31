"""An engine's part of publishing: documents through the parser, the journal and matching, in groups.

A group is what the documents of one call of `publish_many` come to, or those of all threads that call `publish` at
once: one of these threads parses and commits the documents of all, with one transaction and one sync, while the others
sleep. Threads that parsed for themselves would only take the interpreter from each other and from who commits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import RLock

from triplecast.engine.findings import Findings
from triplecast.engine.matching import Matching
from triplecast.engine.receipt import LoadedTaxonomy, Match, Receipt
from triplecast.errors import StorageFault
from triplecast.ingest import Document, ParsedDocument, Parser
from triplecast.ingest.ahead import parse_ahead
from triplecast.ingest.document import checked_documents, cut_groups
from triplecast.ingest.harmless import may_be_harmless
from triplecast.journal import BYTES_AT_ONCE, Dropped, FileState, Journal
from triplecast.languages.roots import read_roots
from triplecast.registry.registry import Refusal, Registry, Subscribed

DOCUMENTS_AT_ONCE = 200
"""Documents that are committed together, unless fewer come to `BYTES_AT_ONCE`."""
_PATIENCE = 1.0
"""Seconds that a thread waits to be woken before it looks for itself: who was to wake it may have been interrupted."""


class _Call:
    """A document of one thread, which waits for its receipt."""

    __slots__ = ("document", "error", "given_up", "is_harmful", "parsed", "receipt", "woken")

    def __init__(
        self, document: Document, parsed: ParsedDocument | None = None, woken: SimpleQueue[None] | None = None
    ) -> None:
        """Without `parsed`, who commits parses the document where it is harmless. Calls of one thread share `woken`."""
        self.document = document
        self.parsed = parsed
        self.receipt: Receipt | None = None
        self.error: Exception | None = None
        self.is_harmful = False
        """It has to be parsed in a child, and its own thread waits for that."""
        self.given_up = False
        """Its thread was interrupted."""
        self.woken = woken or SimpleQueue()
        """Something is put there when the call is answered, or its thread is to commit."""

    @property
    def is_answered(self) -> bool:
        return self.receipt is not None or self.error is not None or self.is_harmful

    def wait(self) -> None:
        """Until it is woken, or patience ends."""
        with suppress(Empty):
            self.woken.get(timeout=_PATIENCE)


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
        self._is_taken = False
        """Whether a thread is to look at who waits. It may be wrong for as long as patience lasts: the lock decides."""
        self._owed: Findings | None = None
        """Of the documents that were accepted last by a call that raised: published again, they have their matches."""

    def one(self, document: Document) -> Receipt:
        """The receipt of one document, committed with those of other threads that wait. What its group raises is raised
        in each of them; an interrupt of who commits is a `StorageFault` in the others, which publish again."""
        document = read_roots(document)
        self._registry.check_documents([document])
        call = _Call(document)
        if may_be_harmless(document):
            self._answer([call])
        if not call.is_answered or call.is_harmful:
            (parsed,) = self._parser.parse_soon([document])
            call = _Call(document, parsed)
            self._answer([call])
        if call.receipt is None:
            assert call.error is not None
            raise call.error
        return call.receipt

    def together(self, documents: Sequence[Document]) -> list[Receipt | Exception | None]:
        """Of each document what `one` returns or raises, for one thread that publishes for many; None where it has to
        be parsed in a child, which `one` waits for."""
        woken: SimpleQueue[None] = SimpleQueue()
        calls = [_Call(read_roots(document), None, woken) for document in documents]
        for each in calls:
            try:
                self._registry.check_documents([each.document])
                each.is_harmful = not may_be_harmless(each.document)
            except Exception as error:
                each.error = error
        if asked := [each for each in calls if not each.is_answered]:
            self._answer(asked)
        return [None if each.is_harmful else each.receipt or each.error or interrupted() for each in calls]

    def when(self, document: Document, check: Callable[[], None]) -> Receipt:
        """The receipt of one document, unless `check` raises: nothing is written between that and its commit."""
        document = read_roots(document)
        self._registry.check_documents([document])
        parsed = self._parser.parse_soon([document])
        with self._lock:
            check()
            (receipt,) = self._commit(parsed, Findings())
        return receipt

    def many(
        self, documents: Iterable[Document], source: Callable[[int], Mapping[str, FileState]] = lambda taken: {}
    ) -> Iterator[list[Receipt]]:
        """Yield the receipts of one group of documents after the other. `source`: what the journal notes of where they
        come from, in the transaction that has the first so many of them."""
        store, taken = Findings().store, 0
        groups = cut_groups(map(read_roots, checked_documents(documents)), DOCUMENTS_AT_ONCE, BYTES_AT_ONCE)
        for group, parsed in parse_ahead(self._parser, groups):
            with self._lock:
                self._registry.check_documents(group)
                taken += len(group)
                receipts = self._commit(parsed, Findings(store), source(taken))
            yield receipts

    def removed(self, dropped: Dropped) -> Receipt:
        """The receipt of removals that the journal has. The caller holds the lock."""
        outcome = Findings()
        self._matching.follow(outcome)
        return outcome.receipt((), dropped)

    def told_again(self, position: int) -> Sequence[Match]:
        """The present answer that was asked for at a position. The caller holds the lock."""
        found = Findings()
        self._matching.follow(found)
        return found.matches([position])

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

    def taught(self, loaded: LoadedTaxonomy) -> LoadedTaxonomy:
        """A taxonomy with what it changes. The caller holds the lock."""
        if not self._journal.has_repository_scope:
            return loaded
        found = Findings()
        self._matching.follow(found)
        return replace(loaded, matches=found.matches([loaded.position]), undecided=found.undecided([loaded.position]))

    def match_accepted(self) -> None:
        """Match what the journal has and the outbox has not, and tell the documents that were accepted last by a call
        that raised. The caller holds the lock."""
        self._matching.follow(self._owed)

    def _answer(self, calls: Sequence[_Call]) -> None:
        """Wait until another thread has answered `calls`, or commit those that wait."""
        last = calls[-1]
        self._waiting.extend(calls)
        try:
            if self._is_taken:
                last.wait()
            if not last.is_answered:
                self._is_taken = True
                with self._lock:
                    while not last.is_answered:
                        self._commit_waiting(last)
                self._wake_next()
        except BaseException:
            for each in calls:
                each.given_up = True
            self._wake_next()
            raise

    def _wake_next(self) -> None:
        """Let a thread that waits commit all that do; so who comes meanwhile waits too."""
        self._is_taken = False  # before looking: who comes after that sees for itself that nobody waits
        for each in self._waiting.copy():
            if not each.given_up:
                self._is_taken = True
                each.woken.put(None)
                return

    def _commit_waiting(self, call: _Call) -> None:
        """Commit the first documents that wait. Where none does, an interrupt came as that of `call` was taken."""
        group: list[_Call] = []
        size = 0
        try:
            if not self._waiting:
                call.error = interrupted()
            while self._waiting and len(group) < DOCUMENTS_AT_ONCE and size < BYTES_AT_ONCE:
                taken = self._waiting.popleft()
                if not taken.given_up:
                    group.append(taken)
                    size += taken.document.size
            parsed = self._parse_harmless(group)
            receipts = self._commit(parsed, Findings()) if parsed else ()
            for each, receipt in zip([each for each in group if not each.is_harmful], receipts, strict=True):
                each.receipt = receipt
        except Exception as error:
            for each in group:
                each.error = error
        except BaseException:
            for each in group:
                each.error = None if each.is_answered else interrupted()
            raise
        finally:
            for each in group:
                each.woken.put(None)

    def _parse_harmless(self, group: Sequence[_Call]) -> list[ParsedDocument]:
        """What the documents of `group` are parsed to, without those that turn out to belong in a child."""
        calls = [each for each in group if each.parsed is None]
        for each, parsed in zip(calls, self._parser.parse_here([each.document for each in calls]), strict=True):
            each.parsed = parsed
            each.is_harmful = parsed is None
        return [each.parsed for each in group if each.parsed is not None]

    def _commit(
        self, parsed: Sequence[ParsedDocument], outcome: Findings, sources: Mapping[str, FileState] | None = None
    ) -> list[Receipt]:
        self.match_accepted()
        drafts = [draft for result in parsed for draft in result.drafts]
        rejects = [reject for result in parsed for reject in result.rejects]
        acceptance = self._journal.commit_documents(drafts, rejects, sources)
        owed, self._owed = self._owed, outcome
        self._matching.follow(outcome)
        self._owed = owed
        return list(outcome.share_out(parsed, acceptance, owed))


def interrupted() -> StorageFault:
    found = "the thread that committed for others was interrupted, and whether this document was accepted is not known"
    return StorageFault("journal", found, "publish it again; a document that was accepted is not accepted twice")
