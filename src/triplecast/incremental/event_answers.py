"""What is told of the answers to standing queries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.incremental.asked_graph import MOST_HELD
from triplecast.incremental.changed_resources import MOST_REACHED
from triplecast.incremental.decided_index import PlainRows, rows_of
from triplecast.incremental.difference import AnswerChange, AnswerRow, change_text, rows_among
from triplecast.journal import JournalFile
from triplecast.model.algebra import Expression, Query, from_ntriples
from triplecast.model.events import Event, Removal
from triplecast.model.match import TOO_LONG
from triplecast.model.publication import TAXONOMY, Publication
from triplecast.outbox.batch import PublicationName
from triplecast.repository.held import HELD_TRIPLES
from triplecast.repository.stored_graphs import Source
from triplecast.taxonomy import EntailmentTooLarge


class AnswerChanged(NamedTuple):
    """What an event did to one answer."""

    registration: int
    added: bytes
    """The rows that came, as JSON; empty for none."""
    removed: bytes
    changed: bytes = b""
    """Of a rule, those that stay and whose resource changed (`changed_resources`)."""
    is_present: bool = False
    """Whether the rows are all that there are, told because somebody asked."""
    key: tuple[str, ...] = ()
    """Variables by which a row removed and one added are a row updated."""
    conditions: tuple[Expression, ...] = ()
    """Of an update (`languages.updates`)."""


class AnswerUndecided(NamedTuple):
    registration: int
    reason: str


Decided: TypeAlias = tuple[list[AnswerChanged], list[AnswerUndecided]]
"""What is told of one answer, or why it is undecided."""


class EventAnswers(NamedTuple):
    """What one event did to all answers, by registration."""

    name: PublicationName
    """The version that came or went, or the repository as a subscription found it."""
    removal: bool
    changed: Sequence[AnswerChanged]
    undecided: Sequence[AnswerUndecided]


class RowsTold(NamedTuple):
    """What events of a run did to answers of which the index has the rows; `EventAnswers` say nothing of them."""

    rows: PlainRows
    names: Mapping[int, tuple[PublicationName, bool]]
    """As `EventAnswers` calls the events, by their number in the run, ascending."""


def name_of(event: Event, journal: JournalFile) -> tuple[PublicationName, bool]:
    """What notifications call an event, and whether it is a removal."""
    if isinstance(event, Publication):
        return PublicationName(*event[:4]), False
    if isinstance(event, Removal):
        return PublicationName(event.position, event.graph, event.version, event.removed_at), True
    return name_at(event.position, TAXONOMY, event.position, journal), False


def name_at(position: int, name: str, version: int, journal: JournalFile) -> PublicationName:
    return PublicationName(position, name, version, journal.written_at(position))


def rows_text(rows: Counter[tuple[tuple[str, str], ...]]) -> bytes:
    if not rows:
        return b""
    return json.dumps([dict(row) for row in rows.elements()], ensure_ascii=False, separators=(",", ":")).encode()


def told_of(number: int, query: Query, change: AnswerChange) -> Decided:
    if not change.added and not change.removed:
        return [], []
    added, removed = change_text([variable.name for variable in query.variables], change)
    if added is None or removed is None:
        return [], [AnswerUndecided(number, TOO_LONG)]
    return [AnswerChanged(number, added, removed)], []


def with_changed(
    number: int,
    query: Query,
    decided: Decided,
    resources: tuple[Iterable[str], Iterable[str]] | None,
    after: Callable[[], Source],
    budget: Budget,
) -> Decided:
    """What is told of a rule, with those of the changed resources that stay in its answer: these are in it after the
    event, or may be. None: they are too many."""
    told, unsure = decided
    if unsure:
        return decided
    if resources is None:
        return [], [AnswerUndecided(number, TOO_MANY_CHANGED)]
    (variable,) = query.variables
    found = told[0] if told else AnswerChanged(number, b"", b"")
    new = {row[variable.name] for row in rows_of(found.added)}
    certain, possible = ([(from_ntriples(each),) for each in sorted({*some} - new)] for some in resources)
    try:
        kept = rows_among(query, possible, after(), budget) if possible else set()
    except BEYOND as error:
        return [], [AnswerUndecided(number, reason_of(error))]
    rows: Counter[AnswerRow] = Counter(dict.fromkeys([*certain, *kept], 1))
    changed, _ = change_text([variable.name], AnswerChange(rows, Counter()))
    if changed is None:
        return [], [AnswerUndecided(number, TOO_LONG)]
    return ([found._replace(changed=changed)], []) if changed else decided


TOO_MANY_CHANGED = f"its resources: more than {MOST_REACHED:,} refer strongly to what changed"
TOO_LARGE = f"its answer in the stored documents: {EntailmentTooLarge()}, of one resource"
AS_TOLD = "its answer in the stored documents: it was undecided when this was told first"
LOST = (
    f"its answer in the stored documents: since it was decided, more than {HELD_TRIPLES:,} triples have changed, or "
    f"after {MOST_HELD} events answers are owed; subscribe again"
)
BEYOND = (BudgetExceeded, EntailmentTooLarge, RecursionError, MemoryError)


def reason_of(error: BaseException) -> str:
    if isinstance(error, BudgetExceeded | EntailmentTooLarge):
        return f"its answer in the stored documents: {error}"
    return "its answer in the stored documents: nested too deeply, or more than memory holds"
