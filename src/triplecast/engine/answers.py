"""What events changed in standing answers, as rows of the outbox."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from triplecast.incremental import AnswerChanged, EventAnswers, RowsTold
from triplecast.kernels.render import join_sheets
from triplecast.model.match import CHANGE_NUMBER, changed_bindings
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import NOTHING, OutboxBatch, OutboxRow, PublicationName
from triplecast.telling.conditions import hold_to_conditions
from triplecast.telling.rows import changed_text, pair_updates

_ONE_SIDED = np.array(
    [[CHANGE_NUMBER[word, by_removal] for by_removal in (False, True)] for word in ("added", "removed")], np.uint8
)
"""The numbers of changes, by whether rows went and whether the event is a removal."""


def answers_batch(answers: Sequence[EventAnswers | RowsTold]) -> OutboxBatch:
    """All that is told of events, in order of position."""
    if not answers:
        return NOTHING
    events = [each for each in answers if isinstance(each, EventAnswers)]
    return OutboxBatch.merged(
        [_batch_of(events), *(_rows_told(each) for each in answers if isinstance(each, RowsTold))]
    )


def _rows_told(told: RowsTold) -> OutboxBatch:
    places = [*told.names]
    number = dict(zip(places, range(len(places)), strict=True))
    names = [PublicationName(*told.names[each][0][:4]) for each in places]
    event = np.fromiter(map(number.__getitem__, told.events), np.int64, len(told.events))
    by_removal = np.array([told.names[each][1] for each in places], np.int64)[event]
    position = np.array([each.position for each in names], np.int64)[event]
    registration = np.array(told.registrations, np.int64)
    order = np.lexsort((registration, position))
    return OutboxBatch(
        tuple(sorted(names)),
        position[order],
        registration[order],
        _ONE_SIDED[told.gone.astype(np.int64), by_removal][order],
        *join_sheets([(told.sheet[order], told.offsets, told.text)]),
    )


def _batch_of(answers: Sequence[EventAnswers]) -> OutboxBatch:
    names = {int(event.name.position): PublicationName(*event.name[:4]) for event in answers}
    rows = [
        OutboxRow(event.name.position, each.registration, *_told(each, event.removal))
        for event in answers
        for each in sorted(event.changed)
    ]
    undecided = sorted(
        PairReason(event.name.position, each.registration, each.reason, event.removal)
        for event in answers
        for each in event.undecided
    )
    told = OutboxBatch.of_rows(rows, names, tuple(undecided))
    changes = (each for event in answers for each in event.changed)
    conditions = {each.registration: each.conditions for each in changes if each.conditions and not each.is_present}
    return hold_to_conditions(told, conditions) if conditions else told


def _told(answer: AnswerChanged, removal: bool) -> tuple[int, str]:
    """The number of a change, and its text."""
    added, removed, changed = answer.added, answer.removed, answer.changed
    if answer.is_present:
        return CHANGE_NUMBER["present", False], added.decode()
    if added and removed and answer.key:
        rows = pair_updates(json.loads(added), json.loads(removed), answer.key, {}, {})
        word, text = changed_text(*rows, changed)
        return CHANGE_NUMBER[word, removal], text.decode()
    if changed or (added and removed):
        return CHANGE_NUMBER["changed", removal], changed_bindings(added, removed, changed=changed).decode()
    return CHANGE_NUMBER["added" if added else "removed", removal], (added or removed).decode()
