"""Structures: joins that subscriptions share, found among their items, and the keys and shapes they consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from triplecast.index.members import offsets_of
from triplecast.kernels.build import ALWAYS, Items, find_next_keys, group_equal_rows
from triplecast.kernels.layout import I32, I64, U32
from triplecast.kernels.programs import make_programs


class Anchor(Protocol):
    """A strategy that ranks keys as anchors."""

    @property
    def unfiltered(self) -> bool:
        """Whether every structure is a candidate of every publication."""

    def rank(self, terms: I32, uses: I64) -> NDArray[np.int64]:
        """Order the distinct keys of a segment by preference as anchors, best first.

        `terms`: [K, 3] dictionary ids, -1 for variables, -2 for the key that every publication has. `uses`: [K]
        patterns of subscriptions with this key.
        """


@dataclass(frozen=True, slots=True)
class RarestKey:
    """Prefer most constants (subject or object before predicate), then fewest subscriptions."""

    unfiltered: bool = False

    def rank(self, terms: I32, uses: I64) -> NDArray[np.int64]:
        constant = terms >= 0
        weight = 2 * constant[:, 0] + constant[:, 1] + 2 * constant[:, 2]
        return np.lexsort((uses, -weight))


def pack(*columns: NDArray[np.integer]) -> I32:
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int32))


def with_always(items: Items) -> Items:
    """Put the pattern that every publication has before the patterns of every item."""
    patterns = np.insert(items.patterns, items.offsets[:-1], ALWAYS, axis=0)
    return items._replace(offsets=items.offsets + np.arange(len(items.offsets)), patterns=patterns)


def find_keys(items: Items, anchor: Anchor) -> tuple[I32, I32]:
    """Find the distinct keys, numbered in the anchor's order: (terms of each key, key of each pattern)."""
    masked = np.where(items.patterns >= 0, items.patterns, -1).astype(np.int32)
    masked[items.patterns[:, 0] == ALWAYS] = -2
    number, first = group_equal_rows(np.arange(len(masked) + 1, dtype=np.int64) * 3, masked.reshape(-1))
    terms = masked[first]
    uses = np.bincount(number, minlength=len(first)).astype(np.int64)
    order = anchor.rank(terms, uses)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(terms[order]), rank[number]


class Shapes(NamedTuple):
    of_item: I32
    rows: I32
    """`Index.shapes`."""
    join_steps: I32
    full_steps: I32


def find_shapes(items: Items, topology: I32) -> Shapes:
    offsets = 3 * items.offsets + np.arange(len(items.offsets))
    number, first = group_equal_rows(offsets, topology)
    join, _ = make_programs(offsets, topology, first, False)
    full, variables = make_programs(offsets, topology, first, True)
    verified, stars = np.append(items.verified[first], 0), np.append(join.stars, 0)
    rows = pack(verified, np.append(variables, 0), join.offsets, full.offsets, stars)
    return Shapes(number, rows, join.steps, full.steps)


class Structures(NamedTuple):
    of_item: I32
    offsets: I32
    keys: I32
    shape: I32
    first_key: I32
    next_keys: U32
    """`Index.next_keys`."""


def find_structures(items: Items, keys: I32, topology: I32, shape_of_item: I32) -> Structures:
    """Group items with equal keys and shape into structures, sorted by their first three keys."""
    cells = np.insert(keys, items.offsets[:-1], shape_of_item)
    number, first = group_equal_rows(items.offsets + np.arange(len(items.offsets)), cells)
    sizes = np.diff(items.offsets)[first]
    starts = items.offsets[:-1][first]
    leading = [_key_at(keys, starts, sizes, place) for place in range(3)]
    order = np.lexsort((first, leading[2], leading[1], leading[0]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    structure_offsets = offsets_of(sizes[order]).astype(np.int32)
    rows = np.repeat(starts[order] - structure_offsets[:-1], sizes[order]) + np.arange(structure_offsets[-1])
    return Structures(
        rank[number],
        structure_offsets,
        keys[rows],
        shape_of_item[first][order],
        leading[0][order],
        find_next_keys(items.offsets, keys, topology, first[order]),
    )


def _key_at(keys: I32, starts: I64, sizes: I64, place: int) -> I32:
    """The key at a place of each item; -1 beyond its end."""
    if not len(keys):
        return np.zeros(0, np.int32)
    at = np.minimum(starts + place, len(keys) - 1)
    return np.where(sizes > place, keys[at], -1).astype(np.int32)
