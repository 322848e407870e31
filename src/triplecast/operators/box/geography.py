"""Geography: GeoSPARQL's relations and distance between geometries, and `op:within` and `op:distance` between the
things of a publication and regions that have names. What geometries and metres are: `box.geometries`, `box.metres`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from triplecast.operators import PublicationView, Unanswerable, operator
from triplecast.operators.box.regions import Regions

if TYPE_CHECKING:
    from triplecast.operators.box.geometries import Geometry

__all__ = ["DRAWN", "Regions", "is_within", "metres_from"]

GEOF = "http://www.opengis.net/def/function/geosparql/"
OP = "urn:triplecast:op:"
DRAWN = Regions(Path(__file__).with_name("regions.geojson"))
"""Regions drawn roughly by hand, for examples and tests; how to name one's own: docs/built-in-operators.md."""
VERSION = "1"
"""Of all of them: another one whenever a result changes, a region's among them."""

_UOM = "http://www.opengis.net/def/uom/OGC/1.0/"
_QUDT = "http://qudt.org/vocab/unit/"
UNITS = MappingProxyType(
    {
        _UOM + "metre": 1.0,
        _QUDT + "M": 1.0,
        _QUDT + "KiloM": 1000.0,
        _QUDT + "MI": 1609.344,
        _QUDT + "MI_N": 1852.0,
        _QUDT + "FT": 0.3048,
    }
)
"""In metres."""
_TWO, _THREE = ("bound", "bound"), ("bound", "bound", "free")
_QUICK, _SEARCHED = 0.0002, 0.002
"""Seconds that a relation of plane geometries, and a search of the nearest places, are expected to take."""
_PREPARED = frozenset(("intersects", "disjoint"))
"""Relations that are decided at the first point that two geometries share."""


def is_within(event: PublicationView, place: object, region: object, regions: Regions) -> bool:
    """Whether all of a place lies in a region, as ``sfWithin`` means it (not on its edge alone). False where no triple
    says where one of them is. Raises `Unanswerable` for what is stated wrongly and for a region that is not known."""
    from triplecast.operators.box.places import locate

    inner, outer = locate(event, place, regions), locate(event, region, regions)
    return inner is not None and outer is not None and _relate("contains", outer, inner)


def metres_from(event: PublicationView, place: object, other: object, regions: Regions) -> float | None:
    """Metres between two places, 0 where they meet; None where no triple says where one of them is. Raises
    `Unanswerable` for what is stated wrongly and for a region that is not known."""
    from triplecast.operators.box.metres import metres_between
    from triplecast.operators.box.places import locate

    here, there = locate(event, place, regions), locate(event, other, regions)
    return None if here is None or there is None else metres_between(here, there)


def check_places(*places: object) -> None:
    """Raises `Unanswerable` for a name that no region has, and for a literal that is no place. What an IRI stands for,
    the publication tells."""
    from triplecast.operators.box.places import find_place

    for place in places:
        if isinstance(place, Literal):
            find_place(place, DRAWN)


def check_geometries(*geometries: object) -> None:
    """Raises `Unanswerable` for a constant that is no geometry."""
    from triplecast.operators.box.geometries import read_geometry

    for geometry in geometries:
        if geometry is not None:
            read_geometry(geometry)


def check_distance(first: object, second: object, unit: object) -> None:
    """Raises `Unanswerable` for a constant that is no geometry or no unit."""
    check_geometries(first, second)
    if unit is not None:
        _metres_of(unit)


@operator(OP + "within", VERSION, _TWO, cost=_QUICK, batch=True, check=check_places)
def within(events: Sequence[PublicationView], places: Sequence[object], regions: Sequence[object]) -> list[object]:
    """Whether a place lies in a region: each a thing, a geometry or a name."""
    return [_said(is_within, *each, DRAWN) for each in zip(events, places, regions, strict=True)]


@operator(OP + "distance", VERSION, _THREE, cost=_SEARCHED, batch=True, check=check_places)
def distance_of_places(
    events: Sequence[PublicationView], places: Sequence[object], others: Sequence[object]
) -> list[object]:
    """Metres between two places, each a thing, a geometry or a name."""
    return [_said(metres_from, *each, DRAWN) for each in zip(events, places, others, strict=True)]


@operator(GEOF + "distance", VERSION, ("bound", *_THREE), cost=_SEARCHED, batch=True, check=check_distance)
def distance(
    events: Sequence[PublicationView], firsts: Sequence[object], seconds: Sequence[object], units: Sequence[object]
) -> list[object]:
    """The shortest distance between two geometries on the ellipsoid, in a unit of length."""
    return [_said(_in_units, *each) for each in zip(firsts, seconds, units, strict=True)]


def _relation(name: str, about: str) -> Callable[..., list[object]]:
    """The operator of a relation of Simple Features, ``sfEquals`` and the like. Each stands in this module under its
    name, where a worker finds it."""

    def relate(events: Sequence[PublicationView], firsts: Sequence[object], seconds: Sequence[object]) -> list[object]:
        return [_said(_related, name, *pair) for pair in zip(firsts, seconds, strict=True)]

    relate.__name__ = relate.__qualname__ = f"sf_{name}"
    relate.__doc__ = about
    return operator(f"{GEOF}sf{name.title()}", VERSION, _TWO, cost=_QUICK, batch=True, check=check_geometries)(relate)


sf_equals = _relation("equals", "Whether two geometries are the same points.")
sf_disjoint = _relation("disjoint", "Whether two geometries have no point in common.")
sf_intersects = _relation("intersects", "Whether two geometries have a point in common.")
sf_touches = _relation("touches", "Whether two geometries have points in common, but none inside both.")
sf_within = _relation("within", "Whether the first geometry lies in the second.")
sf_contains = _relation("contains", "Whether the second geometry lies in the first.")
sf_overlaps = _relation("overlaps", "Whether two geometries of one dimension share a part of it, and each has more.")
sf_crosses = _relation("crosses", "Whether two geometries cross: what they share is less than the larger of them.")


def _related(name: str, first: object, second: object) -> bool:
    from triplecast.operators.box.geometries import read_geometry

    one, other = read_geometry(first), read_geometry(second)
    return _relate("contains", other, one) if name == "within" else _relate(name, one, other)


def _said(function: Callable[..., object], *given: Any) -> object:
    """What a function gives, or that it cannot: of a batch only that call."""
    from shapely.errors import ShapelyError

    from triplecast.operators.box.geometries import tell_exhausted

    try:
        return function(*given)
    except Unanswerable as refused:
        return refused
    except ShapelyError as error:
        tell_exhausted(error)
        return Unanswerable(f"the geometries cannot be compared: {error}; simplify them")


def _relate(relation: str, first: Geometry, second: Geometry) -> bool:
    """The prepared geometry of the two comes first, or the one with more places where either may."""
    import shapely

    from triplecast.operators.box.tangles import refuse_tangle

    if relation not in _PREPARED:
        refuse_tangle(first, second)
    if relation != "contains" and shapely.get_num_coordinates(first) < shapely.get_num_coordinates(second):
        first, second = second, first
    return bool(getattr(shapely, relation)(first, second))


def _in_units(first: object, second: object, unit: object) -> float:
    from triplecast.operators.box.geometries import read_geometry
    from triplecast.operators.box.metres import metres_between

    return metres_between(read_geometry(first), read_geometry(second)) / _metres_of(unit)


def _metres_of(unit: object) -> float:
    """Raises `Unanswerable` for what is no unit of length."""
    written = unit.value if isinstance(unit, NamedNode | Literal) else str(unit)
    if written not in UNITS:
        known = ", ".join(f"<{name}>" for name in UNITS)
        raise Unanswerable(f"{unit} is no unit of length that is known; use one of {known}")
    return UNITS[written]
