"""Merge small segments into one, without the cancelled subscriptions that no publication needs any more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.index.members import MemberArrays, Projection, Refused, join_items, offsets_of
from triplecast.index.registrations import NO_REMOVALS, Removals
from triplecast.index.segment import Segment, build_segments, index_members
from triplecast.index.structures import Anchor, RarestKey
from triplecast.kernels.build import ALWAYS, Items
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.unfold import unfold
from triplecast.model.comparison_codes import TERM_LANES, Lane
from triplecast.model.entailment import EntailmentMode
from triplecast.model.subscription import Registration

GROWTH = 4
"""As many neighbours whose sizes lie within this factor are merged."""
MERGE_LIMIT = 250_000
"""The most subscriptions that one `apply` rebuilds, to bound its time."""


def apply_changes(
    segments: tuple[Segment, ...],
    known: Removals,
    added: Sequence[Registration],
    removed: Sequence[tuple[int, int]],
    needed_from: int,
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> tuple[tuple[Segment, ...], Removals]:
    """Apply registry changes to `segments`, whose removals so far are `known`; `compiler` compiles those `added`.

    Segments stand by entailment mode, then by age; the last of a mode are merged while they are similar in size. Return
    the segments and the removals of registrations that they still contain.
    """
    cancelled = [(int(each.id), each.removed) for each in added if each.removed is not None]
    removals = known.joined([*removed, *cancelled])
    fresh = build_segments(added, compiler=compiler) if added else []
    kept: list[Segment] = []
    for mode in EntailmentMode:
        own = [segment for segment in (*segments, *fresh) if segment.mode is mode]
        while (start := _merge_start([len(segment) for segment in own])) < len(own) - 1:
            own[start:] = [merge_segments(own[start:], removals.up_to(needed_from))]
        kept += own
    return tuple(kept), removals.within(segment.tables.registrations for segment in kept)


def _merge_start(sizes: list[int]) -> int:
    """Find the start of the next merge: the longest tail of at least `GROWTH` segments similar in size to the last."""
    if not sizes:
        return 0
    start = len(sizes) - 1
    total = sizes[start]
    while start > 0 and sizes[start - 1] <= GROWTH * max(1, total) and total + sizes[start - 1] <= MERGE_LIMIT:
        start -= 1
        total += sizes[start]
    return start if len(sizes) - start >= GROWTH else len(sizes) - 1


def merge_segments(
    segments: Sequence[Segment], gone: I64 = NO_REMOVALS.registration, anchor: Anchor | None = None
) -> Segment:
    """Rebuild segments of one entailment mode as one, without registrations in `gone`, from their arrays: no text is
    parsed again."""
    lives = ((each, unfold(each.tables.index), ~np.isin(each.tables.registrations[:], gone)) for each in segments)
    refused = [each for segment in segments for each in segment.refused]
    ended = {*gone.tolist()} if refused else ()
    return _join(lives, tuple(each for each in refused if each.registration not in ended), anchor or RarestKey())


def take_members(segment: Segment, items: Items, members: NDArray[np.bool_], refused: bool) -> Segment:
    """Some members of a segment, which is `unfold`ed to these items, as a segment, with what it refused or without."""
    return _join([(segment, items, members)], segment.refused if refused else (), RarestKey())


def _join(
    parts: Iterable[tuple[Segment, Items, NDArray[np.bool_]]], refused: tuple[Refused, ...], anchor: Anchor
) -> Segment:
    """One segment of the chosen members of some, each with its items."""
    ids: dict[bytes, int] = {}
    projections: dict[Projection, int] = {}
    registrations, items, projection_of = [], [], []
    texts: dict[int, tuple[str, str]] = {}
    offset = 0
    for segment, unfolded, lives in parts:
        number = offset + np.cumsum(lives) - 1
        kept = keep_items(unfolded, lives[unfolded.subscription])
        items.append(kept._replace(subscription=number[kept.subscription], **translate(segment, kept, ids)))
        projection_of.append(_translate_answers(segment, projections)[segment.tables.index.answer_of[lives]])
        texts.update({int(number[old]): text for old, text in segment.texts.all().items() if lives[old]})
        registrations.append(segment.tables.registrations[:][lives])
        offset += int(lives.sum())
    numbers, joined = np.concatenate(registrations), join_items(items)
    order = np.argsort(numbers, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    members = MemberArrays(
        numbers[order],
        joined._replace(subscription=rank[joined.subscription]),
        tuple(ids),
        np.concatenate(projection_of)[order],
        tuple(projections),
        {int(rank[old]): text for old, text in texts.items()},
        refused,
    )
    return index_members(members, anchor, segment.mode)


def keep_items(items: Items, kept: NDArray[np.bool_]) -> Items:
    """Some of the items."""
    if kept.all():
        return items
    pattern_kept = np.repeat(kept, np.diff(items.offsets))
    atom_kept = np.repeat(kept, np.diff(items.atom_offsets))
    return Items(
        items.subscription[kept],
        offsets_of(np.diff(items.offsets)[kept]),
        items.patterns[pattern_kept],
        offsets_of(np.diff(items.atom_offsets)[kept]),
        items.atom_code[atom_kept],
        items.atom_value[atom_kept],
        items.verified[kept],
        items.variables[kept],
    )


def translate(segment: Segment, items: Items, ids: dict[bytes, int]) -> dict[str, np.ndarray]:
    """Translate patterns and atoms to the merged dictionary `ids`, adding the constants that they use."""
    dictionary = segment.tables.dictionary
    values = items.atom_value.copy()
    ordered = items.atom_code[:, 2] == Lane.STRING_ORDER
    values[ordered] = dictionary.bounds[((values[ordered] - 1.0) / 2.0).astype(np.int64)]
    by_term = np.isin(items.atom_code[:, 2], np.array(TERM_LANES, np.uint8))
    used = np.unique(np.concatenate([items.patterns[items.patterns >= 0], values[by_term].astype(np.int32)]))
    text = dictionary.text.tobytes()
    starts, ends = dictionary.offsets[used].tolist(), dictionary.offsets[used + 1].tolist()
    new = np.full(len(dictionary.hashes) + 1, -1, np.int32)
    new[used] = [ids.setdefault(text[start:end], len(ids)) for start, end in zip(starts, ends, strict=True)]
    values[by_term] = new[values[by_term].astype(np.int64)]
    patterns = np.where(items.patterns >= 0, new[np.maximum(items.patterns, 0)], items.patterns).astype(np.int32)
    patterns[items.patterns[:, 0] == ALWAYS] = ALWAYS
    return {"patterns": patterns, "atom_value": values}


def _translate_answers(segment: Segment, projections: dict[Projection, int]) -> I32:
    """Number each answer as a merged projection; the last place (index -1) is for members without an answer."""
    answers = segment.tables.answers
    numbers = []
    for answer in range(len(answers.flags)):
        columns = range(int(answers.offsets[answer]), int(answers.offsets[answer + 1]))
        names = (
            answers.names[answers.name_offsets[each] : answers.name_offsets[each + 1]].tobytes() for each in columns
        )
        projection = Projection(
            tuple(json.loads(name[:-2]) for name in names),
            tuple(answers.variable[columns.start : columns.stop].tolist()),
            int(answers.flags[answer]),
            segment.tables.roles[answer],
        )
        numbers.append(projections.setdefault(projection, len(projections)))
    return np.array([*numbers, -1], np.int32)


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

    def is_similar(sizes: Sequence[int]) -> bool:
        return sum(sizes) <= REBUILT_LIMIT and max(sizes) <= GROWTH * min(sizes)

    for mode in EntailmentMode:
        own = [segment for segment in segments if segment.mode is mode]
        sizes = [len(segment) for segment in own]
        for start in range(len(own)):
            end = start
            while end < len(own) and is_similar(sizes[start : end + 1]):
                end += 1
            if end - start >= GROWTH:
                yield tuple(own[start:end])


def rebuild(due: DueSegments) -> Segment | None:
    """Build one segment of the live subscriptions of due ones. Callable from any thread: it reads immutable values."""
    if sum(_count(due.dead, segment) for segment in due.segments) == sum(map(len, due.segments)):
        return None
    return merge_segments(due.segments, due.dead)


def _count(dead: I64, segment: Segment) -> int:
    """Count the subscriptions of a segment that are cancelled."""
    return int(np.count_nonzero(segment.tables.registrations.among(dead)))
