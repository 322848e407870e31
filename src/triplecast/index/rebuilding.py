"""Rebuild segments beside the writer, which takes over the new one when it is ready.

`apply_changes` merges a bounded number of subscriptions, to bound its time. So a large segment would keep its cancelled
subscriptions permanently, and a million subscriptions would be spread over many segments, each with a dictionary of
its own that every publication has to be encoded with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.index.merge import GROWTH, merge_segments
from triplecast.index.removals import Removals
from triplecast.index.segment import Segment
from triplecast.kernels.layout import I64
from triplecast.model.entailment import EntailmentMode

DUE_SHARE = 8
"""A segment is due once more than one in so many of its subscriptions is cancelled. At 1 % replaced a minute, that is
every twelve minutes."""
DUE_LEAST = 10_000
"""The least subscriptions of a due segment; smaller ones are merged soon anyway."""
REBUILT_LIMIT = 1_000_000
"""The most subscriptions of segments that are rebuilt as one, to bound memory."""


class DueSegments(NamedTuple):
    """Segments to rebuild as one."""

    segments: tuple[Segment, ...]
    """Neighbours of one entailment mode."""
    dead: I64
    """Cancelled registrations that no later publication needs, of these and of other segments."""


class RebuiltSegment(NamedTuple):
    """The replacement of due segments."""

    segment: Segment | None
    """None if all their subscriptions are cancelled."""
    name: str = ""
    """The name of its file, in a folder."""


def find_due(segments: Sequence[Segment], removals: Removals, needed_from: int) -> DueSegments | None:
    """Find the segment with the most cancelled subscriptions; else the longest run of neighbours of similar size that
    `apply_changes` does not merge; else None. `needed_from`: no publication at or before it will be matched."""
    dead = removals.up_to(needed_from)
    large = [segment for segment in segments if len(segment) >= DUE_LEAST]
    counted = [(_count(dead, segment), segment) for segment in large] if len(dead) else []
    due = [(count, segment) for count, segment in counted if count * DUE_SHARE > len(segment)]
    if due:
        return DueSegments((max(due, key=lambda each: each[0])[1],), dead)
    runs = list(_runs(large))
    return DueSegments(max(runs, key=len), dead) if runs else None


def _runs(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Yield from each segment on the neighbours of similar size that may become one, if there are `GROWTH` or more."""
    for reading in EntailmentMode:
        own = [segment for segment in segments if segment.reading is reading]
        sizes = [len(segment) for segment in own]
        for start in range(len(own)):
            end = start
            while end < len(own) and _alike(sizes[start : end + 1]):
                end += 1
            if end - start >= GROWTH:
                yield tuple(own[start:end])


def _alike(sizes: Sequence[int]) -> bool:
    return sum(sizes) <= REBUILT_LIMIT and max(sizes) <= GROWTH * min(sizes)


def rebuild(due: DueSegments) -> Segment | None:
    """Build one segment of the live subscriptions of due ones. Callable from any thread: it reads immutable values."""
    if sum(_count(due.dead, segment) for segment in due.segments) == sum(map(len, due.segments)):
        return None
    return merge_segments(due.segments, {*due.dead.tolist()})


def replace_due(segments: Sequence[Segment], due: DueSegments, made: Segment | None) -> list[Segment] | None:
    """Replace the due ones among `segments` by the rebuilt one, at the place of the first; None if any is missing."""
    if not {*due.segments} <= {*segments}:
        return None
    kept = []
    for segment in segments:
        if segment is due.segments[0] and made is not None:
            kept.append(made)
        elif segment not in due.segments:
            kept.append(segment)
    return kept


def _count(dead: I64, segment: Segment) -> int:
    """Count the subscriptions of a segment that are cancelled."""
    return int(np.count_nonzero(segment.tables.registrations.among(dead)))
