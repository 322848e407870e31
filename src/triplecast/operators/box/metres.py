"""Metres between geometries: those of geodesics on the WGS 84 ellipsoid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from pyproj import Geod
from scipy.spatial import cKDTree

from triplecast.operators.box.geometries import Geometry

_ELLIPSOID = Geod(ellps="WGS84")
_SPACING = 0.1
"""Degrees between the places at which edges are looked at first, unless there would be more than `_SAMPLES`."""
_SAMPLES = 20_000
_FINER = 32
"""Into how many steps each round divides what is left of an edge; `_ROUNDS` make a tenth of a degree a millimetre."""
_ROUNDS = 5
_LIKELY = 8
"""Edges that are looked at closely, and pairs of places from which the shortest way between two outlines is sought."""


class Edges(NamedTuple):
    """The outline of a geometry: straight edges; a point is an edge from itself to itself."""

    starts: NDArray[np.float64]
    """Longitudes and latitudes, shape (n, 2)."""
    ends: NDArray[np.float64]


class Nearest(NamedTuple):
    metres: float
    place: NDArray[np.float64]
    """Longitude and latitude."""


def metres_between(first: Geometry, second: Geometry) -> float:
    """The length of the shortest geodesic from one geometry to another, 0 where they meet. Between points it is exact;
    otherwise edges are searched to about a millimetre, from the most likely places on."""
    if shapely.intersects(first, second):
        return 0.0
    if first.geom_type == second.geom_type == "Point":
        (metres,) = _lengths(np.array([[first.x, first.y]]), np.array([[second.x, second.y]]))
        return float(metres)
    if second.geom_type == "Point":
        first, second = second, first
    other = _edges(second)
    if first.geom_type == "Point":
        return _nearest(np.array([first.x, first.y]), other).metres
    own = _edges(first)
    return min(_walk(place, own, other) for place in _likely(own, other))


def _walk(place: NDArray[np.float64], own: Edges, other: Edges) -> float:
    """From a place on one outline to the nearest of the other and back again, as long as the way becomes shorter."""
    best = _nearest(place, other)
    for _ in range(20):
        there = _nearest(best.place, own)
        back = _nearest(there.place, other)
        if back.metres > best.metres - 0.001:
            return min(best.metres, there.metres, back.metres)
        best = back
    return best.metres


def _nearest(place: NDArray[np.float64], edges: Edges) -> Nearest:
    """The place on an outline that is nearest to one."""
    which, shares, spacing = _samples(edges)
    metres = _lengths(place[None, :], _along(edges, which, shares))
    order = np.argsort(metres, kind="stable")
    best = Nearest(float(metres[order[0]]), _along(edges, which[order[:1]], shares[order[:1]])[0])
    _, firsts = np.unique(which[order], return_index=True)
    for index in order[np.sort(firsts)[:_LIKELY]]:
        edge, share, width = which[index : index + 1], shares[index], spacing[which[index]]
        for _ in range(_ROUNDS if width else 0):
            near = np.clip(share + np.linspace(-width, width, 2 * _FINER + 1), 0.0, 1.0)
            tried = _along(edges, np.repeat(edge, len(near)), near)
            metres = _lengths(place[None, :], tried)
            least = int(np.argmin(metres))
            share, width = near[least], width / _FINER
            if metres[least] < best.metres:
                best = Nearest(float(metres[least]), tried[least])
    return best


def _samples(edges: Edges) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Places on edges, both ends of each among them: the number of the edge and how far along it (0 to 1) of each; and
    of each edge how far apart they are."""
    lengths = np.hypot(*(edges.ends - edges.starts).T)
    spacing = max(_SPACING, float(lengths.sum()) / _SAMPLES)
    steps = np.ceil(lengths / spacing).astype(np.int64)
    counts = steps + 1
    which = np.repeat(np.arange(len(lengths)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    apart = np.where(steps, 1.0 / np.maximum(steps, 1), 0.0)
    return which, place * apart[which], apart


def _along(edges: Edges, which: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    starts = edges.starts[which]
    return starts + (edges.ends[which] - starts) * shares[:, None]


def _likely(own: Edges, other: Edges) -> NDArray[np.float64]:
    """Places on one outline that have another near: by straight lines through a ball, a good first guess."""
    which, shares, _ = _samples(own)
    places = _along(own, which, shares)
    others = _along(other, *_samples(other)[:2])
    apart, _ = cKDTree(_on_ball(others)).query(_on_ball(places))
    order = np.argsort(apart, kind="stable")
    _, firsts = np.unique(which[order], return_index=True)
    likely: NDArray[np.float64] = places[order[np.sort(firsts)[:_LIKELY]]]
    return likely


def _on_ball(places: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude, latitude = np.radians(places.T)
    return np.column_stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    )


def _edges(geometry: Geometry) -> Edges:
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
            starts.append(places if len(places) == 1 else places[:-1])
            ends.append(places if len(places) == 1 else places[1:])
    return Edges(np.concatenate(starts), np.concatenate(ends))


def _lengths(froms: NDArray[np.float64], tos: NDArray[np.float64]) -> NDArray[np.float64]:
    """Metres of the geodesics between places."""
    froms, tos = np.broadcast_arrays(froms, tos)
    metres: NDArray[np.float64] = _ELLIPSOID.inv(froms[:, 0], froms[:, 1], tos[:, 0], tos[:, 1])[2]
    return metres
