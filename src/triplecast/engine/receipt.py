"""What the engine gives back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pyoxigraph import Triple

from triplecast.ingest import ParsedDocument
from triplecast.journal import Acceptance, Accepted
from triplecast.model.algebra import Term
from triplecast.model.events import Removal
from triplecast.model.match import CHANGES, MatchedBatch, MatchStats, notification_id
from triplecast.model.open_rows import PairReason
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Publication, Reject
from triplecast.model.subscription import Subscription, SubscriptionCounts
from triplecast.results import Recorded, read_bindings
from triplecast.taxonomy import Taxonomy
from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, SUB_PROPERTY, TYPE


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of an engine."""

    live: SubscriptionCounts
    """Counts of live subscriptions."""
    work: MatchStats
    """What was matched since the engine was opened, and what it took. A publication whose operators were unavailable
    at first counts once; what they add later is added."""


@dataclass(frozen=True, slots=True)
class LoadedTaxonomy:
    """What became of a taxonomy."""

    position: int
    """The journal position from which it holds; that of the load before where it says the same."""
    subclasses: int
    """Statements of ``rdfs:subClassOf`` that were taken; and so on."""
    subproperties: int
    broader: int
    types: int

    @classmethod
    def of(cls, taxonomy: Taxonomy, position: int) -> LoadedTaxonomy:
        return cls(position, *(taxonomy.count(word) for word in (SUB_CLASS, SUB_PROPERTY, BROADER, TYPE)))


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription that matches a publication."""

    subscription: str
    """The subscriber's name for it."""
    registration: int
    publication: str
    """The graph IRI."""
    version: int
    change: str
    notification: str
    """The notification's id, which never changes."""
    json: str = field(repr=False)
    """The solutions as written in the outbox."""
    definition: Subscription = field(repr=False)
    """As its owner wrote it."""
    operators: OperatorSet = field(repr=False, compare=False)
    """Those that it may call."""

    @property
    def bindings(self) -> list[dict[str, Term]]:
        """The solutions in canonical order; an unbound variable is absent. Decoded at each call."""
        return read_bindings(self.json)

    @property
    def answer(self) -> dict[str, object]:
        """The solutions in SPARQL 1.1 Query Results JSON. Made at each call."""
        return self.recorded.answer

    @property
    def graph(self) -> list[Triple]:
        """The triples of a ``CONSTRUCT``, sorted by their text, each once; none for another form. Made at each call."""
        return self.recorded.graph

    @property
    def recorded(self) -> Recorded:
        """The answer with its query, as commands show it."""
        return Recorded(self.definition, self.operators, self.json, self.notification)


@dataclass(frozen=True, slots=True)
class UndecidedMatch:
    """A pair that could not be decided, and why."""

    subscription: str
    registration: int
    publication: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one document: durable and matched when it is given."""

    publications: tuple[Accepted, ...]
    """A feed or a dataset gives several; an unchanged one is here too, and was not matched again."""
    matches: tuple[Match, ...]
    """By publication in order of acceptance, then by registration."""
    rejects: tuple[Reject, ...]
    undecided: tuple[UndecidedMatch, ...]
    pending: tuple[UndecidedMatch, ...] = ()
    """Pairs whose operators are unavailable, and why: they are recorded once these are back."""
    removal: Removal | None = None
    """Of `Engine.remove`: which version ended, and the journal position at which it did."""
    warnings: tuple[str, ...] = ()
    """On a document that is probably not what was meant, such as one without triples."""

    @classmethod
    def of_removal(cls, removal: Removal) -> Receipt:
        return cls((), (), (), (), (), removal)


class Findings:
    """What matching gave for the documents of one group, by journal position."""

    def __init__(self) -> None:
        self._matches: defaultdict[int, list[Match]] = defaultdict(list)
        self._undecided: defaultdict[int, list[UndecidedMatch]] = defaultdict(list)
        self._pending: defaultdict[int, list[UndecidedMatch]] = defaultdict(list)

    def add(
        self,
        publications: Sequence[Publication],
        matched: MatchedBatch,
        subscriptions: Mapping[int, Subscription],
        operators: OperatorSet,
    ) -> None:
        for position, match in matches_of(publications, matched, subscriptions, operators):
            self._matches[position].append(match)
        for position, pair in undecided_of(publications, matched.undecided_at(publications), subscriptions):
            self._undecided[position].append(pair)
        for position, pair in undecided_of(publications, matched.open.awaited(), subscriptions):
            self._pending[position].append(pair)

    def share_out(self, parsed: Sequence[ParsedDocument], acceptance: Acceptance) -> Iterator[Receipt]:
        """The receipt of each document; what was unchanged belongs to who brought it first."""
        accepted = iter(acceptance.accepted)
        for result in parsed:
            publications = tuple(islice(accepted, len(result.drafts)))
            new = [publication.position for publication in publications if publication.outcome == "accepted"]
            yield Receipt(
                publications,
                tuple(match for position in new for match in self._matches.get(position, ())),
                result.rejects,
                tuple(pair for position in new for pair in self._undecided.get(position, ())),
                tuple(pair for position in new for pair in self._pending.get(position, ())),
                warnings=result.warnings,
            )


def matches_of(
    publications: Sequence[Publication],
    matched: MatchedBatch,
    subscriptions: Mapping[int, Subscription],
    operators: OperatorSet,
) -> Iterator[tuple[int, Match]]:
    """Each match with the position of its publication, in the batch's order."""
    bindings, offsets = matched.bindings.tobytes(), matched.bindings_offsets
    columns = (matched.publication, matched.registration, matched.change, offsets[:-1], offsets[1:])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for place, registration, number, start, end in rows:
        of, query, change = publications[place], subscriptions[registration], CHANGES[number]
        id = notification_id(of.graph, of.version, registration, change)
        text = bindings[start:end].decode()
        match = Match(query.name, registration, of.graph, of.version, change, id, text, query, operators)
        yield of.position, match


def undecided_of(
    publications: Sequence[Publication], pairs: Iterable[PairReason], subscriptions: Mapping[int, Subscription]
) -> Iterator[tuple[int, UndecidedMatch]]:
    places: dict[int, Publication] = {each.position: each for each in publications}
    for position, registration, reason in pairs:
        of = places[position]
        yield position, UndecidedMatch(subscriptions[registration].name, registration, of.graph, of.version, reason)
