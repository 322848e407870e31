"""Matching files without a journal: what `triplecast match`, `explain` and `preview` do, with the engine's stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from triplecast.compile.admission import admit
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate import Evaluator
from triplecast.index import MemoryIndex
from triplecast.ingest import Document, Parser
from triplecast.journal import Clock, system_clock, time_text
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Draft, Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId, Subscription

BATCH_DOCUMENTS = 256
BATCH_BYTES = 4 << 20
"""A batch is parsed and matched when it has so many documents or bytes."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Subscriptions that can be asked, and why the others cannot; registration i + 1 is subscription i."""

    subscriptions: tuple[Subscription, ...]
    refused: tuple[QuerySyntaxError | QueryRefused, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one batch of documents."""

    publications: tuple[Publication, ...]
    matched: MatchedBatch
    rejects: tuple[Reject, ...]


def admit_all(subscriptions: Iterable[Subscription]) -> Admitted:
    taken: list[Subscription] = []
    refused: list[QuerySyntaxError | QueryRefused] = []
    for subscription in subscriptions:
        try:
            admit(subscription)
        except (QuerySyntaxError, QueryRefused) as fault:
            refused.append(fault)
        else:
            taken.append(subscription)
    return Admitted(tuple(taken), tuple(refused))


def match_documents(
    admitted: Admitted, documents: Iterable[Document | Reject], clock: Clock = system_clock
) -> Iterator[Outcome]:
    """Asks every subscription of every publication, in the order of the documents, as if all were registered before the
    first. Content equal to the same graph's latest version is asked once."""
    registrations = [Registration(RegistrationId(i), s) for i, s in enumerate(admitted.subscriptions, 1)]
    snapshot = MemoryIndex().apply(registrations, (), len(registrations))
    versions = Versions(len(registrations), clock)
    with Evaluator() as evaluator, Parser() as parser:
        matcher = Matcher(evaluator)
        for batch in cut_batches(documents):
            drafts, rejects = parse_batch(parser, batch)
            publications = versions.accept(drafts)
            yield Outcome(tuple(publications), matcher.match(snapshot, publications), tuple(rejects))


def cut_batches(documents: Iterable[Document | Reject]) -> Iterator[list[Document | Reject]]:
    """Cuts behind the entry that fills a batch; no batch is empty."""
    batch: list[Document | Reject] = []
    size = 0
    for entry in documents:
        batch.append(entry)
        size += len(entry.data) if isinstance(entry, Document) else 0
        if len(batch) == BATCH_DOCUMENTS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def parse_batch(parser: Parser, batch: Sequence[Document | Reject]) -> tuple[list[Draft], list[Reject]]:
    """Drafts and rejects, both in the order of the batch."""
    parsed = iter(parser.parse([document for document in batch if isinstance(document, Document)]))
    drafts: list[Draft] = []
    rejects: list[Reject] = []
    for entry in batch:
        if isinstance(entry, Reject):
            rejects.append(entry)
        else:
            found = next(parsed)
            drafts += found.drafts
            rejects += found.rejects
    return drafts, rejects


class Versions:
    """Numbers versions per graph and passes over unchanged content, as the journal does (semantics 2.2)."""

    def __init__(self, position: int = 0, clock: Clock = system_clock) -> None:
        self._position = position
        self._clock = clock
        self._latest: dict[str, tuple[int, bytes]] = {}

    def accept(self, drafts: Iterable[Draft]) -> list[Publication]:
        now = time_text(self._clock())
        publications = []
        for draft in drafts:
            version, digest = self._latest.get(draft.graph, (0, b""))
            if draft.digest == digest:
                continue
            self._position += 1
            self._latest[draft.graph] = (version + 1, draft.digest)
            publications.append(Publication(self._position, draft.graph, version + 1, now, draft.quads, draft.dataset))
        return publications
