"""What events changed in standing answers, as rows of the outbox."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from triplecast.incremental import AnswerChanged, EventAnswers, RowsTold
from triplecast.kernels.differing import NONE
from triplecast.kernels.render import join_sheets
from triplecast.model.match import CHANGE_NUMBER, changed_bindings
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import OutboxBatch, OutboxRow
from triplecast.telling.conditions import hold_to_conditions
from triplecast.telling.rows import changed_text, pair_updates

_ONE_SIDED = np.array(
    [[CHANGE_NUMBER[word, by_removal] for by_removal in (False, True)] for word in ("added", "removed")], np.uint8
)
"""The numbers of changes, by whether rows went and whether the event is a removal."""


def answers_batch(answers: Sequence[EventAnswers | RowsTold]) -> OutboxBatch:
    """All that is told of events, in order of position."""
    events = [each for each in answers if isinstance(each, EventAnswers)]
    batches = [_rows_told(each) for each in answers if isinstance(each, RowsTold)]
    return OutboxBatch.merged([_batch_of(events), *batches] if events else batches)


def _rows_told(told: RowsTold) -> OutboxBatch:
    rows, names = told.rows, tuple(name for name, _ in told.names.values())
    of_event = np.array([(name.position, removal) for name, removal in told.names.values()], np.int64)
    position, by_removal = of_event[np.searchsorted(np.array([*told.names], np.int32), rows.events)].T
    change = _ONE_SIDED[(rows.sheets[:, 1] == NONE).view(np.uint8), by_removal]
    sheets = join_sheets([(rows.sheets.max(axis=1), rows.offsets, rows.text)])
    return OutboxBatch(names, np.ascontiguousarray(position), rows.registrations, change, *sheets)


def _batch_of(answers: Sequence[EventAnswers]) -> OutboxBatch:
    names = {event.name.position: event.name for event in answers}
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
