"""Metres between geometries: the length of the shortest geodesic on the WGS 84 ellipsoid.

Branch and bound over pairs of pieces of the two outlines: no way between two pieces is shorter than the one between
their middles less half their lengths. Pieces whose pair cannot beat the best way found are dropped, the others cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from pyproj import Geod
from scipy.spatial import cKDTree

from triplecast.operators.box.geometries import Geometry

_ELLIPSOID = Geod(ellps="WGS84")
_DEGREE = 111_700.0
"""Metres: no degree, of longitude or latitude, is longer."""
_RADIAN = 6_335_000.0
"""Metres: of no way are there fewer for a radian between its ends on the unit ball."""
_LONGEST = 0.1
"""Degrees of a piece in the beginning, unless an outline would have more than `_MOST_PIECES`."""
_MOST_PIECES = 20_000
_MOST_PAIRS = 2_048
"""Of pieces that are cut at once; where more may be nearest, those are that may be nearer."""
_FIRST_PAIRS = 16_384
_PARTS = 4
_CLOSE = 0.001
"""Metres that pieces may have in the end; longer ones where the way is so long that they change less."""


class Pieces(NamedTuple):
    """Straight pieces of an outline; its corners and points are pieces without length."""

    starts: NDArray[np.float64]
    """Longitudes and latitudes, shape (n, 2)."""
    ends: NDArray[np.float64]

    @property
    def middles(self) -> NDArray[np.float64]:
        return (self.starts + self.ends) / 2

    @property
    def reach(self) -> NDArray[np.float64]:
        """Metres from the middle to either end, or more."""
        halves: NDArray[np.float64] = np.hypot(*(self.ends - self.starts).T) * (_DEGREE / 2)
        return halves

    def take(self, which: NDArray[np.int64]) -> Pieces:
        return Pieces(self.starts[which], self.ends[which])

    def cut(self, parts: NDArray[np.int64], part: NDArray[np.int64]) -> Pieces:
        """The part of that number of each, of so many."""
        steps = (self.ends - self.starts) / parts[:, None]
        return Pieces(self.starts + steps * part[:, None], self.starts + steps * (part + 1)[:, None])


def metres_between(first: Geometry, second: Geometry) -> float:
    """0 where the geometries meet. Between points to nanometres, otherwise to about a millimetre; where thousands of
    pieces are as near as the nearest, the most promising are followed."""
    if shapely.intersects(first, second):
        return 0.0
    if first.geom_type == second.geom_type == "Point":
        (metres,) = _lengths(shapely.get_coordinates(first), shapely.get_coordinates(second))
        return float(metres)
    here, there = _pairs(_outline(first), _outline(second))
    best = np.inf
    while True:
        metres = _lengths(here.middles, there.middles)
        best = min(best, float(metres.min()))
        reach = here.reach + there.reach
        least = metres - reach
        left = np.flatnonzero((least < best - _CLOSE / 2) & (reach > 0))
        left = left[np.argsort(least[left], kind="stable")[:_MOST_PAIRS]]
        longest = float(reach[left].max(initial=0.0))
        if longest <= max(_CLOSE, (_CLOSE * best / 10) ** 0.5):  # what a piece bends the way by: length ** 2 / best
            return best
        here, there = _cut(here.take(left), there.take(left))


def _cut(here: Pieces, there: Pieces) -> tuple[Pieces, Pieces]:
    """The longer piece of each pair in parts, each with the other piece."""
    many = np.where(here.reach >= there.reach, _PARTS, 1).repeat(_PARTS)
    part = np.tile(np.arange(_PARTS), len(here.starts))
    every = np.arange(len(here.starts)).repeat(_PARTS)
    own = here.take(every).cut(many, np.where(many > 1, part, 0))
    return own, there.take(every).cut(_PARTS + 1 - many, np.where(many > 1, 0, part))


def _pairs(first: Pieces, second: Pieces) -> tuple[Pieces, Pieces]:
    """Pairs that may be nearest, by the straight way through a ball: the more promising pieces of one outline, each
    with the nearest of the other."""
    if len(first.starts) < len(second.starts):
        first, second = second, first
    tree = cKDTree(_on_ball(second.middles))
    apart, nearest = tree.query(_on_ball(first.middles))
    closest = int(np.argmin(apart))
    (best,) = _lengths(first.middles[[closest]], second.middles[nearest[[closest]]])
    least = apart * _RADIAN - first.reach - second.reach.max()
    own = np.flatnonzero(least <= best)
    own = own[np.argsort(least[own], kind="stable")[:_MOST_PAIRS]]
    each = min(max(_FIRST_PAIRS // len(own), 8), len(second.starts))
    _, others = tree.query(_on_ball(first.middles[own]), k=range(1, each + 1))
    return first.take(own.repeat(each)), second.take(others.ravel())


def _outline(geometry: Geometry) -> Pieces:
    starts, ends = [], []
    left = [geometry]
    while left:
        part = left.pop()
        if hasattr(part, "geoms"):
            left += part.geoms
        elif part.geom_type == "Polygon":
            left += [part.exterior, *part.interiors]
        else:
            places = shapely.get_coordinates(part)
            starts += [places, places[:-1]]
            ends += [places, places[1:]]
    edges = Pieces(np.concatenate(starts), np.concatenate(ends))
    lengths = np.hypot(*(edges.ends - edges.starts).T)
    longest = max(_LONGEST, float(lengths.sum()) / _MOST_PIECES)
    parts = np.maximum(np.ceil(lengths / longest), 1).astype(np.int64)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return edges.take(np.arange(len(parts)).repeat(parts)).cut(parts.repeat(parts), number)


def _on_ball(places: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude, latitude = np.radians(places.T)
    return np.column_stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    )


def _lengths(froms: NDArray[np.float64], tos: NDArray[np.float64]) -> NDArray[np.float64]:
    """Metres of the geodesics between places."""
    metres: NDArray[np.float64] = _ELLIPSOID.inv(froms[:, 0], froms[:, 1], tos[:, 0], tos[:, 1])[2]
    return metres
