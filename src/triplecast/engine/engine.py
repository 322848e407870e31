"""The whole of Triplecast in one object: the one place that names all stages (ARCHITECTURE.md, the picture).

subscription → admit → journal → index;   publication → parse → journal → match → outbox"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from triplecast.driver import Driver, open_outbox
from triplecast.engine.asking import Asking
from triplecast.engine.following import follow_open
from triplecast.engine.matching import Matching, MatchingElsewhere
from triplecast.engine.opened import Opened
from triplecast.engine.previews import Preview, admit_preview, explain_document, preview_subscription
from triplecast.engine.publishing import Publishing
from triplecast.engine.querying import Answer, Querying
from triplecast.engine.receipt import LoadedSchema, LoadedTaxonomy, Match, Receipt, Statistics
from triplecast.engine.serving import Serving
from triplecast.engine.taking import Taking
from triplecast.errors import InputError, OperatorWarning, QueryRefused, QuerySyntaxError
from triplecast.explain import Explanation, RuleDecomposition, explaining_sandbox
from triplecast.incremental import OperatorAnswers
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.index.snapshot import take_census
from triplecast.ingest import Document, Parser
from triplecast.ingest.document import document_of
from triplecast.ingest.document_files import parse_schema, parse_taxonomy
from triplecast.journal import Clock, Journal, Rejected, read_clock, system_clock, time_text
from triplecast.match import Matcher
from triplecast.model.operators import SCHEDULE, OperatorSet, check_schedule
from triplecast.model.subscription import (
    API,
    BROAD_PER_OWNER,
    PUBLICATION,
    Subscription,
    check_subscriptions,
    read_key,
    read_lease,
)
from triplecast.operators.asking import Asker
from triplecast.operators.operator_set import Declared, declared_operators, operator_set
from triplecast.outbox import Cursor, Definitions, Notification, Outbox, UndecidedPair
from triplecast.registry.bulk import paused_collection
from triplecast.registry.listing import LiveSubscription
from triplecast.registry.live_rules import decompose_rule
from triplecast.registry.quota import check_quota
from triplecast.registry.registry import Refusal, Registry, Subscribed, standing_registrations
from triplecast.registry.rule_bindings import RULE
from triplecast.registry.upkeep import IndexUpkeep, settle_operators
from triplecast.repository import QUERY_STEPS


class Engine:
    """Standing queries and what they match, in memory (``Engine()``) or durable (`Engine.open`).

    What a method has returned is synced to disk, and every publication accepted is matched: at once, or, when the
    process ended in between, by the next `open` or call that publishes, subscribes, unsubscribes, removes or loads a
    taxonomy. May be used from any thread; one call writes at a time."""

    def __init__(
        self,
        clock: Clock = system_clock,
        randomness: Callable[[int], bytes] = os.urandom,
        broad_per_owner: int = BROAD_PER_OWNER,
        schedule: str = SCHEDULE,
        operators: Iterable[Declared] | None = None,
    ) -> None:
        """`broad_per_owner`: how many broad subscriptions one owner may hold. `schedule`: in which order operators are
        asked (docs/schedules.md). `operators`: those that queries may call, functions below `@operator`; without it all
        that are declared in this program and by entry points, later ones too. Raises `InputError` for what cannot be
        given, and TypeError for a folder: that is what `open` takes."""
        if not callable(clock):
            raise TypeError("Engine() is in memory and takes no folder; the durable one is Engine.open(folder)")
        self._broad_per_owner = check_quota(broad_per_owner)
        self._schedule = check_schedule(schedule)
        self._given = operators
        self._elsewhere: MatchingElsewhere | None = None
        self._assemble(Journal.in_memory(clock), Outbox.in_memory(), IndexWriter(), clock, randomness)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        clock: Clock = system_clock,
        randomness: Callable[[int], bytes] = os.urandom,
        broad_per_owner: int = BROAD_PER_OWNER,
        take_over: bool = False,
        schedule: str = SCHEDULE,
        operators: Iterable[Declared] | None = None,
        elsewhere: MatchingElsewhere | None = None,
    ) -> Engine:
        """The engine in `folder`, made where there is none. What was accepted there and not matched is matched now.
        Whoever holds more than `broad_per_owner` broad subscriptions already keeps them and gets no further one. The
        `schedule` and the `operators` (as `Engine()` takes them) may be others each time.
        In the output of `triplecast run` the subscriptions of its files live beside those of the engine, and neither
        cancels the other's. What is matched `elsewhere` is not in what calls return (`pipeline.matching`).

        With `take_over` the folder is taken from a process that has it and lives, maybe stopped: whatever that one does
        later, it writes nothing. Raises `FolderLocked` while another process, or another engine of this one, has it (to
        take it over: while that one is in the middle of a write), and `StorageFault`."""
        engine = cls.__new__(cls)
        engine._broad_per_owner = check_quota(broad_per_owner)
        engine._schedule = check_schedule(schedule)
        engine._given, engine._elsewhere = operators, elsewhere
        folder = Path(folder).absolute()
        with ExitStack() as opened:
            journal = opened.enter_context(Journal.open(folder, clock, take_over))
            outbox = opened.enter_context(open_outbox(folder, journal))
            index = IndexWriter(SegmentFolder(folder / INDEX, journal.sole))
            engine._assemble(journal, outbox, index, clock, randomness)
            opened.pop_all()
        return engine

    def _assemble(
        self, journal: Journal, outbox: Outbox, index: IndexWriter, clock: Clock, randomness: Callable[[int], bytes]
    ) -> None:
        self._lock = threading.RLock()
        self._clock = clock
        self._journal = journal
        self._outbox = outbox
        self._parser = Parser()
        self._explainer = explaining_sandbox()
        self._declared = operator_set(self._given)
        self._operators = settle_operators(journal, self._declared)
        self._matcher = matcher = Matcher(operators=self._operators)
        self._asker = Asker(schedule=self._schedule, learnt=journal.learnt(), operators=self._operators)
        driver = Driver(journal, outbox, journal.has_repository_scope)
        publish = None if self._elsewhere is None else self._elsewhere.cover
        self._upkeep = IndexUpkeep(index, journal, lambda: driver.needed_from, publish, lambda: matcher.operators)
        self._registry = Registry(journal, self._upkeep, self._broad_per_owner, randomness)
        if self._elsewhere is not None:
            self._elsewhere.take(journal, outbox, driver, self._registry)
        asked = OperatorAnswers(journal, matcher, self._asker)
        self._querying = Querying(journal, matcher, asked, self._upkeep.compiled)
        asking = Asking(journal, driver, matcher, self._asker)
        self._matching = Matching(journal, driver, self._registry, matcher, asking, self._querying, self._elsewhere)
        self._publishing = Publishing(self._lock, self._parser, journal, self._registry, self._matching)
        parts = (self._matching, self._querying, self._parser, self._asker, matcher, self._explainer, outbox)
        self._opened = Opened(self, self._lock, journal, parts)
        published = (self._parser, self._registry, self._publishing, self._querying)
        self.serving = Serving(self._opened, self._lock, clock, journal, outbox, *published)
        self.taking = Taking(self._opened, self._lock, journal, self._registry, self._publishing, matcher, self._asker)
        for line in self._upkeep.open():
            warnings.warn(line, OperatorWarning, stacklevel=4)
        self._match_accepted()

    def close(self) -> None:
        with self._lock:
            if self._opened.is_open:
                self._matching.asking.store_learnt()
                self._upkeep.close()
                self._opened.close()

    def __enter__(self) -> Engine:
        self._opened.check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- subscribing ------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        text: str,
        id: str | None = None,
        language: str = "sparql",
        scope: str | None = None,
        entailment: str | None = None,
        owner: str | None = None,
        lease: timedelta | float | datetime | None = None,
        notify: str | None = None,
        initial: str | None = None,
        key: Iterable[str] = (),
    ) -> Subscribed:
        """Register a query, evaluated against each publication from the next on until its lease ends: a timedelta or
        seconds from now on, a datetime with a zone, or `triplecast.FOREVER`; without one, a day. Its scope is
        ``publication``, or of a rule ``repository``, unless it says which. For `notify`, `initial` and `key`, see
        docs/follow-changes.md.

        Raises `QuerySyntaxError`, `QueryRefused` (`QuotaReached` for a broad one too many of its `owner`),
        `InputError` for an `id` that is in use and a lease that cannot be, and `StorageFault`: then nothing was
        registered."""
        name, by = "subscription" if id is None else id, read_key(key)
        subscription = Subscription(name, text, language, scope or "", entailment, owner, notify, initial, by)
        (outcome,) = self._subscribe([subscription], lease, id is not None)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def subscribe_many(
        self, subscriptions: Sequence[Subscription], lease: timedelta | float | datetime | None = None
    ) -> list[Subscribed | QuerySyntaxError | QueryRefused | InputError]:
        """Register all that can be, in one step and with one `lease` (as `subscribe` takes it). Return, in the place of
        each other one, what is wrong with it.
        Raises `StorageFault`, `InputError` for a lease that cannot be, and TypeError for what is no subscription: then
        none was registered."""
        check_subscriptions(subscriptions)
        return self._subscribe(subscriptions, lease)

    def unsubscribe(self, id: str, ticket: str | None = None) -> int:
        """Cancel live subscription `id` and return the cancellation's journal position.

        What it matched before stays in the outbox (semantics 9.8). The ticket is checked where one is given; without
        one, whoever has the engine may cancel any subscription of calls. Raises `InputError` where none is live as
        `id`, it is another source's or the ticket is another's, and `StorageFault`.
        """
        with self._opened.locked(id=id):
            self._match_accepted()
            return self._registry.unsubscribe(API, id, ticket)

    def renew(
        self, id: str, ticket: str | None = None, until: timedelta | float | datetime | None = None
    ) -> str | None:
        """Give the lease of live subscription `id` another end, as `subscribe` takes it. Return that end, None for
        none. Raises what `unsubscribe` raises, and `InputError` for a lease that cannot be."""
        with self._opened.locked(id=id):
            return self._registry.renew(API, id, ticket, read_lease(until))

    def resync(self, id: str, ticket: str | None = None) -> Sequence[Match]:
        """Tell live subscription `id` of repository scope its present answer again, as ``present``; return that, or
        nothing where it is undecided. Raises what `unsubscribe` raises."""
        with self._opened.locked(id=id):
            self._match_accepted()
            return self._publishing.told_again(self._registry.resync(API, id, ticket))

    # ---- knowing ----------------------------------------------------------------------------------------------------

    def load_taxonomy(self, data: bytes | str, media_type: str | None = None, broader: bool = False) -> LoadedTaxonomy:
        """Replace the taxonomy: publications from the next on are matched with it, earlier ones are not matched again.
        What it changes in the answers of repository scope is told at once.

        ``rdfs:subClassOf``, ``rdfs:subPropertyOf`` and ``rdf:type`` between IRIs are taken, with `broader` also
        ``skos:broader``; an empty document takes the taxonomy away. Raises `DocumentRejected`, `TaxonomyCycle`, which
        shows the cycle, `InputError` for one whose closures would be too large, and `StorageFault`: then nothing has
        changed.
        """
        self._opened.check()
        taxonomy = parse_taxonomy(self._parser, [document_of(data, media_type, None, False)], broader)
        with self._lock:
            self._match_accepted()
            loaded = LoadedTaxonomy.of(taxonomy, self._journal.load_taxonomy(taxonomy))
            return self._publishing.taught(loaded)

    def load_schema(self, data: bytes | str, media_type: str | None = None) -> LoadedSchema:
        """Replace the schema of rules: those registered from now on are read with it, and its strong references hold.

        ``rdfs:domain``, ``rdfs:range``, ``rdfs:subClassOf`` and declared classes and properties are taken, between
        IRIs, and ``urn:triplecast:mdv:setValued`` and ``urn:triplecast:mdv:strong`` with true; an empty document takes
        the schema away. Raises `DocumentRejected`, `InputError` and `StorageFault`: then nothing has changed.
        """
        self._opened.check()
        schema = parse_schema(self._parser, [document_of(data, media_type, None, False)])
        with self._lock:
            self._match_accepted()
            return LoadedSchema.of(schema, self._journal.load_schema(schema))

    # ---- publishing -------------------------------------------------------------------------------------------------

    def publish(
        self,
        data: bytes | str,
        media_type: str | None = None,
        graph: str | None = None,
        attachments: Mapping[str, bytes] | None = None,
        dataset: bool = False,
        split: str | None = None,
    ) -> Receipt:
        """Accept a document and match what it brings. Without `graph` it is named by its content, a feed by
        what it says that it is (docs/formats.md). `attachments` are what operators look at beside its triples, by IRI:
        a publication has those that came with its document; of a document with several publications, each has those
        whose IRI is in its triples. `split`, a class or a query, cuts the document at its instances or results: each is
        a publication, and one that a later version lacks is removed (docs/split-documents.md).

        It returns when operators have answered or failed, too; of each 1,000 publications, what is decided without
        them is in the outbox before (`notifications`). A document that cannot be read is in `Receipt.rejects`. Raises
        `StorageFault`; after `StorageFull` nothing was accepted, or it was accepted and the next call matches it.
        Threads that call it at once share a transaction and its sync.
        """
        self._opened.check_open()
        self._current_operators()
        return self._publishing.one(document_of(data, media_type, graph, dataset, attachments, split))

    def publish_many(self, documents: Iterable[Document]) -> list[Receipt]:
        """A receipt for each document, in order. Documents are committed two hundred at a time, each group wholly.

        Raises `StorageFault`, `InputError`, for what is no document TypeError: their `receipts` are those of the groups
        before. Of the group that failed all or nothing was accepted, and the next call matches it; so publish the
        documents without a receipt again: those unchanged have their matches in these receipts, as in the outbox, but
        for those whose operators were being called."""
        self._opened.check()
        self._current_operators()
        receipts: list[Receipt] = []
        try:
            for group in self._publishing.many(documents):
                receipts += group
        except BaseException as error:
            vars(error)["receipts"] = tuple(receipts)  # also a TypeError, Ctrl-C, and what `documents` itself raises
            raise
        return receipts

    def remove(self, graph: str) -> Receipt | None:
        """Remove the current document of `graph`, and what it was cut into: its next one is a new version. Return a
        receipt with the `removals` and what they change in the answers of repository scope, None where there was none.
        Raises `StorageFault`, and `InputError` for half a character and for what a local repository holds."""
        with self._opened.locked(graph=graph):
            self._match_accepted()
            dropped = self._journal.remove(graph)
            return self._publishing.removed(dropped) if dropped.removed or dropped.restored else None

    # ---- asking -----------------------------------------------------------------------------------------------------

    def explain(
        self,
        data: bytes | str,
        id: str,
        media_type: str | None = None,
        graph: str | None = None,
        dataset: bool = False,
        attachments: Mapping[str, bytes] | None = None,
    ) -> tuple[Explanation, ...]:
        """Why each publication in `data` matches the live subscription `id`, or where it fails. Nothing is accepted.
        For the latest version of a graph, operator results are those recorded when it was matched. Otherwise operators
        are called, and nothing is recorded: the explanation says where an operator that is not pure may now differ.
        Raises `DocumentRejected` where there is nothing to explain.
        """
        self._opened.check_names(id=id)
        subscription = self._registry.live(id).subscription
        (parsed,) = self._parser.parse([document_of(data, media_type, graph, dataset, attachments)])
        at, operators = time_text(read_clock(self._clock)), self._current_operators()
        return explain_document(subscription, parsed, at, self._journal, operators, self._explainer)

    def explain_rule(self, id: str) -> RuleDecomposition:
        """How the live rule `id` is taken apart into triggering parts and joins, and how many other live rules have
        each. Raises `InputError` where there is no live rule `id`, and `StorageFault`."""
        self._opened.check_names(id=id)
        return decompose_rule(self._journal, id)

    def preview(self, text: str, last: int = 1000, language: str = "sparql", entailment: str | None = None) -> Preview:
        """What a subscription would have matched among the `last` publications, or as many as `BYTES_AT_ONCE` holds.
        Calls that write wait for it. Raises what `subscribe` raises."""
        self._opened.check()
        subscription = self._registry.bind_preview(Subscription("preview", text, language, PUBLICATION, entailment))
        admission = admit_preview(subscription, self._current_operators(), self._registry.has_taxonomy)
        with self._lock:
            return preview_subscription(subscription, admission, last, self._journal, self._matcher, self._asker)

    def query(
        self, text: str, language: str = "sparql", steps: int = QUERY_STEPS, entailment: str | None = None
    ) -> Answer:
        """Evaluate a query over the current documents: all of them merged, and each as a named graph (semantics 2.5),
        with the `entailment` that `subscribe` takes.

        Return the solutions of SELECT, whether ASK has one, or the triples of CONSTRUCT. Calls that write wait for it.
        Raises `QuerySyntaxError`, `QueryRefused`, `StorageFault`, and `QueryTooLarge` where `steps` do not suffice."""
        with self._opened.locked(text=text, language=language):
            self._match_accepted()
            if language == RULE:
                text = self._registry.bind_preview(Subscription("query", text, language)).text
            return self._querying.query(text, language, steps, time_text(read_clock(self._clock)), entailment)

    def notifications(
        self,
        since: Cursor | str | int = 0,
        limit: int | None = None,
        subscription: str | None = None,
        owner: str | None = None,
    ) -> Iterator[Notification]:
        """The notifications after `since` (a sequence, or the `cursor` of one), in order, at most `limit`, of one id or
        owner if given. Reading raises `StorageFault`; `InputError` for a place of another epoch or beyond the last."""
        self._opened.check_names(subscription=subscription, owner=owner)
        # by `self`, so that the engine stays, and its folder open, while they are read
        definitions = Definitions(lambda ids: self._journal.registrations(ids), self._current_operators())
        return self._outbox.notifications(since, limit, subscription, owner, definitions)

    def follow(
        self,
        since: Cursor | str | int = 0,
        subscription: str | None = None,
        owner: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[Notification]:
        """What `notifications` gives, and then each one as it is recorded: it waits, until the engine is closed, or
        `timeout` seconds went by without one. It keeps the engine while it waits. Reading raises the same."""
        self._opened.check_names(subscription=subscription, owner=owner)
        page = partial(self.notifications, limit=None, subscription=subscription, owner=owner)
        return follow_open(self._outbox, self._opened, Cursor.of(since), page, timeout)

    def subscriptions(self, owner: str | None = None) -> Iterator[LiveSubscription]:
        """Those that are live now, in order of registration; only those of `owner` where one is given. What changes
        while they are read is not seen. Reading raises `StorageFault`."""
        self._opened.check_names(owner=owner)
        self._current_operators()
        return self._registry.subscriptions(owner)

    def statistics(self) -> Statistics:
        """The live subscriptions by cost and by what decides them, and what this engine has matched since it was
        opened. Bring the index up to date, as the next publication would. Raises `StorageFault`."""
        with self._opened.locked():
            self._journal.end_leases()
            self._registry.follow()
            standing = sum(1 for _ in standing_registrations(self._journal))
            return Statistics(replace(take_census(self._upkeep.snapshot), repository=standing), self._matching.work)

    def rejects(self, after: int = 0) -> list[Rejected]:
        """What was rejected at journal positions beyond `after`, in order; kept for as long as the journal is."""
        self._opened.check()
        return self._journal.rejects(after)

    def undecided(self, after: int = 0) -> list[UndecidedPair]:
        """Pairs that could not be decided, of publications at journal positions beyond `after`, in order."""
        self._opened.check()
        return self._outbox.undecided(after)

    def prune(self, sequence: int) -> int:
        """Forget notifications up to `sequence`, which their subscribers have, and the undecided pairs before them.
        Return how many notifications went. Raises `StorageFault`; what went until then is gone.
        """
        with self._opened.locked():
            return self._outbox.prune(sequence)

    def prune_undecided(self, upto: int) -> int:
        """Forget undecided pairs of publications at journal positions up to `upto`; return how many. Raises
        `StorageFault`."""
        with self._opened.locked():
            return self._outbox.prune_undecided(upto)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _current_operators(self) -> OperatorSet:
        """Return those that queries may call; where none were given, with those declared meanwhile."""
        if self._given is None and (declared := declared_operators()) is not self._declared:
            with self._lock:
                self._declared = declared
                self._operators = declared.with_recorded(self._journal.operators())
                self._matcher.operators = self._asker.performer.operators = self._operators
        return self._operators

    def _subscribe(
        self, subscriptions: Sequence[Subscription], lease: timedelta | float | datetime | None, named: bool = True
    ) -> list[Subscribed | Refusal]:
        """Register subscriptions, after all that was published before them is matched."""
        end = read_lease(lease)
        self._opened.check()
        self._current_operators()
        with paused_collection(len(subscriptions)):
            candidates = self._registry.examine_all(subscriptions, named)
            with self._lock:
                self._match_accepted()
                outcomes = self._registry.change(API, candidates, lease=end, tickets=True)
                return self._publishing.told_first(outcomes)

    def _match_accepted(self) -> None:
        """Match what the journal has and the outbox has not, and tell the documents that were accepted last by a call
        that raised."""
        self._current_operators()
        self._publishing.match_accepted()
