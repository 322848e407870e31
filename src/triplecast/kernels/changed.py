"""Which answers differ before and after events, around subjects of the store: from integers to rows in one call.

It is the way of an event by itself, where what the kernels take by the call is most of the time. What they cannot say
alone, `changed_answers` leaves to them and their callers in `triplecast.match`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from triplecast.kernels import hashing, njit
from triplecast.kernels.differing import Rows, differing_answers
from triplecast.kernels.layout import I32, I64, U8
from triplecast.kernels.literals import PENDING
from triplecast.kernels.livetriples import LiveTriples, empty_live, live_with_room
from triplecast.kernels.single import Packed, empty_packed, match_at_once
from triplecast.kernels.stored_views import gather_rows, view_rows
from triplecast.kernels.termbank import TermBank, empty_bank, number_lines
from triplecast.kernels.timeline import Timeline, timeline_of
from triplecast.kernels.triples import SortedTriples, sort_triples

WHOLE, TOO_MANY, UNSAID = 0, 1, 2
"""All that differs is here; there are too many triples of several events together; there is more to it than rows, or no
room. Only what is whole is meant to be read."""


class ChangedLimits(NamedTuple):
    triples: int
    """Of the views of several events."""
    bytes: int
    """That all rows say, and"""
    longest: int
    """those of one pair."""
    pairs: int


ChangedAnswers: TypeAlias = tuple[int, I32, I64, I32, I64, U8]
"""One of the three above, and `DifferingAnswers` by member."""


@njit
def changed_answers(
    stored: SortedTriples,
    live: LiveTriples,
    timeline: Timeline,
    bank: TermBank,
    keys: I64,
    packed: Packed,
    limits: ChangedLimits,
    mask: np.uint64,
) -> ChangedAnswers:
    """The answers of one segment that differ between all triples of subjects before an event and after it; `keys` are
    ascending packed events and subjects."""
    rows = gather_rows(stored, live, timeline, keys, limits.triples)
    if len(rows.triples) > limits.triples and keys[0] >> 32 != keys[len(keys) - 1] >> 32:
        return _unread(TOO_MANY)
    views = view_rows(bank, rows, mask)
    for term in range(len(views.terms.value_class)):
        if views.terms.value_class[term] == PENDING:
            return _unread(UNSAID)
    found = match_at_once(views, packed, limits.bytes, limits.longest, mask)
    if not found[5] or len(found[1]) > limits.pairs:
        return _unread(UNSAID)
    events, members, sheets, offsets, text = differing_answers(
        Rows(found[0], found[1].astype(np.int64), found[2], found[3], found[4])
    )
    return WHOLE, events, members, sheets, offsets, text


@njit
def _unread(state: int) -> ChangedAnswers:
    none = np.empty(0, np.int32)
    return state, none, np.empty(0, np.int64), np.empty((0, 2), np.int32), np.empty(0, np.int64), np.empty(0, np.uint8)


def warm_up() -> None:
    bank, rows, _ = number_lines(empty_bank((1, 2)), b'<x:s> <x:p> "1" .\n')
    stored, _ = sort_triples(rows, bank.size)
    live, timeline = live_with_room(empty_live(1), 100), timeline_of(rows, np.ones(1, np.uint8))
    limits = ChangedLimits(1, 1, 1, 1)
    changed_answers(stored, live, timeline, bank, np.zeros(1, np.int64), empty_packed(), limits, hashing.HASH_MASK)
