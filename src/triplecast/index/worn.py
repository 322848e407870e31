"""Segments that have lost many of their subscriptions, made again without them.

What `apply_changes` merges is bounded, so that its time is; a large segment would keep its dead for ever, and every
publication would be asked of them. It is made again beside the writer, who takes the new one when it is ready.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.index.merge import merge_segments
from triplecast.index.removals import Removals
from triplecast.index.segment import Segment
from triplecast.kernels.layout import I64

WORN_SHARE = 8
"""A segment is worn once more than one in so many of its subscriptions is dead. Replacing 1 % of them a minute, each is
made again every twelve minutes."""
WORN_LEAST = 10_000
"""Subscriptions of a segment that is looked at; smaller ones are merged soon."""


class Worn(NamedTuple):
    segment: Segment
    dead: I64
    """Registrations that nothing will ask any more, among them some of the segment's."""


class Remade(NamedTuple):
    """What takes a worn segment's place."""

    segment: Segment | None
    """None where nothing of it lives."""
    name: str = ""
    """Its file's, in a folder."""


def find_worn(segments: tuple[Segment, ...], removals: Removals, needed_from: int) -> Worn | None:
    """The most worn segment; None where none is. `needed_from`: no publication at or before this position will be
    asked."""
    dead = removals.up_to(needed_from)
    if len(dead) <= WORN_LEAST // WORN_SHARE:
        return None
    large = [segment for segment in segments if len(segment) >= WORN_LEAST]
    counted = [(_count(dead, segment), segment) for segment in large]
    worn = [(count, segment) for count, segment in counted if count * WORN_SHARE > len(segment)]
    return Worn(max(worn, key=lambda each: each[0])[1], dead) if worn else None


def remake(worn: Worn) -> Segment | None:
    """A segment of those that live of a worn one; a function of what is immutable, for any thread."""
    if _count(worn.dead, worn.segment) == len(worn.segment):
        return None
    return merge_segments([worn.segment], {*worn.dead.tolist()})


def _count(dead: I64, segment: Segment) -> int:
    """Subscriptions of a segment that are among the dead."""
    return int(np.count_nonzero(segment.tables.registrations.among(dead)))
