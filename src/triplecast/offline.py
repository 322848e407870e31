"""Match files without a journal, with the engine's stages, for `triplecast match`, `explain` and `preview`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.errors import InputError
from triplecast.evaluate import Evaluator
from triplecast.index import IndexWriter, Snapshot
from triplecast.ingest import Document, Parser
from triplecast.ingest.document import cut_groups
from triplecast.ingest.inbox import LINES, distinct_paths, scan_inbox
from triplecast.journal import Clock, system_clock, time_text
from triplecast.journal.parts import runs
from triplecast.match import Matcher
from triplecast.model.events import TaxonomyVersion
from triplecast.model.match import CHANGES, MatchedBatch, notification_id
from triplecast.model.operators import SCHEDULE, OperatorSet, check_schedule
from triplecast.model.printable import printable_name
from triplecast.model.publication import Draft, Position, Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators.asking import Asker, ask_pieces
from triplecast.operators.operator_set import Declared, operator_set
from triplecast.partition import SLICES, Partition, Partitioner, Routing, check_partition, match_shards
from triplecast.registry.admission import Admitted
from triplecast.results import Recorded
from triplecast.taxonomy import NO_TAXONOMY, Taxonomies, Taxonomy

BATCH_DOCUMENTS = 256
BATCH_BYTES = 4 << 20
"""A batch of this many documents or bytes is complete, and is parsed and matched."""


class OfflineMatch(NamedTuple):
    """A subscription that matches a publication of a file."""

    publication: str
    """The graph IRI."""
    subscription: str
    change: str
    recorded: Recorded

    def row(self) -> dict[str, object]:
        """It as JSON."""
        return {name: getattr(self, name) for name in self._fields[:3]} | self.recorded.row()


@dataclass(frozen=True, slots=True)
class MatchedDocuments:
    """The results of one batch of documents."""

    publications: tuple[Publication, ...]
    matched: MatchedBatch
    rejects: tuple[Reject, ...]
    warnings: tuple[str, ...]
    """On documents that are probably not what was meant."""
    operators: OperatorSet
    """Those that the subscriptions may call."""

    def matches(self, subscriptions: Sequence[Subscription]) -> Iterator[OfflineMatch]:
        """Each match, in order; `subscriptions` are those that were matched."""
        for row, (place, number) in enumerate(zip(self.matched.publication, self.matched.registration, strict=True)):
            of, definition = self.publications[place], subscriptions[number - 1]
            change, text = int(self.matched.change[row]), self.matched.bindings_of(row).decode()
            word, id = CHANGES[change].word, notification_id(of.graph, of.version, int(number), change)
            recorded = Recorded(definition, self.operators, text, id, word)
            yield OfflineMatch(of.graph, definition.name, word, recorded)


def check_places(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return what is no document in the folders among `paths`: links, pipes, files with another extension.

    Raises InputError if two documents have the same relative path, since they would be versions of one. The documents
    in a ``.jsonl`` file have their own names.
    """
    places: dict[str, Path] = {}
    ignored: list[str] = []
    for path in distinct_paths(paths):
        names = [path.name]
        if path.is_dir():
            scan = scan_inbox(path, {}, {}, 0.0, quiet=0.0)
            names = [file.source for file in scan.ready]
            ignored += scan.ignored
        for name in names:
            first = places.setdefault(name, path)
            if first is not path and not name.lower().endswith(LINES):
                raise InputError(
                    f"{first} and {path} both hold a document named {name}",
                    "rename one of them, or give the folder that holds both",
                )
    return tuple(ignored)


def match_documents(
    admitted: Admitted,
    documents: Iterable[Document | Reject],
    clock: Clock = system_clock,
    taxonomy: Taxonomy = NO_TAXONOMY,
    schedule: str = SCHEDULE,
    operators: Iterable[Declared] | None = None,
    strategy: str = SLICES,
    shards: int = 1,
) -> Iterator[MatchedDocuments]:
    """Match publications, in the order of the documents, against subscriptions, as if all were registered before.
    Content equal to its graph's latest version is skipped. A `schedule` orders operator calls. `operators` are those
    that queries may call, by default all that are declared here. Another `strategy` than `SLICES` cuts the index into
    so many shards, by the first batch. Raises `InputError` for an unknown one."""
    check_partition(strategy, shards)
    called = operator_set(operators)
    snapshot = index_subscriptions(admitted.subscriptions, called, IndexWriter())
    versions = Versions(len(admitted.subscriptions), clock)
    matching = match_whole(snapshot) if strategy == SLICES else match_in_shards(snapshot, strategy, shards)
    with closing(OfflineStages(called, schedule)) as stages:
        yield from stages.match(matching, documents, versions.accept, taxonomy)


def index_subscriptions(subscriptions: Sequence[Subscription], operators: OperatorSet, index: IndexWriter) -> Snapshot:
    """Publish the snapshot of subscriptions at positions 1, 2, …"""
    registrations = [Registration(RegistrationId(i), each) for i, each in enumerate(subscriptions, 1)]
    return index.apply(registrations, (), len(registrations), compiler=SubscriptionCompiler(operators))


MatchPieces: TypeAlias = Callable[
    [Matcher, Sequence[Publication], Taxonomies], Iterator[tuple[Sequence[Publication], MatchedBatch]]
]
"""What matches publications, in pieces as those of `Matcher.match_pieces`."""


def match_whole(snapshot: Snapshot) -> MatchPieces:
    return lambda matcher, publications, taxonomies: matcher.match_pieces(snapshot, publications, taxonomies)


def match_in_shards(snapshot: Snapshot, strategy: str, shards: int) -> MatchPieces:
    """By shards of the snapshot, which the first publications say how to cut."""
    routing = Routing()
    partitions: list[Partition] = []

    def match(
        matcher: Matcher, publications: Sequence[Publication], taxonomies: Taxonomies
    ) -> Iterator[tuple[Sequence[Publication], MatchedBatch]]:
        if not partitions:
            partitions.append(Partitioner(strategy, shards, publications, taxonomies).partition(snapshot))
        return match_shards(matcher, routing, partitions[0], publications, taxonomies)

    return match


class OfflineStages:
    """The stages that documents go through, with their processes: for one thread at a time, until it is closed."""

    def __init__(self, operators: OperatorSet, schedule: str = SCHEDULE) -> None:
        self._operators = operators
        self._parser = Parser()
        self._evaluator = Evaluator()
        self._matcher = Matcher(self._evaluator, operators)
        self._asker = Asker(schedule=check_schedule(schedule), operators=operators)

    def match(
        self,
        matching: MatchPieces,
        documents: Iterable[Document | Reject],
        accept: Callable[[Sequence[Draft]], list[Publication]],
        taxonomy: Taxonomy = NO_TAXONOMY,
    ) -> Iterator[MatchedDocuments]:
        """Match documents in their order, a batch at a time; `accept` gives their drafts versions and positions."""
        taxonomies = Taxonomies((TaxonomyVersion(0, taxonomy.lines, taxonomy.broader),))
        for batch in cut_batches(documents):
            drafts, rejects, warnings = parse_batch(self._parser, batch)
            pieces = matching(self._matcher, accept(drafts), taxonomies)
            for of, matched in ask_pieces(self._matcher, self._asker, pieces, taxonomies):
                yield MatchedDocuments(tuple(of), matched, tuple(rejects), tuple(warnings), self._operators)
                rejects, warnings = [], []

    def close(self) -> None:
        """End their processes."""
        for part in (self._asker, self._matcher, self._parser, self._evaluator):
            part.close()


def cut_batches(documents: Iterable[Document | Reject]) -> Iterator[list[Document | Reject]]:
    """Split documents into batches, which may span several files and folders."""
    return cut_groups(documents, BATCH_DOCUMENTS, BATCH_BYTES)


def parse_batch(parser: Parser, batch: Sequence[Document | Reject]) -> tuple[list[Draft], list[Reject], list[str]]:
    """Parse a batch; return drafts, rejects and warnings in its order."""
    parsed = iter(parser.parse([document for document in batch if isinstance(document, Document)]))
    drafts: list[Draft] = []
    rejects: list[Reject] = []
    warnings: list[str] = []
    for entry in batch:
        if isinstance(entry, Reject):
            rejects.append(entry)
        else:
            found = next(parsed)
            drafts += found.drafts
            rejects += found.rejects
            warnings += [f"{printable_name(entry.source)}: note: {warning}" for warning in found.warnings]
    return drafts, rejects, warnings


class Versions:
    """Numbers versions by graph and skips unchanged content, as the journal does (semantics 2.2). What no document that
    was cut holds any more is a new version when it comes back; nothing is restored that another one holds."""

    def __init__(self, position: int = 0, clock: Clock = system_clock) -> None:
        self._position = position
        self._clock = clock
        self._latest: dict[str, tuple[int, bytes]] = {}
        self._held: dict[str, dict[str, bytes]] = {}
        """The digests of what documents were cut into."""

    def accept(self, drafts: Sequence[Draft]) -> list[Publication]:
        now = time_text(self._clock())
        publications = []
        for run in runs(drafts, self._held.keys()):
            before = self._held.pop(run.document, {}) if run.document is not None else {}
            for draft in run.drafts:
                version, digest = self._latest.get(draft.graph, (0, b""))
                if draft.digest == digest or (digest and draft.digest == before.get(draft.graph)):
                    continue
                self._position += 1
                self._latest[draft.graph] = (version + 1, draft.digest)
                made = Publication(Position(self._position), draft.graph, version + 1, now, draft.quads, draft.dataset)
                publications.append(made._replace(attachments=draft.attachments))
            said = {draft.graph: draft.digest for draft in run.drafts}
            if run.document is not None and run.is_cut:
                self._held[run.document] = said
            for graph in before.keys() - said.keys():
                if not any(graph in held for held in self._held.values()):
                    self._latest[graph] = (self._latest[graph][0], b"")
        return publications
