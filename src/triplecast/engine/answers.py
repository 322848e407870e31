"""Matches of both scopes in one batch: those of publications, and what their events changed in standing answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from triplecast.incremental import AnswerChanged, EventAnswers
from triplecast.kernels.render import join_sheets
from triplecast.model.match import CHANGE_NUMBER, MatchedBatch, MatchRows, Undecided, changed_bindings
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxBatch

NOTHING_MATCHED = MatchedBatch(*MatchRows.of((), (), ()))


def batch_of_answers(answers: Sequence[EventAnswers]) -> OutboxBatch:
    """What the outbox takes of answers alone."""
    return OutboxBatch.of(*with_answers((), NOTHING_MATCHED, answers))


def with_answers(
    publications: Sequence[Publication], matched: MatchedBatch, answers: Sequence[EventAnswers]
) -> tuple[Sequence[Publication], MatchedBatch]:
    """The events of a batch by position, as notifications name them, and all that is told of them. `answers` are of
    events within it."""
    if not answers:
        return publications, matched
    events = {each.position: each for each in (*publications, *(event.name for event in answers))}
    ordered = [events[position] for position in sorted(events)]
    places = {each.position: place for place, each in enumerate(ordered)}
    of_batch = np.array([places[each.position] for each in publications], np.int32)
    rows = [
        (places[event.name.position], each.registration, *_told(each, event.removal))
        for event in answers
        for each in event.changed
    ]
    more = MatchRows.of([row[0] for row in rows], [row[1] for row in rows], [row[3] for row in rows])
    publication, registration, sheet, offsets, text = more
    change = np.array([row[2] for row in rows], np.uint8)
    if len(matched):
        publication = np.concatenate([of_batch[matched.publication], publication])
        registration = np.concatenate([matched.registration, registration])
        change = np.concatenate([matched.change, change])
        parts = [(matched.sheet, matched.offsets, matched.bindings), (sheet, offsets, text)]
        sheet, offsets, text = join_sheets(parts)
    order = np.lexsort((registration, publication))
    undecided = [replace(pair, publication=int(of_batch[pair.publication])) for pair in matched.undecided]
    undecided += [
        Undecided(places[event.name.position], each.registration, each.reason, event.removal)
        for event in answers
        for each in event.undecided
    ]
    return ordered, replace(
        matched,
        publication=publication[order],
        registration=registration[order],
        sheet=sheet[order],
        offsets=offsets,
        bindings=text,
        undecided=tuple(sorted(undecided, key=lambda pair: (pair.publication, pair.registration))),
        change=change[order],
    )


def _told(change: AnswerChanged, removal: bool) -> tuple[int, bytes]:
    """The number of a change, and its text."""
    added, removed = change.added, change.removed
    if change.changed or (added and removed):
        return CHANGE_NUMBER["changed", removal], changed_bindings(added, removed, change.changed)
    return (CHANGE_NUMBER["added", removal], added) if added else (CHANGE_NUMBER["removed", removal], removed)
