"""What the engine gives back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from triplecast.journal import Accepted
from triplecast.model.events import Removal
from triplecast.model.html import table_html
from triplecast.model.match import MatchStats
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Reject
from triplecast.model.subscription import Subscription, SubscriptionCounts
from triplecast.results import Answered, Recorded
from triplecast.schema import RdfSchema
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

    def _repr_html_(self) -> str:
        counts = ((name, getattr(part, name)) for part in (self.live, self.work) for name in part.__slots__)
        return table_html("live subscriptions, and work since opening", ("count", ""), counts)


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
    matches: Sequence[Match] = ()
    """What it changes in the answers of repository scope."""
    undecided: Sequence[UndecidedMatch] = ()

    @classmethod
    def of(cls, taxonomy: Taxonomy, position: int) -> LoadedTaxonomy:
        subclasses, subproperties, broader, types = map(taxonomy.count, (SUB_CLASS, SUB_PROPERTY, BROADER, TYPE))
        return cls(position, subclasses, subproperties, broader, types)


@dataclass(frozen=True, slots=True)
class LoadedSchema:
    """What became of a schema."""

    position: int
    """The journal position from which it holds; that of the load before where it says the same."""
    classes: int
    """Classes that it declares or names; and so on."""
    properties: int
    set_valued: int
    strong: int

    @classmethod
    def of(cls, schema: RdfSchema, position: int) -> LoadedSchema:
        counted = (schema.classes, schema.properties, schema.set_valued, schema.strong)
        return cls(position, *map(len, counted))


@dataclass(frozen=True, slots=True)
class Match(Answered):
    """A subscription that matches a publication, or whose answer over the repository an event changed."""

    subscription: str
    """The subscriber's name for it."""
    registration: int
    publication: str
    """The graph IRI."""
    version: int
    change: str
    """``added``, ``removed``, or ``changed`` for both: what became of the rows."""
    notification: str
    """The notification's id, which never changes."""
    json: str = field(repr=False)
    """The solutions as written in the outbox (`Notification.json`)."""
    definition: Subscription = field(repr=False)
    """As its owner wrote it."""
    operators: OperatorSet = field(repr=False, compare=False)
    """Those that it may call."""

    @property
    def recorded(self) -> Recorded:
        """The answer with its query, as commands show it."""
        return Recorded(self.definition, self.operators, self.json, self.notification, self.change)

    def _repr_html_(self) -> str:
        return self.recorded.html(self.subscription, f"{self.publication} v{self.version}")


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
    """What became of one document: durable when it is given, and matched unless the engine is matched elsewhere."""

    publications: tuple[Accepted, ...]
    """A feed or a dataset gives several; an unchanged one is here too, and was not matched again."""
    matches: Sequence[Match]
    """By publication in order of acceptance, then by registration. Each is made when it is read."""
    rejects: tuple[Reject, ...]
    undecided: Sequence[UndecidedMatch]
    pending: Sequence[UndecidedMatch] = ()
    """Pairs whose operators are unavailable, and why: they are recorded once these are back."""
    removals: tuple[Removal, ...] = ()
    """Which versions ended, each with its journal position: by `Engine.remove`, or as a document that is cut at its
    roots (`split`) has them no longer."""
    warnings: tuple[str, ...] = ()
    """On a document that is probably not what was meant, such as one without triples."""
    is_matched: bool = True
    """Whether `matches`, `undecided` and `pending` are known; else the outbox has them later."""

    def _repr_html_(self) -> str:
        counted = {name: len(getattr(self, name)) for name in self.__slots__[:5]}
        said = (f"{count} {_ONE.get(name, name) if count == 1 else name}" for name, count in counted.items() if count)
        rejects = ((each.source, "rejected", f"{each.reason}; {each.hint}") for each in self.rejects)
        undecided = ((each.publication, each.subscription, each.reason) for each in chain(self.undecided, self.pending))
        rows = chain(match_cells(self.matches), rejects, undecided)
        return table_html(
            ", ".join(said) or "nothing published", (*MATCH_COLUMNS[:2], "first solution, or why there is none"), rows
        )


MATCH_COLUMNS = ("publication", "subscription", "first solution")
_ONE = MappingProxyType({"publications": "publication", "matches": "match", "rejects": "reject"})


def match_cells(matches: Iterable[Match]) -> Iterator[tuple[str, str, str]]:
    """What a notebook shows of matches."""
    return ((each.publication, each.subscription, each.recorded.first()) for each in matches)
