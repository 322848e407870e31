"""Where the things of a publication are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import shapely
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.printable import shortened
from triplecast.operators import PublicationView, Unanswerable
from triplecast.operators.box.geometries import GEO, Geometry, checked, is_geometry, read_geometry
from triplecast.operators.box.regions import Regions
from triplecast.operators.box.tangles import refuse_tangled_union
from triplecast.operators.publication_view import GraphView
from triplecast.terms.georss import SHAPES, NoPlace, read_georss

_W3C = "http://www.w3.org/2003/01/geo/wgs84_pos#"
_GEORSS = ("http://www.georss.org/georss/", "http://www.georss.org/georss")
"""As RDF writes it, and as RDF/XML reads it in a feed: XML's namespace has no sign at its end."""
_SCHEMA = ("https://schema.org/", "http://schema.org/")
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_LITERALS = frozenset({GEO + "asWKT", GEO + "asGeoJSON", "http://www.w3.org/ns/locn#geometry"})
_LATITUDES = frozenset({_W3C + "lat", *(schema + "latitude" for schema in _SCHEMA)})
_LONGITUDES = frozenset({_W3C + "long", *(schema + "longitude" for schema in _SCHEMA)})
_LINKS = frozenset(
    {
        GEO + "hasGeometry",
        GEO + "hasDefaultGeometry",
        _W3C + "location",
        "http://xmlns.com/foaf/0.1/based_near",
        *(schema + "geo" for schema in _SCHEMA),
    }
)
_GEORSS_SHAPES = MappingProxyType({namespace + shape: shape for namespace in _GEORSS for shape in SHAPES})
_MAKERS: Mapping[str, Callable[[Any], Geometry]] = MappingProxyType(
    {"point": lambda places: shapely.Point(places[0]), "line": shapely.LineString, "polygon": shapely.Polygon}
)
_STEPS = 2
"""Links that are followed from a thing to its geometry."""


def locate(event: PublicationView, term: object, regions: Regions) -> Geometry | None:
    """What a term stands for: a geometry that it is; the region that it names; or, of a thing in the publication, all
    the geometries that its triples state, together. None for a thing of which no triple says where it is. Raises
    `Unanswerable` for what is stated wrongly."""
    if not isinstance(term, NamedNode | BlankNode):
        return find_place(term, regions)
    stated = list(_stated(event.graph, term))
    if not stated and isinstance(term, NamedNode) and term.value in regions:
        return regions.find(term.value)
    return _together(stated)


def find_place(term: object, regions: Regions) -> Geometry:
    """What a literal stands for, whatever the publication: a geometry, or the region of this name. Raises
    `Unanswerable`."""
    if is_geometry(term):
        return read_geometry(term)
    if isinstance(term, Literal) and term.datatype.value == _XSD_STRING:
        return regions.find(term.value)
    raise Unanswerable(
        f"{shortened(str(term), 80)} is no place; give a thing of the publication, a geo:wktLiteral or the name of a "
        "region"
    )


def _together(stated: Iterable[Geometry]) -> Geometry | None:
    distinct = {geometry.wkb: geometry for geometry in stated}
    if len(distinct) < 2:
        return next(iter(distinct.values()), None)
    refuse_tangled_union(list(distinct.values()))
    return shapely.union_all([distinct[key] for key in sorted(distinct)])


def _stated(graph: GraphView, thing: NamedNode | BlankNode) -> Iterator[Geometry]:
    """Of a thing and of what it is linked to, each once."""
    reached: dict[NamedNode | BlankNode, None] = {thing: None}
    edge = [thing]
    for step in range(_STEPS + 1):
        linked: dict[NamedNode | BlankNode, None] = {}
        for node in edge:
            yield from _stated_of(graph, node, linked if step < _STEPS else {})
        edge = [node for node in linked if node not in reached]
        reached.update(linked)


def _stated_of(
    graph: GraphView, node: NamedNode | BlankNode, linked: dict[NamedNode | BlankNode, None]
) -> Iterator[Geometry]:
    """Adds to `linked` what may state more."""
    latitudes: set[str] = set()
    longitudes: set[str] = set()
    for quad in graph.quads_for_subject(node):
        predicate, value = quad.predicate.value, quad.object
        if isinstance(value, Literal):
            if predicate in _LATITUDES:
                latitudes.add(value.value)
            elif predicate in _LONGITUDES:
                longitudes.add(value.value)
            elif predicate in _GEORSS_SHAPES:
                yield _read_georss(_GEORSS_SHAPES[predicate], value.value)
            elif predicate in _LITERALS and is_geometry(value):
                yield read_geometry(value)
        elif predicate in _LINKS and isinstance(value, NamedNode | BlankNode):
            linked[value] = None
    if latitudes or longitudes:
        if len(latitudes) != 1 or len(longitudes) != 1:
            found = f"{_counted(latitudes, 'latitude')} and {_counted(longitudes, 'longitude')}"
            raise Unanswerable(f"{node} has {found}; state one of each, or give geo:asWKT")
        (latitude,), (longitude,) = latitudes, longitudes
        yield _read_georss("point", f"{latitude.strip()} {longitude.strip()}")


def _counted(found: Collection[str], name: str) -> str:
    return f"{len(found) or 'no'} {name}{'' if len(found) == 1 else 's'}"


def _read_georss(shape: str, text: str) -> Geometry:
    try:
        places = [(longitude, latitude) for latitude, longitude in read_georss(shape, text)]
    except NoPlace as fault:
        raise Unanswerable(str(fault)) from fault
    if shape == "box":
        (west, south), (east, north) = places
        return checked(
            shapely.box(min(west, east), min(south, north), max(west, east), max(south, north)), text, "latitude"
        )
    return checked(_MAKERS[shape](places), text, "latitude")
