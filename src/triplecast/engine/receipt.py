"""What the engine gives back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from pyoxigraph import Triple

from triplecast.evaluate.solutions import construct
from triplecast.ingest import ParsedDocument
from triplecast.journal import Acceptance, Accepted
from triplecast.languages import parse_query
from triplecast.model.algebra import Term, from_ntriples
from triplecast.model.events import Removal
from triplecast.model.match import CHANGES, MatchedBatch, MatchStats, notification_id
from triplecast.model.open_rows import PairReason
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Publication, Reject
from triplecast.model.subscription import Subscription, SubscriptionCounts
from triplecast.taxonomy import Taxonomy
from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, SUB_PROPERTY, TYPE


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of an engine."""

    standing: SubscriptionCounts
    """Who is live."""
    work: MatchStats
    """What was matched since the engine was opened, and what it took; retrying pending pairs counts only what it
    adds."""


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
    """The subscription as its owner wrote it."""
    operators: OperatorSet = field(repr=False, compare=False)
    """Those that it may call."""

    @property
    def bindings(self) -> list[dict[str, Term]]:
        """The solutions in canonical order; an unbound variable is absent. Decoded at each call."""
        solutions = json.loads(self.json)
        return [{name: from_ntriples(term) for name, term in solution.items()} for solution in solutions]

    @property
    def graph(self) -> list[Triple]:
        """The triples of a ``CONSTRUCT``, sorted by their text, each once; none for another form. Made at each call."""
        query = parse_query(self.definition.text, self.definition.language, self.definition.name, self.operators)
        return construct(query.template, self.bindings, self.notification)


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
    """Pairs that need unavailable operators, and why those are; they are recorded in the outbox once decided."""
    removal: Removal | None = None
    """Of `Engine.remove`: which version ended, and the journal position at which it did."""

    @classmethod
    def of_removal(cls, removal: Removal) -> Receipt:
        return cls((), (), (), (), (), removal)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a subscription would have matched."""

    publications: int
    """How many were looked at, the newest ones."""
    matches: tuple[Match, ...]
    """Its registration is 0 and its notification ids are nobody's."""
    undecided: tuple[UndecidedMatch, ...]
    cost: str
    warnings: tuple[str, ...]
    seconds: float
    """Between the acceptance of the first and the last publication looked at."""

    @property
    def share(self) -> float:
        """Matches per publication; 0 when there was none to look at."""
        return len(self.matches) / self.publications if self.publications else 0.0

    @property
    def per_day(self) -> float | None:
        """Matches to expect a day, if publications keep coming as they did; None when their times do not tell."""
        return len(self.matches) * 86_400 / self.seconds if self.seconds > 0 else None


class Findings:
    """What matching gave for the documents of one group, by journal position."""

    def __init__(self) -> None:
        self._matches: dict[int, list[Match]] = {}
        self._undecided: dict[int, list[UndecidedMatch]] = {}
        self._pending: dict[int, list[UndecidedMatch]] = {}

    def add(
        self,
        publications: Sequence[Publication],
        matched: MatchedBatch,
        subscriptions: Mapping[int, Subscription],
        operators: OperatorSet,
    ) -> None:
        for position, match in matches_of(publications, matched, subscriptions, operators):
            self._matches.setdefault(position, []).append(match)
        for pairs, found in (
            (matched.undecided_at(publications), self._undecided),
            (matched.open.awaited(), self._pending),
        ):
            for pair, named in zip(pairs, undecided_of(publications, pairs, subscriptions), strict=True):
                found.setdefault(pair.position, []).append(named)

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
            )


def matches_of(
    publications: Sequence[Publication],
    matched: MatchedBatch,
    subscriptions: Mapping[int, Subscription],
    operators: OperatorSet,
) -> Iterator[tuple[int, Match]]:
    """Each match with the position of its publication, in the batch's order."""
    ends = np.cumsum(np.bincount(matched.publication, minlength=len(publications))).tolist()
    offsets = matched.bindings_offsets.tolist()
    registrations = matched.registration.tolist()
    bindings = matched.bindings.tobytes()
    for of, start, end in zip(publications, [0, *ends], ends, strict=False):
        for row in range(start, end):
            registration = registrations[row]
            text = bindings[offsets[row] : offsets[row + 1]].decode()
            change = CHANGES[matched.change[row]]
            id = notification_id(of.graph, of.version, registration, change)
            query = subscriptions[registration]
            found = Match(query.name, registration, of.graph, of.version, change, id, text, query, operators)
            yield of.position, found


def undecided_of(
    publications: Sequence[Publication], pairs: Iterable[PairReason], subscriptions: Mapping[int, Subscription]
) -> Iterator[UndecidedMatch]:
    places: dict[int, Publication] = {each.position: each for each in publications}
    for position, registration, reason in pairs:
        of = places[position]
        yield UndecidedMatch(subscriptions[registration].name, registration, of.graph, of.version, reason)
