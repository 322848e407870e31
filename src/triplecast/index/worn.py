"""Segments that are made again beside the writer, who takes the new one when it is ready.

What `apply_changes` merges is bounded, so that its time is. So a large segment would keep its dead for ever, and every
publication would be asked of them; and a million subscriptions would stand in many segments, each with a dictionary of
its own that every publication is read through.
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

WORN_SHARE = 8
"""A segment is worn once more than one in so many of its subscriptions is dead. Replacing 1 % of them a minute, each is
made again every twelve minutes."""
WORN_LEAST = 10_000
"""Subscriptions of a segment that is looked at; smaller ones are merged soon."""
REMADE_LIMIT = 1_000_000
"""Subscriptions of the segments that are made one, so that memory stays bounded."""


class Worn(NamedTuple):
    """What is to be made again."""

    segments: tuple[Segment, ...]
    """Neighbours of one reading."""
    dead: I64
    """Registrations that nothing will ask any more, maybe some of theirs among them."""


class Remade(NamedTuple):
    """What takes the place of worn segments."""

    segment: Segment | None
    """None where nothing of them lives."""
    name: str = ""
    """Its file's, in a folder."""


def find_worn(segments: Sequence[Segment], removals: Removals, needed_from: int) -> Worn | None:
    """The segment that has lost most; where none is worn, the most neighbours of one tier that `apply_changes` leaves
    apart; None where all is well. `needed_from`: no publication at or before this position will be asked."""
    dead = removals.up_to(needed_from)
    large = [segment for segment in segments if len(segment) >= WORN_LEAST]
    counted = [(_count(dead, segment), segment) for segment in large] if len(dead) else []
    worn = [(count, segment) for count, segment in counted if count * WORN_SHARE > len(segment)]
    if worn:
        return Worn((max(worn, key=lambda each: each[0])[1],), dead)
    runs = list(_runs(large))
    return Worn(max(runs, key=len), dead) if runs else None


def _runs(segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """From each segment on, as many neighbours of one tier as may become one, where that are `GROWTH`."""
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
    return sum(sizes) <= REMADE_LIMIT and max(sizes) <= GROWTH * min(sizes)


def remake(worn: Worn) -> Segment | None:
    """A segment of those that live of worn ones; a function of what is immutable, for any thread."""
    if sum(_count(worn.dead, segment) for segment in worn.segments) == sum(map(len, worn.segments)):
        return None
    return merge_segments(worn.segments, {*worn.dead.tolist()})


def replace_worn(segments: Sequence[Segment], worn: Worn, made: Segment | None) -> list[Segment] | None:
    """`segments` with what was made in the place of the first of the worn ones; None unless they all stand."""
    if not {*worn.segments} <= {*segments}:
        return None
    kept = []
    for segment in segments:
        if segment is worn.segments[0] and made is not None:
            kept.append(made)
        elif segment not in worn.segments:
            kept.append(segment)
    return kept


def _count(dead: I64, segment: Segment) -> int:
    """Subscriptions of a segment that are among the dead."""
    return int(np.count_nonzero(segment.tables.registrations.among(dead)))
