"""What matching a batch gives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, attrgetter, sub
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.model.open_rows import NO_OPEN_ROWS, OpenRows, PairReason
from triplecast.model.publication import Publication

if TYPE_CHECKING:
    from triplecast.residual import PublicationConditions

INDEX_SOLUTIONS = 10_000
"""Solutions of a query's patterns in one publication beyond which the index leaves the pair undecided (ASK needs one
only). The kernels state it again for themselves (`kernels.rows.SOLUTIONS_LIMIT`)."""

PAIR_BYTES = 16 << 20
"""Bytes of one pair's answer as JSON; beyond, the pair is undecided."""
TOO_LONG = f"answer: more than {PAIR_BYTES} bytes of bindings"


class AnswerLimits(NamedTuple):
    """What is in memory at once of answers (decision 15)."""

    publication: int = 64 << 20
    """Bytes that the answers of one publication may take, in the order of registration; beyond, pairs are undecided.
    A batch is matched in pieces whose answers take no more together."""
    waiting: int = 16 << 20
    """Bytes, as JSON, of the join rows that wait for operators in one publication; likewise."""
    pairs: int = 250_000
    """Pairs of a piece that match, unless one publication alone has more."""


ANSWER_LIMITS = AnswerLimits()


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pair whose budget ran out or whose evaluation failed: reported, never dropped (semantics 1.6)."""

    publication: int
    """Index into the batch."""
    registration: int
    reason: str
    by_removal: bool = False
    """Whether the event was a removal (`ChangeKind.by_removal`)."""


_PUBLICATIONS, _REGISTRATIONS = 1 << 20, 1 << 43


def order_pairs(publication: NDArray[np.integer], registration: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order of pairs by publication, then registration; those that are alike stay as they are. Where the pairs are
    some sorted lists one after the other, these are merged."""
    if not len(publication):
        return np.zeros(0, np.int64)
    places = publication.astype(np.int64) - int(publication.min())
    if places.max() >= _PUBLICATIONS or registration.max() >= _REGISTRATIONS:
        return np.lexsort((registration, publication))
    return np.argsort(places * _REGISTRATIONS + registration, kind="stable")


class Pairs(NamedTuple):
    """Pairs of publications (index into the batch) and members of one segment."""

    publication: NDArray[np.int32]
    member: NDArray[np.int32]


class MatchRows(NamedTuple):
    """Matches as columns; row i has the JSON ``text[offsets[sheet[i]]:offsets[sheet[i] + 1]]``."""

    publication: NDArray[np.int32]
    """Index into the batch."""
    registration: NDArray[np.int64]
    sheet: NDArray[np.int32]
    offsets: NDArray[np.int64]
    text: NDArray[np.uint8]

    @property
    def length(self) -> NDArray[np.int64]:
        """Of the JSON of each row, in bytes."""
        return np.diff(self.offsets)[self.sheet]

    @classmethod
    def of(cls, publication: Sequence[int], registration: Sequence[int], bindings: Sequence[bytes]) -> MatchRows:
        """Matches with the JSON of each."""
        return cls(
            np.array(publication, np.int32),
            np.array(registration, np.int64),
            np.arange(len(bindings), dtype=np.int32),
            np.cumsum([0, *map(len, bindings)], dtype=np.int64),
            np.frombuffer(bytearray().join(bindings), np.uint8),
        )


class Learnt(NamedTuple):
    """What was learnt of one template of conditions that ask operators: of one batch, or all in all."""

    template: str
    """Its text (`residual.templates.ConditionTemplate`)."""
    hint: float
    """Seconds that its operators' declarations expect."""
    answered: float
    """How often it was true or false."""
    held: float
    timed: float
    """How often it was measured."""
    seconds: float
    """What these took together."""


@dataclass(frozen=True, slots=True)
class MatchStats:
    """Work counted while matching a batch."""

    publications: int = 0
    keys: int = 0
    """Distinct index keys that the publications hit."""
    touched: int = 0
    """Structures looked at."""
    joins: int = 0
    """Structures joined."""
    combined: int = 0
    """Pairs that match by what is made of the rows of the index's joins (`compile.combination`)."""
    calculated: int = 0
    """Of those, pairs that match by conditions or values calculated after the join (`residual`)."""
    candidates: int = 0
    """Pairs handed to the evaluator because the index alone could not decide them."""
    verified: int = 0
    """Of those, pairs that match."""
    matches: int = 0
    """All: what is not `combined`, `verified` or `operated` was decided by one join of the index."""
    undecided: int = 0
    operator_calls: int = 0
    """Ground calls of operators that were made, or skipped in quarantine."""
    operator_failures: int = 0
    """Of those."""
    operated: int = 0
    """Pairs that match by rows of the index and by operators, called or not needed; those that the evaluator decided
    are `verified`."""

    def __add__(self, other: MatchStats) -> MatchStats:
        return MatchStats(*map(add, _counts(self), _counts(other)))

    def __sub__(self, other: MatchStats) -> MatchStats:
        return MatchStats(*map(sub, _counts(self), _counts(other)))


_counts = attrgetter(*MatchStats.__slots__)


NO_CONDITIONS: Mapping[int, PublicationConditions] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MatchedBatch:
    """Matches of a batch, sorted by (publication, registration); row i has bindings
    ``bindings[offsets[sheet[i]]:offsets[sheet[i] + 1]]``: UTF-8 JSON, a list of objects from variable name to the
    N-Triples form of its term, keys sorted, solutions in canonical order (semantics 1.4), no white space. A row that
    is ``changed`` has two such lists (`changed_bindings`)."""

    publication: NDArray[np.int32]
    registration: NDArray[np.int64]
    sheet: NDArray[np.int32]
    """Rows with the same bindings may share theirs."""
    offsets: NDArray[np.int64]
    """[sheets + 1]"""
    bindings: NDArray[np.uint8]
    undecided: tuple[Undecided, ...] = ()
    open: OpenRows = NO_OPEN_ROWS
    """Pairs that wait for operators."""
    stats: MatchStats = field(default_factory=MatchStats)
    conditions: Mapping[int, PublicationConditions] = field(default_factory=lambda: NO_CONDITIONS)
    """By position, what these pairs wait for: to call their operators in this process; it is never stored."""
    change: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Of each row, by its number in `CHANGES`; given as empty for additions alone, as in publication scope."""

    def __post_init__(self) -> None:
        if not len(self.change):
            object.__setattr__(self, "change", np.zeros(len(self.publication), np.uint8))

    def __len__(self) -> int:
        return len(self.publication)

    @property
    def rows(self) -> MatchRows:
        return MatchRows(self.publication, self.registration, self.sheet, self.offsets, self.bindings)

    def undecided_at(self, publications: Sequence[Publication]) -> tuple[PairReason, ...]:
        """The undecided pairs by position; `publications` are those of the batch."""
        return tuple(
            PairReason(publications[pair.publication].position, pair.registration, pair.reason, pair.by_removal)
            for pair in self.undecided
        )

    def bindings_of(self, row: int) -> bytes:
        sheet = self.sheet[row]
        return self.bindings[self.offsets[sheet] : self.offsets[sheet + 1]].tobytes()


class ChangeKind(NamedTuple):
    """What a notification says of its rows, and of which event."""

    word: str
    """``added``, ``removed``, or ``changed``: some rows were added and others removed, or resources of a rule changed;
    ``present``: they are all that there are, told because somebody asked."""
    by_removal: bool
    """Whether the event is the removal of the version that the notification names, not its publication."""
    suffix: str
    """The end of the notification's id, by which those of a version's two events differ."""


CHANGES = (
    ChangeKind("added", False, ""),
    ChangeKind("removed", False, "-removed"),
    ChangeKind("changed", False, "-changed"),
    ChangeKind("added", True, "-end"),
    ChangeKind("removed", True, "-end-removed"),
    ChangeKind("changed", True, "-end-changed"),
    ChangeKind("present", False, "-present"),
)
"""By the number that columns have for them, which is stored."""

CHANGE_NUMBER: Mapping[tuple[str, bool], int] = MappingProxyType(
    {(kind.word, kind.by_removal): number for number, kind in enumerate(CHANGES)}
)
"""By word, and whether the event is a removal."""


def changed_bindings(added: bytes, removed: bytes, updated: bytes = b"", changed: bytes = b"") -> bytes:
    """Return the bindings of a row that is ``changed``; those of the other words are the list of solutions alone.
    `updated`: pairs of solutions, before and after; `changed`: solutions that stay, of a rule; empty for none."""
    more = (b',"updated":%b' % updated if updated else b"") + (b',"changed":%b' % changed if changed else b"")
    return b'{"added":%b,"removed":%b%b}' % (added or b"[]", removed or b"[]", more)


def publication_key(graph: str, version: int) -> str:
    """Return the part of a notification id that all notifications of one publication share: 32 hexadecimal digits."""
    return hashlib.blake2b(f"added\n{version}\n{graph}".encode(), digest_size=16).hexdigest()


def pair_id(key: str, registration: int, change: int = 0) -> str:
    """Return the id of a notification of the publication that has `key`; `change` is its number in `CHANGES`."""
    return f"{key}-{registration}{CHANGES[change].suffix}"


def notification_id(graph: str, version: int, registration: int, change: int = 0) -> str:
    """Return the one permanent id of (registration, graph, version, change) (semantics 9.6)."""
    return pair_id(publication_key(graph, version), registration, change)
