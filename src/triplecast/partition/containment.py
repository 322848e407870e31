"""The strategy `containment` (Petrovic, Liu and Jacobsen 2007, section 4.2): the index stage has the roots of the
containment trees, and what they contain is spread over the shards.

One item contains another if every publication with a solution of the other has one of it: a mapping of its variables
makes each of its patterns one of the other's, and its conditions follow from the other's, each from one of them.
A tree is made when its segment is cut; a root that is unsubscribed leads on until the segment is rebuilt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.index import Segment
from triplecast.index.merge import keep_items
from triplecast.kernels.containment import find_containers
from triplecast.kernels.layout import (
    GROUP_STEP,
    I32,
    I64,
    SHAPE_JOIN,
    SHAPE_STAR,
    STRUCTURE_GROUPS,
    STRUCTURE_SHAPE,
    U8,
)
from triplecast.partition.items import Assignment, FiledItems, RoutedItems, find_synthetic, join_leads


class Forest(NamedTuple):
    """The containment trees of a segment's items."""

    container: I32
    """[M] an item that contains each, -1 without one."""
    root: I32
    """[M] the root of its tree; of items that contain each other, the first."""
    counts: I64
    """Structures touched, pairs of structures compared, pairs of items compared."""


def find_forest(segment: Segment, filed: FiledItems, closed: U8 | None = None) -> Forest:
    """Find the containment trees. `closed`: the structures that others may contain, by default as `find_closed`."""
    index = segment.tables.index
    closed, synthetic = find_closed(segment) if closed is None else closed, find_synthetic(segment)
    container, counts = find_containers(index, filed.items, filed.first_item, closed, synthetic)
    return Forest(container, _find_roots(container), counts)


def find_closed(segment: Segment) -> U8:
    """[structures] 1 where the steps of the join cannot run out in a publication that is not wide
    (`routing.WIDE_SUBJECTS`): what may be undecided is a root itself."""
    index = segment.tables.index
    shapes, structures = index.shapes, index.structures
    shape = structures[:-1, STRUCTURE_SHAPE]
    joins = np.diff(shapes[:, SHAPE_JOIN])[shape]
    stepped = np.append(0, np.cumsum(index.groups[:-1, 0] >> GROUP_STEP == 0))
    first = structures[:, STRUCTURE_GROUPS]
    by_star = (shapes[shape, SHAPE_STAR] != 0) & (stepped[first[1:]] == stepped[first[:-1]])
    closed: U8 = ((joins <= 1) | by_star).astype(np.uint8)
    return closed


def _find_roots(container: I32) -> I32:
    """Follow the containers of all items at once, doubling the steps; a cycle of equals ends at its first."""
    own = np.arange(len(container), dtype=np.int32)
    to = np.where(container < 0, own, container)
    least = own
    for _ in range(max(1, len(own)).bit_length() + 1):
        least = np.minimum(least, least[to])
        to = to[to]
    return least[to]


def assign_by_containment(segment: Segment, filed: FiledItems, shard: I32, closed: U8 | None = None) -> Assignment:
    """Lead from the root of each tree to the shards that it is spread over. `shard`: of each subscription; `closed` as
    `find_forest` takes it."""
    root = find_forest(segment, filed, closed).root
    roots, inverse = np.unique(root, return_inverse=True)
    tree: I32 = inverse.reshape(-1).astype(np.int32)
    chosen = np.zeros(len(root), np.bool_)
    chosen[roots] = True
    items = keep_items(filed.items, chosen)._replace(subscription=np.arange(len(roots), dtype=np.int32))
    leads = join_leads(tree, shard[filed.subscription], len(roots))
    return Assignment(shard, RoutedItems(items, leads, False), tree)
