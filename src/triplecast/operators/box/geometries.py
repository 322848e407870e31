"""Geometries from literals: in the plane of WGS 84 longitude and latitude, in degrees. Edges are straight there, as
GeoJSON's are, and nothing crosses the 180th meridian.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import numpy as np
import shapely
from pyoxigraph import Literal
from shapely.geometry.base import BaseGeometry

from triplecast.model.printable import shortened
from triplecast.operators import Unanswerable
from triplecast.operators.box.remembered import Remembered

Geometry: TypeAlias = BaseGeometry

GEO = "http://www.opengis.net/ont/geosparql#"
WKT, GEOJSON = GEO + "wktLiteral", GEO + "geoJSONLiteral"
LONGEST = 1 << 20
"""Characters of a literal."""
MOST_COLLECTIONS = 32
"""Collections in a geometry: nested ones would exhaust the stack of the library."""
_REMEMBERED = 64 << 20
"""Bytes."""
_CORNER_BYTES = 240
"""What a corner takes, its share of what relations prepare with it."""

_LON_LAT = ("OGC/1.3/CRS84", "OGC/0/CRS84", "OGC:1.3:CRS84", "OGC::CRS84")
_LAT_LON = ("EPSG/0/4326", "EPSG::4326")
_KINDS = (
    "Point", "LineString", "LinearRing", "Polygon",
    "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection",
)  # fmt: skip
_LETTER = re.compile(r"\\u00([4-7][0-9a-fA-F])")
"""As JSON may escape it."""
_CRS = re.compile(r"\s*<([^<>]*)>\s*", re.ASCII)


def is_geometry(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype.value in (WKT, GEOJSON)


def read_geometry(term: object) -> Geometry:
    """The valid, non-empty geometry of a literal, in longitude and latitude; equal literals give one object, prepared.
    Raises `Unanswerable`."""
    if not isinstance(term, Literal) or not is_geometry(term):
        raise Unanswerable(f"{shortened(str(term), 80)} is no geometry; give a geo:wktLiteral or a geo:geoJSONLiteral")
    return _parsed(term.value, term.datatype.value)


def tell_exhausted(error: shapely.errors.ShapelyError) -> None:
    """Raises MemoryError where that is what the library met: it says nothing of the geometry."""
    if "bad_alloc" in str(error):
        raise MemoryError(str(error)) from error


def _parse(text: str, datatype: str) -> Geometry:
    if len(text) > LONGEST:
        raise Unanswerable(f"a geometry of {len(text):,} characters; {LONGEST:,} are allowed, so simplify it")
    if "\0" in text:
        raise Unanswerable(f"{shortened(text, 80)} has U+0000, at which it would end; leave it out")
    if _LETTER.sub(lambda escape: chr(int(escape[1], 16)), text).upper().count("COLLECTION") > MOST_COLLECTIONS:
        raise Unanswerable(f"a geometry of more than {MOST_COLLECTIONS} collections; give its parts themselves")
    crs, swapped = _CRS.match(text) if datatype == WKT else None, False
    body = text
    if crs is not None:
        swapped = crs[1].endswith(_LAT_LON)
        body = text[crs.end() :]
        if not swapped and not crs[1].endswith(_LON_LAT):
            raise Unanswerable(f"coordinates in <{crs[1]}> are not converted; give them in CRS84 or EPSG:4326")
    try:
        read = shapely.from_wkt(body) if datatype == WKT else shapely.from_geojson(body)
    except (shapely.errors.ShapelyError, NotImplementedError, UnicodeDecodeError) as error:
        if isinstance(error, shapely.errors.ShapelyError):
            tell_exhausted(error)
        told = shortened(" ".join(str(error).split()).removeprefix("ParseException: "), 200)
        raise Unanswerable(f"{shortened(text, 80)} cannot be read as a geometry: {told}; fix it") from error
    if swapped and read is not None:
        read = shapely.transform(read, lambda places: places[:, ::-1])
    return checked(read, text, "latitude" if swapped else "longitude")


_parsed = Remembered(
    _parse, lambda geometry: 500 + _CORNER_BYTES * int(shapely.get_num_coordinates(geometry)), _REMEMBERED
)


def checked(read: Geometry | None, text: str, first: str) -> Geometry:
    """A geometry in the plane, prepared; `text` is how it was written, and `first` what is written first there, for
    messages. Raises `Unanswerable`."""
    if read is None or read.geom_type not in _KINDS:
        raise Unanswerable(f"{shortened(text, 80)} is no geometry of points, straight lines and polygons; give one")
    geometry = shapely.force_2d(read)
    if geometry.is_empty:
        raise Unanswerable(f"{shortened(text, 80)} is empty, so it is nowhere")
    places = shapely.get_coordinates(geometry)
    if not (np.abs(places) <= (180.0, 90.0)).all():
        raise Unanswerable(
            f"{shortened(text, 80)} is out of range: longitudes are from -180 to 180, latitudes from -90 to 90, and "
            f"the {first} comes first"
        )
    if not shapely.is_valid(geometry):
        raise Unanswerable(
            f"{shortened(text, 80)} is no valid geometry: {shapely.is_valid_reason(geometry)}; fix its rings"
        )
    if len(places) > 1:
        shapely.prepare(geometry)
    return geometry
