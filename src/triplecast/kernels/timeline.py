"""What a run of events changed in the store, so that the store as after any of them can be read behind the last.

The changes of a subject, and of an object, are in chains by hash, the earliest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64, U8
from triplecast.kernels.livetriples import (
    LiveTriples,
    empty_live,
    find_fitting,
    live_with_room,
    reach_fitting,
    release,
    retain,
)
from triplecast.kernels.triples import ANY, SortedTriples, sort_triples

_SUBJECT, _OBJECT = 0, 1
_LEAST_SLOTS = 16
SKIPPED = -3
"""In a step: no predicate is followed."""
_STEP = np.uint64(0x9E3779B97F4A7C15)


class Replacements(NamedTuple):
    """The documents of E events, before and after each; a document is distinct triples."""

    new: I32
    """[n, 3]"""
    new_offsets: I64
    """[E + 1]"""
    old: I32
    old_offsets: I64


class Timeline(NamedTuple):
    """Triples that came to the one graph and went from it, in order of events."""

    rows: I32
    """[n, 3]"""
    event: I32
    """[n] ascending, from 0."""
    came: U8
    """[n] 1: it came; 0: it went. No triple does both in one event."""
    links: I32
    """[n, 2] the next row of the same chain, -1 after the last: by subject, by object."""
    heads: I32
    """[slots, 2] the first row of each chain, -1 for none."""


@njit
def replace_documents(stored: SortedTriples, live: LiveTriples, documents: Replacements) -> Timeline:
    """Count the triples of documents that came and went, event by event. `live` has room for all that are new.

    Those of a new document are counted before those of the old one go, so that what both have stays.
    """
    new, new_offsets, old, old_offsets = documents
    room = len(new) + len(old)
    rows, event, came = np.empty((room, 3), np.int32), np.empty(room, np.int32), np.empty(room, np.uint8)
    filled = 0
    for number in range(len(new_offsets) - 1):
        start = filled
        filled += retain(stored, live, new[new_offsets[number] : new_offsets[number + 1]], rows[filled:])
        came[start:filled] = 1
        middle = filled
        filled += release(stored, live, old[old_offsets[number] : old_offsets[number + 1]], rows[filled:])
        came[middle:filled] = 0
        event[start:filled] = number
    slots = _LEAST_SLOTS
    while slots < filled:
        slots *= 2
    timeline = Timeline(
        rows[:filled],
        event[:filled],
        came[:filled],
        np.empty((filled, 2), np.int32),
        np.full((slots, 2), np.int32(-1)),
    )
    _link(timeline)
    return timeline


@njit
def timeline_of(rows: I32, came: U8) -> Timeline:
    """What one event changed: distinct triples."""
    slots = _LEAST_SLOTS
    while slots < len(rows):
        slots *= 2
    links, heads = np.empty((len(rows), 2), np.int32), np.full((slots, 2), np.int32(-1))
    timeline = Timeline(rows, np.zeros(len(rows), np.int32), came, links, heads)
    _link(timeline)
    return timeline


@borrowing
def _link(timeline: Timeline) -> None:
    for row in range(len(timeline.rows) - 1, -1, -1):
        for chain in range(2):
            slot = _slot(timeline, timeline.rows[row, 2 * chain])
            timeline.links[row, chain] = timeline.heads[slot, chain]
            timeline.heads[slot, chain] = row


@inlined
def _slot(timeline: Timeline, term: int) -> int:
    return int(np.int64(((np.uint64(term) * _STEP) >> np.uint64(32)) & np.uint64(len(timeline.heads) - 1)))


@njit
def touched_subjects(timeline: Timeline, predicates: I32) -> I64:
    """The subjects of which a triple changed that has one of `predicates`, each once: `pack` of event and subject,
    ascending."""
    found, count = np.empty(len(timeline.rows), np.int64), 0
    for row in range(len(timeline.rows)):
        for predicate in predicates:
            if predicate == timeline.rows[row, 1]:
                found[count] = pack(timeline.event[row], timeline.rows[row, 0])
                count += 1
                break
    return distinct(found[:count])


@inlined
def pack(event: int, term: int) -> np.int64:
    return np.int64(np.int64(event) << np.int64(32) | np.int64(term))


@njit
def distinct(keys: I64) -> I64:
    """Keys sorted in place, each once."""
    keys.sort()
    count = 0
    for key in keys:
        if count == 0 or keys[count - 1] != key:
            keys[count] = key
            count += 1
    return keys[:count]


@njit
def stayed_subjects(stored: SortedTriples, live: LiveTriples, timeline: Timeline, keys: I64) -> I64:
    """Of packed events and subjects, those that had triples before the event and have such after it."""
    kept, count = np.empty_like(keys), 0
    for key in keys:
        event, subject = key >> 32, key & 0xFFFFFFFF
        before = rows_after(stored, live, timeline, subject, event - 1)
        if len(before) and len(rows_after(stored, live, timeline, subject, event)):
            kept[count] = key
            count += 1
    return kept[:count]


@njit
def rows_after(stored: SortedTriples, live: LiveTriples, timeline: Timeline, subject: int, event: int) -> I32:
    """[n, 3] the triples of a subject as they were after an event; -1: before the first."""
    now = find_fitting(stored, live, subject, ANY, ANY)
    later = 0
    row = timeline.heads[_slot(timeline, subject), _SUBJECT]
    while row >= 0:
        later += timeline.event[row] > event and timeline.rows[row, 0] == subject
        row = timeline.links[row, _SUBJECT]
    if later == 0:
        return now
    first = _first_changes(timeline, subject, event, later)
    found, count = np.empty((len(now) + later, 3), np.int32), 0
    for place in range(len(now)):
        if first[_place(timeline, first, now[place, 1], now[place, 2])] < 0:
            for column in range(3):
                found[count, column] = now[place, column]
            count += 1
    for row in first:
        if row >= 0 and timeline.came[row] == 0:
            for column in range(3):
                found[count, column] = timeline.rows[row, column]
            count += 1
    return found[:count]


@njit
def _first_changes(timeline: Timeline, subject: int, event: int, later: int) -> I32:
    """Of each triple of a subject that changed after an event, the first such change, which says what it was before: an
    open-addressing table of rows, -1 where it is empty."""
    slots = 2
    while slots < 2 * later:
        slots *= 2
    first = np.full(slots, np.int32(-1))
    row = timeline.heads[_slot(timeline, subject), _SUBJECT]
    while row >= 0:
        if timeline.event[row] > event and timeline.rows[row, 0] == subject:
            place = _place(timeline, first, timeline.rows[row, 1], timeline.rows[row, 2])
            if first[place] < 0:
                first[place] = row
        row = timeline.links[row, _SUBJECT]
    return first


@borrowing
def _place(timeline: Timeline, first: I32, predicate: int, end: int) -> int:
    """The place of a triple of one subject in a table of rows."""
    mixed = ((np.uint64(predicate) * _STEP) ^ np.uint64(end)) * _STEP
    place = np.int64((mixed >> np.uint64(32)) & np.uint64(len(first) - 1))
    while first[place] >= 0:
        row = first[place]
        if timeline.rows[row, 1] == predicate and timeline.rows[row, 2] == end:
            break
        place = (place + 1) & (len(first) - 1)
    return int(place)


class Reached(NamedTuple):
    """Terms that some terms lead to, by one predicate."""

    keys: I64
    """`pack` of event and term, ascending, each once."""
    beyond: I32
    """The events from which there are too many, in order; none of theirs are among the keys."""
    whole: bool
    """False: there are too many keys of several events, and nothing here is meant to be read."""


@njit
def follow_predicate(
    stored: SortedTriples,
    live: LiveTriples,
    timeline: Timeline,
    keys: I64,
    predicate: int,
    backward: bool,
    room: int,
    most: int,
) -> Reached:
    """The objects of the triples that subjects have with a predicate, or `backward` the subjects of those that have
    them as objects, now or before some event of the run. `keys` are ascending packed events and terms; an event that
    looks at more than `room` triples is beyond. Several events together reach no more than `most`."""
    reached, filled = np.empty(len(keys) + 16, np.int64), 0
    beyond, left_out = np.empty(len(keys), np.int32), 0
    chain, goal = (_OBJECT, 0) if backward else (_SUBJECT, 2)
    start = 0
    while start < len(keys):
        event, stop, looked = keys[start] >> 32, start, 0
        while stop < len(keys) and keys[stop] >> 32 == event:
            term = keys[stop] & 0xFFFFFFFF
            subject, end = (ANY, term) if backward else (term, ANY)
            looked += reach_fitting(stored, live, subject, predicate, end)
            stop += 1
        if looked > room:
            beyond[left_out] = event
            left_out += 1
            start = stop
            continue
        for place in range(start, stop):
            term = keys[place] & 0xFFFFFFFF
            subject, end = (ANY, term) if backward else (term, ANY)
            now = find_fitting(stored, live, subject, predicate, end)
            if filled + len(now) + len(timeline.rows) > len(reached):
                reached = _longer(reached, filled, len(now) + len(timeline.rows))
            for row in range(len(now)):
                reached[filled] = pack(event, now[row, goal])
                filled += 1
            row = timeline.heads[_slot(timeline, term), chain]
            while row >= 0:
                fits = timeline.rows[row, 2 * chain] == term and (
                    predicate == ANY or timeline.rows[row, 1] == predicate
                )
                if fits and timeline.came[row] == 0:
                    reached[filled] = pack(event, timeline.rows[row, goal])
                    filled += 1
                row = timeline.links[row, chain]
        start = stop
        if filled > most and keys[0] >> 32 != keys[len(keys) - 1] >> 32:
            return Reached(reached[:0], beyond[:0], False)
    return Reached(distinct(reached[:filled]), beyond[:left_out], True)


@njit
def follow_steps(
    stored: SortedTriples, live: LiveTriples, timeline: Timeline, keys: I64, steps: I64, room: int, most: int
) -> Reached:
    """What `follow_predicate` reaches by several steps, all together: step i leads from what was reached first (0: from
    `keys`, n: by step n - 1), by the predicate in its second column, then backward by that in its third; `SKIPPED` for
    neither. Events that are beyond may repeat."""
    found, beyond, size, left_out = [keys], [np.empty(0, np.int32)], 0, 0
    for step in range(len(steps)):
        reached = found[steps[step, 0]]
        for side in range(2):
            predicate = steps[step, 1 + side]
            if predicate != SKIPPED and len(reached) > 0:
                more = follow_predicate(stored, live, timeline, reached, predicate, side == 1, room, most)
                if not more.whole:
                    return more
                reached = more.keys
                beyond.append(more.beyond)
                left_out += len(more.beyond)
        found.append(reached)
        size += len(reached)
    joined, events = np.empty(size, np.int64), np.empty(left_out, np.int32)
    size = left_out = 0
    for part in found[1:]:
        joined[size : size + len(part)] = part
        size += len(part)
    for some in beyond:
        events[left_out : left_out + len(some)] = some
        left_out += len(some)
    return Reached(distinct(joined), events, True)


@njit
def _longer(keys: I64, filled: int, more: int) -> I64:
    longer = np.empty(2 * (filled + more), np.int64)
    longer[:filled] = keys[:filled]
    return longer


def warm_up() -> None:
    rows = np.array([[0, 1, 2]], np.int32)
    stored, _ = sort_triples(rows, 3)
    live = live_with_room(empty_live(1), 100)
    offsets = np.array([0, 1], np.int64)
    timeline = replace_documents(stored, live, Replacements(rows, offsets, rows, offsets))
    keys = touched_subjects(timeline, np.array([1], np.int32))
    rows_after(stored, live, timeline_of(rows, np.ones(1, np.uint8)), 0, -1)
    follow_steps(stored, live, timeline, keys, np.array([[0, ANY, SKIPPED]], np.int64), 1, 1)
    distinct(keys)
    stayed_subjects(stored, live, timeline, keys)
