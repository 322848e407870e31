"""Geometries of which too many segments may cross: where each does cross, a few kilobytes of text cost minutes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from triplecast.operators import Unanswerable
from triplecast.operators.box.geometries import Geometry

MOST_COMPARED = 1_000_000
"""Pairs of segments whose boxes meet, where a relation looks at each: about 2 seconds."""
MOST_UNITED = 100_000
"""Where geometries are united, and each pair may leave a new corner: about 1 second."""
_AT_ONCE = 1 << 22
"""Pairs that are looked at together."""
_LINE, _RING, _POLYGON = 1, 2, 3
"""Types of geometries, as GEOS numbers them; points are before, collections behind."""


def refuse_tangle(first: Geometry, second: Geometry) -> None:
    """Raises `Unanswerable` where more than `MOST_COMPARED` pairs of segments may cross in the part of the plane that
    two geometries have in common, of either or of both."""
    if _few([first, second], MOST_COMPARED):
        return
    ours, theirs = _segments(first), _segments(second)
    if not len(ours) or not len(theirs):
        return
    segments = np.concatenate([ours, theirs])
    bounds = np.asarray([first.bounds, second.bounds])
    common = (segments[:, :2] <= bounds[:, 2:].min(axis=0)) & (segments[:, 2:] >= bounds[:, :2].max(axis=0))
    _refuse(segments[common.all(axis=1)], MOST_COMPARED)


def refuse_tangled_union(geometries: Sequence[Geometry]) -> None:
    """Raises `Unanswerable` where more than `MOST_UNITED` pairs of all segments may cross."""
    if not _few(geometries, MOST_UNITED):
        _refuse(np.concatenate([_segments(geometry) for geometry in geometries]), MOST_UNITED)


def _few(geometries: Sequence[Geometry], most: int) -> bool:
    """Whether all pairs of segments are few enough."""
    return sum(int(shapely.get_num_coordinates(geometry)) for geometry in geometries) ** 2 <= 2 * most


def _refuse(segments: NDArray[np.float64], most: int) -> None:
    boxes = shapely.box(*segments.T)
    tree = shapely.STRtree(boxes)
    found = -3 * len(boxes)  # each meets itself and its two neighbours
    step = max(1, _AT_ONCE // max(1, len(boxes)))
    for begin in range(0, len(boxes), step):
        found += tree.query(boxes[begin : begin + step]).shape[1]
        if found > 2 * most:
            raise Unanswerable(f"more than {most:,} pairs of segments may cross; simplify the geometries")


def _segments(geometry: Geometry) -> NDArray[np.float64]:
    """West, south, east and north of each segment; points have none. Shape (n, 4)."""
    parts = shapely.get_parts([geometry])
    while (shapely.get_type_id(parts) > _POLYGON).any():
        parts = shapely.get_parts(parts)
    kinds = shapely.get_type_id(parts)
    rings = shapely.get_rings(parts[kinds == _POLYGON])
    lines = np.concatenate([parts[(kinds == _LINE) | (kinds == _RING)], rings])
    places, line = shapely.get_coordinates(lines, return_index=True)
    starts, ends, inside = places[:-1], places[1:], line[:-1] == line[1:]
    return np.hstack([np.minimum(starts, ends)[inside], np.maximum(starts, ends)[inside]])
