"""Join programs: the steps in which the patterns of a shape are joined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import njit
from triplecast.kernels.layout import I32, I64, STAR, TREE, U8


class Programs(NamedTuple):
    """Join steps of shapes, see `Index.join_steps`."""

    offsets: I32
    steps: I32
    stars: I32
    """[H] as `SHAPE_STAR`."""


@njit
def make_programs(offsets: I64, topology: I32, shapes: I32, full: bool) -> tuple[Programs, I32]:
    """The steps of each shape's join, and how many variables each has.

    `full`: all patterns with variables; otherwise only those whose variables are shared, repeated or compared, and of
    their variables only these and subjects. Steps begin with the rarest key and stay connected where they can.
    """
    rows = 0
    for shape in range(len(shapes)):
        rows += (offsets[shapes[shape] + 1] - offsets[shapes[shape]]) // 3
    programs = Programs(
        np.zeros(len(shapes) + 1, np.int32), np.empty((rows, 4), np.int32), np.zeros(len(shapes), np.int32)
    )
    counts = np.zeros(len(shapes), np.int32)
    seen = np.zeros(256, np.int32)
    bound = np.zeros(256, np.uint8)
    filled = 0
    for shape in range(len(shapes)):
        start = offsets[shapes[shape]] + 1
        patterns = (offsets[shapes[shape] + 1] - start) // 3
        seen[:] = 0
        bound[:] = 0
        for cell in range(start, start + 3 * patterns):
            if topology[cell] >= 0:
                seen[topology[cell] >> 1] += 1 + (topology[cell] & 1)
                counts[shape] = max(counts[shape], (topology[cell] >> 1) + 1)
        done = np.zeros(patterns, np.uint8)
        first = filled
        while True:
            chosen = _next_pattern(topology, start, patterns, done, seen, bound, full)
            if chosen < 0:
                break
            done[chosen] = 1
            programs.steps[filled, 0] = chosen
            for place in range(3):
                code = topology[start + 3 * chosen + place]
                keep = code >= 0 and (full or place == 0 or seen[code >> 1] > 1)
                programs.steps[filled, 1 + place] = code >> 1 if keep else -1
                if keep:
                    bound[code >> 1] = 1
            filled += 1
        programs.offsets[shape + 1] = filled
        programs.stars[shape] = _find_kind(topology[start : start + 3 * patterns], programs.steps[first:filled], seen)
    return Programs(programs.offsets, programs.steps[:filled].copy(), programs.stars), counts


@njit
def _find_kind(topology: I32, steps: I32, seen: I32) -> int:
    """`SHAPE_STAR` of the steps of one shape: each subject is a variable, each step but the first has just one such
    variable in common with those before it, and nothing else is shared."""
    subjects, bound = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    for step in range(len(steps)):
        subject = topology[3 * steps[step, 0]]
        if subject < 0:
            return 0
        subjects[subject >> 1] = 1
    kind = STAR
    for step in range(len(steps)):
        cell = 3 * steps[step, 0]
        subject, predicate, end = topology[cell] >> 1, topology[cell + 1], topology[cell + 2]
        if predicate >= 0 and seen[predicate >> 1] != 1:
            return 0
        shared = int(bound[subject])
        bound[subject] = 1
        if end >= 0 and subjects[end >> 1] == 1:
            kind = TREE
            shared += int(bound[end >> 1])
            if end >> 1 == subject:
                return 0
            bound[end >> 1] = 1
        elif end >= 0 and seen[end >> 1] != 1 + (end & 1):
            return 0
        if shared != int(step > 0):
            return 0
    return kind


@njit
def _next_pattern(topology: I32, start: int, patterns: int, done: U8, seen: I32, bound: U8, full: bool) -> int:
    """Of the patterns that share a bound variable, the first with the most places that are constant, bound or repeated;
    else the first that has a variable to bind; -1 at the end."""
    best = -1
    most = 0
    for pattern in range(patterns):
        if done[pattern] == 1:
            continue
        binds = False
        shares = False
        known = 0
        cells = topology[start + 3 * pattern : start + 3 * pattern + 3]
        for place in range(3):
            code = cells[place]
            if code < 0:
                known += 1
            elif full or seen[code >> 1] > 1:
                binds = True
                repeated = (place > 0 and cells[0] == code) or (place > 1 and cells[1] == code)
                shares = shares or bound[code >> 1] == 1
                known += bound[code >> 1] == 1 or repeated
        rank = 1 + 3 * shares + known * shares if binds else 0
        if rank > most:
            best, most = pattern, rank
    return best


def warm_up() -> None:
    none = np.zeros(0, np.int32)
    for full in (False, True):
        make_programs(np.zeros(1, np.int64), none, none, full)
