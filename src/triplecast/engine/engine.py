"""The whole of Triplecast in one object: the one place that names all stages (ARCHITECTURE.md, the picture).

subscription → admit → journal → index;   publication → parse → journal → match → outbox
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import islice
from pathlib import Path

from triplecast.compile.admission import Admission, admit
from triplecast.delivery import Notification, Outbox, OutboxBatch
from triplecast.engine.receipt import (
    Match,
    Preview,
    Receipt,
    Subscribed,
    UndecidedMatch,
    matches_of,
    share_out,
    undecided_of,
)
from triplecast.engine.registry import open_index
from triplecast.errors import DocumentRejected, InputError, QueryRefused, QuerySyntaxError, StorageFault
from triplecast.evaluate import Evaluator, Explanation, explain
from triplecast.index import IndexFolder, MemoryIndex
from triplecast.ingest import Document, Parser
from triplecast.journal import Clock, Journal, system_clock, time_text
from triplecast.languages import parse_query
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

DOCUMENTS_AT_ONCE = 500
"""Documents of `Engine.publish_many` that are committed together."""
MATCHED_AT_ONCE = 1_000
"""Publications that are matched and committed to the outbox together."""


class Engine:
    """Standing queries and what they match, in memory (``Engine()``) or durable (`Engine.open`).

    What a method has returned is synced to disk, and every publication accepted is matched: at once, or, when the
    process ended in between, by the next `open` or call that writes. May be used from any thread; one call writes at a
    time.
    """

    def __init__(self, clock: Clock = system_clock, randomness: Callable[[int], bytes] = os.urandom) -> None:
        self._assemble(Journal.in_memory(clock, randomness), Outbox.in_memory(), MemoryIndex(), clock)

    @classmethod
    def open(
        cls, folder: Path | str, clock: Clock = system_clock, randomness: Callable[[int], bytes] = os.urandom
    ) -> Engine:
        """The engine in `folder`, made where there is none. What was accepted there and not matched is matched now.

        Raises `FolderLocked` while another process has it, and `StorageFault`.
        """
        engine = cls.__new__(cls)
        with ExitStack() as opened:
            journal = opened.enter_context(Journal.open(folder, clock, randomness))
            outbox = opened.enter_context(Outbox.open(folder))
            engine._assemble(journal, outbox, IndexFolder(Path(folder) / "index"), clock)
            opened.pop_all()
        return engine

    def _assemble(self, journal: Journal, outbox: Outbox, index: IndexFolder | MemoryIndex, clock: Clock) -> None:
        if outbox.progress > journal.head():
            found = f"it ends at position {journal.head()}, but {outbox.progress} has been matched"
            raise StorageFault("the journal", found, "restore journal and outbox from one copy")
        self._lock = threading.RLock()
        self._clock = clock
        self._journal = journal
        self._outbox = outbox
        self._index = index
        self._parser = Parser()
        self._evaluator = Evaluator()
        self._matcher = Matcher(self._evaluator)
        self._names: dict[int, str] = {}
        self._matched = outbox.progress
        """No publication after this position has been matched."""
        self._added: list[Registration] = []
        self._removed: list[tuple[int, int]] = []
        """What the journal's registry has beyond `_snapshot`; nothing is accepted unmatched when these grow."""
        if isinstance(index, IndexFolder):
            self._snapshot = open_index(index, journal, self._matched)
        else:
            self._snapshot = index.apply([], [], 0)
        self._match_accepted()

    def close(self) -> None:
        with self._lock:
            self._parser.close()
            self._evaluator.close()
            self._outbox.close()
            self._journal.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- subscribing ------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        text: str,
        id: str | None = None,
        language: str = "sparql",
        scope: str = "publication",
        entailment: str | None = None,
        owner: str | None = None,
        lease: object = None,
    ) -> Subscribed:
        """Registers a standing query, asked of every publication from the next on.

        Raises `QuerySyntaxError`, `QueryRefused`, and `InputError` for an `id` that is live already.
        """
        if lease is not None:
            raise InputError("leases are not built yet", "subscribe without one and cancel when it is over")
        with self._lock:
            name = self._free_name() if id is None else id
            if not (isinstance(name, str) and name and isinstance(text, str)):
                raise InputError("a subscription has a text and an id, both str and not empty", "give such")
            subscription = Subscription(name, text, language, scope, entailment, owner)
            return self._register([subscription], [admit(subscription)])[0]

    def subscribe_many(
        self, subscriptions: Sequence[Subscription]
    ) -> list[Subscribed | QuerySyntaxError | QueryRefused | InputError]:
        """Registers all that can be, in one step; in the place of each other one stands what is wrong with it."""
        with self._lock:
            answers: dict[int, Subscribed | QuerySyntaxError | QueryRefused | InputError] = {}
            admitted: dict[int, Admission] = {}
            names: set[str] = set()
            for place, subscription in enumerate(subscriptions):
                name = subscription.name
                try:
                    if name in names or self._journal.live_registration(name) is not None:
                        raise InputError(f"the id {name!r} is taken already", "cancel it or take another id")
                    admitted[place] = admit(subscription)
                    names.add(name)
                except (QuerySyntaxError, QueryRefused, InputError) as error:
                    answers[place] = error
            registered = self._register([subscriptions[place] for place in admitted], list(admitted.values()))
            answers.update(zip(admitted, registered, strict=True))
            return [answers[place] for place in range(len(subscriptions))]

    def unsubscribe(self, id: str, ticket: str | None = None) -> int:
        """Cancels the subscription that is live as `id`; gives the journal position from which it is asked no more.

        Raises `InputError` where there is none, or where a ticket is given and is not its own.
        """
        with self._lock:
            found = self._live(id)
            if ticket is not None and not hmac.compare_digest(ticket.encode(), self._ticket(found.id).encode()):
                raise InputError(f"the ticket is not that of {id!r}", "give the ticket that subscribing gave")
            self._match_accepted()
            (position,) = self._journal.cancel([found.id])
            self._removed.append((found.id, position))
            return position

    # ---- publishing -------------------------------------------------------------------------------------------------

    def publish(
        self,
        data: bytes | str,
        media_type: str | None = None,
        graph: str | None = None,
        attachments: object = None,
        dataset: bool = False,
    ) -> Receipt:
        """Accepts a document and matches what it brings. Without `graph` it is named by its content, a feed by itself.

        A document that cannot be read is told in `Receipt.rejects`. Raises `StorageFault`; after `StorageFull` nothing
        was accepted, or it was accepted and the next call matches it.
        """
        if attachments is not None:
            raise InputError("attachments are not built yet", "publish without them")
        return self.publish_many([document_of(data, media_type, graph, dataset)])[0]

    def publish_many(self, documents: Iterable[Document]) -> list[Receipt]:
        """A receipt for each document, in order. Documents are committed some hundreds at a time, each group wholly."""
        receipts: list[Receipt] = []
        remaining = iter(documents)
        while group := list(islice(remaining, DOCUMENTS_AT_ONCE)):
            parsed = self._parser.parse(group)
            with self._lock:
                self._match_accepted()
                drafts = [draft for result in parsed for draft in result.drafts]
                rejects = [reject for result in parsed for reject in result.rejects]
                acceptance = self._journal.commit_documents(drafts, rejects)
                matches, undecided = self._match_accepted()
            receipts += share_out(parsed, acceptance, matches, undecided)
        return receipts

    def remove(self, graph: str) -> int | None:
        """Ends the current document of `graph`; gives the removal's journal position, None where there was no document.

        In publication scope nobody is told.
        """
        with self._lock:
            self._match_accepted()
            return self._journal.remove(graph)

    # ---- asking -----------------------------------------------------------------------------------------------------

    def explain(
        self,
        data: bytes | str,
        id: str,
        media_type: str | None = None,
        graph: str | None = None,
        dataset: bool = False,
    ) -> tuple[Explanation, ...]:
        """Why each publication in `data` matches the live subscription `id`, or where it fails. Nothing is accepted.

        Raises `DocumentRejected` where there is nothing to explain.
        """
        subscription = self._live(id).subscription
        (parsed,) = self._parser.parse([document_of(data, media_type, graph, dataset)])
        if not parsed.drafts:
            for reject in parsed.rejects:
                raise DocumentRejected(reject.stage, reject.reason, reject.mend, reject.line, reject.column)
            raise DocumentRejected("parse", "it holds no publication", "give a document with at least one")
        query = parse_query(subscription.text, subscription.language, subscription.name)
        at = time_text(self._clock())
        return tuple(
            explain(query, Publication(0, draft.graph, 0, at, draft.quads, draft.dataset), subscription.name)
            for draft in parsed.drafts
        )

    def preview(self, text: str, last: int = 1000, language: str = "sparql") -> Preview:
        """What a subscription would have matched among the `last` publications. Raises what `subscribe` raises."""
        subscription = Subscription("preview", text, language)
        admission = admit(subscription)
        with self._lock:
            publications = self._journal.last_publications(last)
            registration = Registration(RegistrationId(0), subscription)
            snapshot = MemoryIndex().apply([registration], [], 0)
            matched = self._matcher.match(snapshot, publications)
        names = {0: subscription.name}
        times = [datetime.fromisoformat(publication.accepted_at) for publication in publications]
        seconds = (times[-1] - times[0]).total_seconds() if times else 0.0
        return Preview(
            len(publications),
            tuple(match for _, match in matches_of(publications, matched, names)),
            tuple(pair for _, pair in undecided_of(publications, matched, names)),
            admission.cost,
            admission.warnings,
            seconds,
        )

    def notifications(self, since: int = 0, limit: int | None = None) -> Iterator[Notification]:
        """The outbox after sequence `since`, in order."""
        return self._outbox.notifications(since, limit)

    def prune(self, sequence: int) -> int:
        """Forgets notifications up to `sequence`, which their subscribers have; gives how many went."""
        with self._lock:
            return self._outbox.prune(sequence)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _register(self, subscriptions: Sequence[Subscription], admissions: Sequence[Admission]) -> list[Subscribed]:
        if not subscriptions:
            return []
        self._match_accepted()
        registrations = self._journal.subscribe(subscriptions)
        self._added += registrations
        self._names.update((found.id, found.subscription.name) for found in registrations)
        return [
            Subscribed(found.subscription.name, found.id, self._ticket(found.id), admission.cost, admission.warnings)
            for found, admission in zip(registrations, admissions, strict=True)
        ]

    def _match_accepted(self) -> tuple[list[tuple[int, Match]], list[tuple[int, UndecidedMatch]]]:
        """Matches what the journal has and the outbox has not; gives each outcome with its publication's position."""
        head = self._journal.head()
        matches: list[tuple[int, Match]] = []
        undecided: list[tuple[int, UndecidedMatch]] = []
        while self._matched < head:
            publications = self._journal.publications(self._matched, head, limit=MATCHED_AT_ONCE)
            upto = publications[-1].position if len(publications) == MATCHED_AT_ONCE else head
            if publications:
                self._update_index(publications[0].position - 1)
                matched = self._matcher.match(self._snapshot, publications)
                batch = OutboxBatch.of(publications, matched)
                self._outbox.commit(batch, upto, self._journal.registrations_of)
                names = self._names_of(matched)
                matches += matches_of(publications, matched, names)
                undecided += undecided_of(publications, matched, names)
            self._matched = upto
        return matches, undecided

    def _update_index(self, covers: int) -> None:
        """Brings the index up to `covers`: after every change of the registry, before any publication not matched yet.

        The index is a cache; what it does not hold yet is durable in the journal.
        """
        if self._added or self._removed:
            self._snapshot = self._index.apply(self._added, self._removed, covers, needed_from=self._matched)
            self._added, self._removed = [], []

    def _names_of(self, matched: MatchedBatch) -> dict[int, str]:
        met = {*matched.registration.tolist(), *(pair.registration for pair in matched.undecided)}
        for found in self._journal.registrations_of(sorted(met - self._names.keys())):
            self._names[found.id] = found.subscription.name
        return self._names

    def _live(self, id: str) -> Registration:
        found = self._journal.live_registration(id)
        if found is None:
            raise InputError(f"no subscription is live as {id!r}", "give the id that subscribing gave")
        return found

    def _free_name(self) -> str:
        number = self._journal.head() + 1
        while self._journal.live_registration(f"subscription-{number}") is not None:
            number += 1
        return f"subscription-{number}"

    def _ticket(self, registration: int) -> str:
        return hmac.new(self._journal.secret, b"ticket %d" % registration, hashlib.sha256).hexdigest()[:40]


def document_of(data: bytes | str, media_type: str | None, graph: str | None, dataset: bool) -> Document:
    """The document of a `publish` call: named by `graph`, or by its content, so that equal content is one document."""
    if not isinstance(data, bytes | bytearray | memoryview | str):
        raise InputError(f"a document cannot be made of {type(data).__name__}", "give its bytes, or its text as str")
    try:
        content = data.encode() if isinstance(data, str) else bytes(data)
        (graph or "").encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object[:80]!r} holds half a character", "give text that can be UTF-8") from error
    source = graph if graph is not None else f"sha256/{hashlib.sha256(content).hexdigest()}"
    return Document(source, content, media_type, graph, dataset)
