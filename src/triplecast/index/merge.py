"""Merge small segments into one, without the cancelled subscriptions that no publication needs any more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.index.members import MemberArrays, Projection, join_items, offsets_of
from triplecast.index.registrations import Removals
from triplecast.index.segment import Segment, build_segments, index_members
from triplecast.index.structures import Anchor, RarestKey
from triplecast.kernels.build import ALWAYS, Items
from triplecast.kernels.layout import I32, I64, Answers
from triplecast.kernels.unfold import unfold
from triplecast.model.comparison_codes import TERM_LANES, Lane
from triplecast.model.entailment import EntailmentMode
from triplecast.model.subscription import Registration

GROWTH = 4
"""As many neighbours whose sizes lie within this factor are merged."""
MERGE_LIMIT = 250_000
"""The most subscriptions that one `apply` rebuilds, to bound its time."""


class ChangedIndex(NamedTuple):
    """The segments and removals after a change of the registry."""

    segments: tuple[Segment, ...]
    removals: Removals
    """The removals of registrations that the segments still contain."""


def apply_changes(
    segments: tuple[Segment, ...],
    known: Removals,
    added: Sequence[Registration],
    removed: Sequence[tuple[int, int]],
    needed_from: int,
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> ChangedIndex:
    """Apply registry changes to `segments`; `known` are their removals so far, `compiler` compiles those
    `added`."""
    cancelled = [(int(each.id), each.removed) for each in added if each.removed is not None]
    fresh = build_segments(added, compiler=compiler) if added else []
    return append_segments(segments, fresh, known.joined([*removed, *cancelled]), needed_from)


def append_segments(
    segments: tuple[Segment, ...], fresh: Sequence[Segment], removals: Removals, needed_from: int
) -> ChangedIndex:
    """Append `fresh` segments, by entailment mode, then by age; the last of a mode are merged while similar in size."""
    kept: list[Segment] = []
    for reading in EntailmentMode:
        tail = [segment for segment in (*segments, *fresh) if segment.reading == reading]
        kept += _merge_tail(tail, removals, needed_from)
    return ChangedIndex(tuple(kept), removals.within(segment.tables.registrations for segment in kept))


def _merge_tail(segments: list[Segment], removals: Removals, needed_from: int) -> list[Segment]:
    while (start := _merge_start([len(segment) for segment in segments])) < len(segments) - 1:
        segments[start:] = [merge_segments(segments[start:], {*removals.up_to(needed_from).tolist()})]
    return segments


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


def merge_segments(segments: Sequence[Segment], gone: set[int], anchor: Anchor | None = None) -> Segment:
    """Rebuild segments of one entailment mode as one, without subscriptions in `gone`, from their arrays: no text is
    parsed again."""
    ids: dict[bytes, int] = {}
    projections: dict[Projection, int] = {}
    parts = [_unfold_segment(segment, gone, ids, projections) for segment in segments]
    registrations = np.concatenate([part.registrations for part in parts])
    order = np.argsort(registrations, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    items, texts, offset = [], {}, 0
    for part in parts:
        items.append(part.items._replace(subscription=rank[part.items.subscription + offset]))
        texts.update({int(rank[number + offset]): text for number, text in part.texts.items()})
        offset += len(part.registrations)
    laid_out = MemberArrays(
        registrations[order],
        join_items(items),
        tuple(ids),
        np.concatenate([part.projection_of for part in parts])[order],
        tuple(projections),
        texts,
        tuple(refused for segment in segments for refused in segment.refused if refused.registration not in gone),
    )
    return index_members(laid_out, anchor or RarestKey(), segments[0].reading)


class _Unfolded(NamedTuple):
    registrations: I64
    items: Items
    projection_of: I32
    texts: dict[int, tuple[str, str]]


def _unfold_segment(
    segment: Segment, gone: set[int], ids: dict[bytes, int], projections: dict[Projection, int]
) -> _Unfolded:
    """Unfold the live members of a segment, with the dictionary and projections of the merged one."""
    registrations = segment.tables.registrations[:]
    lives = ~np.isin(registrations, np.fromiter(gone, np.int64, len(gone)))
    number = np.cumsum(lives) - 1
    items = _keep_items(unfold(segment.tables.index), lives)
    items = items._replace(
        subscription=number[items.subscription].astype(np.int32),
        **_translate(segment, items, ids),
    )
    return _Unfolded(
        registrations[lives],
        items,
        _translate_answers(segment, projections)[segment.tables.index.answer_of[lives]],
        {int(number[old]): text for old, text in segment.texts.all().items() if lives[old]},
    )


def _keep_items(items: Items, lives: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Items:
    kept = lives[items.subscription]
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


def _translate(segment: Segment, items: Items, ids: dict[bytes, int]) -> dict[str, np.ndarray]:
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
        first, last = int(answers.offsets[answer]), int(answers.offsets[answer + 1])
        projection = Projection(
            tuple(_column_name(answers, column) for column in range(first, last)),
            tuple(answers.variable[first:last].tolist()),
            int(answers.flags[answer]),
            segment.tables.roles[answer],
        )
        numbers.append(projections.setdefault(projection, len(projections)))
    return np.array([*numbers, -1], np.int32)


def _column_name(answers: Answers, column: int) -> str:
    piece = answers.names[answers.name_offsets[column] : answers.name_offsets[column + 1]].tobytes()
    name: str = json.loads(piece[:-2])
    return name


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
