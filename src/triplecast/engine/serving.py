"""What a service asks of an engine beside its calls: documents as they are, conditional changes, pages, progress."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from triplecast.engine.opened import Opened
from triplecast.engine.publishing import Publishing
from triplecast.engine.querying import Querying
from triplecast.engine.receipt import Receipt
from triplecast.errors import InputError
from triplecast.ingest import Document, ParsedDocument, Parser
from triplecast.journal import Clock, Journal, JournalFile, read_clock, time_text
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.publication import Publication
from triplecast.model.subscription import API, Registration
from triplecast.outbox import Definitions, Outbox, OutboxReader
from triplecast.outbox.commits import CommitSignal
from triplecast.registry.listing import LiveSubscription, Page, read_page
from triplecast.registry.registry import Registry
from triplecast.registry.requests import ReadingRequests, Requests
from triplecast.repository import QueryAnswer
from triplecast.taxonomy import Taxonomy


class DocumentState(NamedTuple):
    """The current version of a graph."""

    version: int
    digest: bytes
    position: int

    written_at: int

    @property
    def tag(self) -> str:
        return version_tag(self.version, time_text(self.written_at))


def version_tag(version: int, accepted_at: str) -> str:
    """Names a version of a graph. A folder restored from a copy gives numbers again, never the time."""
    return f"{version}-{''.join(filter(str.isdigit, accepted_at))}"


Condition = Callable[[DocumentState | None], None]
"""Raises for a state, or for no document, in which a change is not wanted."""


class FolderProgress(NamedTuple):
    """How far a folder has come."""

    position: int
    """Of the journal's last record."""
    waiting: int | None
    """The first document event of which not everything is recorded; None where there is none."""
    since: str | None
    """When that was accepted."""
    sequence: int
    """Of the last notification."""


def _revoked(registration: int) -> str:
    """The setting that counts."""
    return f"feed revoked {registration}"


class NotificationSource(NamedTuple):
    """Where a service reads notifications."""

    outbox: OutboxReader
    """A reader of its own, which keeps no writer waiting; of an engine in memory, its outbox."""
    definitions: Callable[[], Definitions]
    commits: CommitSignal
    """Of the writer."""

    def close(self) -> None:
        if self.outbox.commits is not self.commits:
            self.outbox.close()


class Serving:
    """May be used from any thread; raises `StorageFault`, and `InputError` where the engine is closed."""

    def __init__(
        self,
        opened: Opened,
        lock: RLock,
        clock: Clock,
        journal: Journal,
        outbox: Outbox,
        parser: Parser,
        registry: Registry,
        publishing: Publishing,
        querying: Querying,
    ) -> None:
        self._opened = opened
        self._lock = lock
        self._clock = clock
        self._journal = journal
        self._outbox = outbox
        self._parser = parser
        self._registry = registry
        self._publishing = publishing
        self._querying = querying

    @property
    def folder(self) -> Path | None:
        """Where the engine is; None in memory."""
        return self._journal.folder

    def state(self, graph: str) -> DocumentState | None:
        """The state of a graph; None where it has no document."""
        self._opened.check()
        found = self._journal.latest(graph)
        if found is None or not found.digest:
            return None
        return DocumentState(found.version, found.digest, found.position, found.written_at)

    def document(self, graph: str) -> tuple[DocumentState, Publication] | None:
        """The current document of a graph, with its state."""
        self._opened.check()
        with self._lock:
            state = self.state(graph)
            found = self._journal.documents_of([graph]).get(graph)
        return None if state is None or found is None else (state, found)

    def taxonomy(self) -> Taxonomy:
        """That which the next publication is matched with."""
        self._opened.check()
        head = self._journal.head()
        return self._journal.taxonomies(head, head).before(head + 1)

    def parse(self, document: Document) -> ParsedDocument:
        """What a document would be published as."""
        (parsed,) = self._parser.parse_soon([document])
        return parsed

    def publish_together(self, documents: Sequence[Document]) -> list[Receipt | Exception | None]:
        """Publish documents of many callers at once. Return for each its receipt, or what the engine's `publish`
        raises; None for one that is to be published alone, which may take long."""
        self._opened.check_open()
        return self._publishing.together(documents)

    def publish_when(self, document: Document, graph: str, condition: Condition) -> Receipt:
        """Publish a document unless `condition` raises for the state of `graph`: nothing comes in between."""
        self._opened.check()
        return self._publishing.when(document, lambda: condition(self.state(graph)))

    def remove_when(self, graph: str, condition: Condition, remove: Callable[[str], Receipt | None]) -> Receipt | None:
        """Remove a document in the same way, by the engine's `remove`."""
        with self._lock:
            condition(self.state(graph))
            return remove(graph)

    def registration(self, id: str, ticket: str | None) -> Registration:
        """A live one. Raises `InputError` where there is none, or a ticket that is given is another's."""
        with self._opened.locked(id=id):
            return self._registry.own(API, id, ticket)

    def listed(self, found: Registration) -> LiveSubscription:
        with self._opened.locked():
            return self._registry.listed(found)

    def page(self, after: int, limit: int, owner: str | None) -> Page:
        """At most `limit` live subscriptions beyond registration `after`, of an owner if one is given."""
        self._opened.check()
        return read_page(self._journal, self._registry.index.operators(), read_clock(self._clock), after, limit, owner)

    def answer(self, text: str, steps: int) -> QueryAnswer:
        """The answer to a query over the current documents; calls that write wait for it."""
        with self._opened.locked(text=text):
            self._publishing.match_accepted()
            return self._querying.answer(text, "sparql", steps, time_text(read_clock(self._clock)))

    def notifications(self) -> NotificationSource:
        """For the caller to close."""
        self._opened.check()
        outbox = self._outbox if self.folder is None else OutboxReader.read_only(self.folder)
        return NotificationSource(outbox, self._definitions, self._outbox.commits)

    def journal_reader(self) -> JournalFile:
        """The journal, of a folder a reader of its own for the caller to close."""
        self._opened.check()
        return self._journal if self.folder is None else JournalFile.read_only(self.folder)

    def feed_key(self, found: Registration) -> str:
        """The secret that reads the feed of a subscription and opens nothing else: of its ticket's hash, which the
        folder has, and of how often it was revoked."""
        revoked = self._journal.settings().get(_revoked(found.id), "0")
        return self._derived(found, f"feed {revoked}")

    def feed_name(self, found: Registration) -> str:
        """What names the feed for ever, and is no secret."""
        return self._derived(found, "name of the feed")

    def subscribed_at(self, found: Registration) -> str:
        return self._journal.written_at(found.id)

    def _derived(self, found: Registration, purpose: str) -> str:
        """Raises `InputError` for a subscription without a ticket."""
        hashed = self._journal.ticket_hash(found.id)
        if not hashed:
            raise InputError(f"subscription {found.subscription.name!r} has no ticket", "read them with a token")
        return base64.urlsafe_b64encode(hmac.digest(hashed, purpose.encode(), "sha256")[:24]).decode()

    def revoke_feed(self, found: Registration) -> None:
        """From now on its feed has another secret."""
        with self._opened.locked():
            name = _revoked(found.id)
            self._journal.set_setting(name, str(int(self._journal.settings().get(name, "0")) + 1))

    def _definitions(self) -> Definitions:
        return Definitions(self._journal.registrations, self._registry.index.operators())

    def announce(self, address: str) -> None:
        """Note where the holder of the folder answers requests (`answer_line`)."""
        self._journal.announce(address)

    def answer_line(self, line: bytes) -> bytes:
        """The answer to a request that came to the control socket (`registry.requests`), told as a call would be."""
        with self._lock:
            self._publishing.match_accepted()
            answer = Requests(self._registry, self._journal, self._outbox, self._clock).answer_line(line)
            self._publishing.match_accepted()
        return answer

    def status(self) -> dict[str, object]:
        """How many subscriptions are live, and how far the folder has come, as the control socket tells it."""
        self._opened.check()
        asked = ReadingRequests(self._journal, self._outbox, lambda: NO_OPERATORS, self._clock)
        return asked.known["status"]({})

    def progress(self) -> FolderProgress:
        """Raises `FolderLocked` too, where another process has the folder now."""
        self._opened.check()
        waiting = self._journal.next_document(self._outbox.settled_upto())
        since = None if waiting is None else self._journal.written_at(waiting)
        return FolderProgress(self._journal.head(), waiting, since, self._outbox.state.sequence)
