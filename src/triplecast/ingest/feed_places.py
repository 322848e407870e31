"""Read the places of feed items: GeoRSS, simple or as GML in ``georss:where``, and W3C's latitude and longitude.

They replace feedparser's own, which keep one place of several, fail on some errors and ignore others. Places are kept
as written, with line and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partialmethod
from types import MappingProxyType
from typing import Any, NamedTuple

from feedparser.namespaces import georss

from triplecast.errors import DocumentRejected
from triplecast.terms.georss import SHAPES, NoPlace, read_georss

GEORSS = "http://www.georss.org/georss"
"""As RDF/XML reads it in RSS 1.0: the XML namespace, without a final sign."""
W3C = "http://www.w3.org/2003/01/geo/wgs84_pos#"

_KEPT = "triplecast_places"
_GML = MappingProxyType({"point": "point", "linestring": "line", "polygon": "polygon", "envelope": "box"})
_GML_NUMBERS = ("pos", "poslist", "coordinates", "lowercorner", "uppercorner")
_IGNORED = ("where", "georss_where", "gml_exterior", "gml_linearring")
_LATITUDE_FIRST = ("4326", "4979")
_LONGITUDE_FIRST = ("CRS84", "CRS84h")


class WrittenPlace(NamedTuple):
    """A place as an item states it."""

    kind: str
    """One of GeoRSS's shapes, ``lat`` or ``long``."""
    text: str
    fault: str
    """Why it is left out, or empty."""
    line: int | None
    column: int | None


@dataclass(slots=True)
class _Gml:
    """A GML geometry whose element is open."""

    shape: str
    numbers: list[str]
    system: str = ""
    dimensions: str = "2"
    has_hole: bool = False

    def close(self) -> tuple[str, str]:
        """Return its text as GeoRSS writes it, and what is wrong with it."""
        system = self.system.replace("#", ":").replace("/", ":").rpartition(":")[2]
        if self.has_hole:
            return "", "a polygon has a hole, which GeoRSS cannot express; leave it out"
        if system and system not in _LATITUDE_FIRST + _LONGITUDE_FIRST:
            return "", f"coordinates in {self.system[:80]!r} are not converted; give latitude and longitude of WGS 84"
        numbers = " ".join(self.numbers).replace(",", " ").split()
        step = 3 if self.dimensions == "3" else 2
        if step == 3 and len(numbers) % 3:
            return "", f"{len(numbers)} numbers are no places of 3 dimensions; give three numbers for each"
        first, second = (1, 0) if system in _LONGITUDE_FIRST else (0, 1)
        places = (numbers[at : at + step] for at in range(0, len(numbers), step))
        return " ".join(number for place in places for number in (*place[first : first + 1], *place[second:][:1])), ""


def read_places(written: Sequence[WrittenPlace]) -> tuple[tuple[tuple[str, str], ...], tuple[DocumentRejected, ...]]:
    """Return predicate and text of each valid place, in order, and the errors of the others."""
    valid: dict[tuple[str, str], None] = {}
    faults: list[DocumentRejected] = []
    for place in written:
        if place.kind in SHAPES:
            fault = place.fault or _fault(place.kind, place.text)
            if fault:
                faults.append(_rejected(f"georss:{place.kind}", fault, place))
            else:
                valid[GEORSS + place.kind, place.text] = None
    ways = [place for place in written if place.kind not in SHAPES]
    latitudes, longitudes = ({place.text for place in ways if place.kind == kind} for kind in ("lat", "long"))
    if len(latitudes) == len(longitudes) == 1:
        (latitude,), (longitude,) = latitudes, longitudes
        fault = _fault("point", f"{latitude} {longitude}")
        if not fault:
            valid[f"{W3C}lat", latitude] = valid[f"{W3C}long", longitude] = None
    else:
        fault = f"there are {len(latitudes)} geo:lat and {len(longitudes)} geo:long; give one of each"
    if ways and fault:
        faults.append(_rejected("geo:lat and geo:long", fault, ways[0]))
    return tuple(valid), tuple(faults)


def written_places(entry: Any) -> list[WrittenPlace]:
    """Return the places kept in an entry of feedparser."""
    found: list[WrittenPlace] = dict.get(entry, _KEPT, [])
    return found


def _fault(shape: str, text: str) -> str:
    try:
        read_georss(shape, text)
    except NoPlace as fault:
        return str(fault)
    return ""


def _rejected(named: str, fault: str, place: WrittenPlace) -> DocumentRejected:
    reason, _, hint = fault.rpartition("; ")
    return DocumentRejected("feed", f"{named}: {reason}", hint, place.line, place.column)


def _keep(parser: Any, kind: str, text: str | None, fault: str = "") -> None:
    """Keep a place of an item, not one of its feed or of the feed that it comes from."""
    if not parser.inentry or parser.insource:
        return
    locator = getattr(parser, "_locator", None)  # the parser of ill-formed feeds has none
    line, column = (locator.getLineNumber() - 1, locator.getColumnNumber() + 1) if locator else (None, None)
    parser.entries[-1].setdefault(_KEPT, []).append(WrittenPlace(kind, text or "", fault, line, column))


def _handlers() -> Iterator[tuple[str, partialmethod[None], partialmethod[None]]]:
    """Yield each element with its handlers at begin and end. feedparser puts a line with an XML declaration in front,
    so its line numbers are one more."""
    for kind, element in (*((shape, f"georss_{shape}") for shape in SHAPES), ("lat", "geo_lat"), ("long", "geo_long")):
        yield element, partialmethod(_begin_text, element), partialmethod(_end_text, element, kind)
    for name, shape in _GML.items():
        yield f"gml_{name}", partialmethod(_begin_gml, shape), partialmethod(_end_gml)
    for element in (f"gml_{name}" for name in _GML_NUMBERS):
        yield element, partialmethod(_begin_numbers, element), partialmethod(_end_numbers, element)
    yield "gml_interior", partialmethod(_begin_hole), partialmethod(_pass)
    for element in _IGNORED:
        yield element, partialmethod(_pass), partialmethod(_pass)


def _pass(parser: Any, attributes: Any = None) -> None:
    pass


def _begin_text(parser: Any, element: str, attributes: Any) -> None:
    parser.push(element, 0)


def _end_text(parser: Any, element: str, kind: str) -> None:
    _keep(parser, kind, parser.pop(element))


def _begin_gml(parser: Any, shape: str, attributes: Any) -> None:
    parser.triplecast_gml = _Gml(shape, [])
    _note_system(parser, attributes)


def _end_gml(parser: Any) -> None:
    gml, parser.triplecast_gml = parser.triplecast_gml, None
    if gml is not None:
        _keep(parser, gml.shape, *gml.close())


def _begin_numbers(parser: Any, element: str, attributes: Any) -> None:
    parser.push(element, 0)
    _note_system(parser, attributes)


def _end_numbers(parser: Any, element: str) -> None:
    text = parser.pop(element)
    if parser.triplecast_gml is None:
        _keep(parser, "point", text, "GML coordinates are in no geometry; put them into gml:Point in georss:where")
    else:
        parser.triplecast_gml.numbers.append(text or "")


def _begin_hole(parser: Any, attributes: Any) -> None:
    if parser.triplecast_gml is not None:
        parser.triplecast_gml.has_hole = True


def _note_system(parser: Any, attributes: Any) -> None:
    gml = parser.triplecast_gml
    if gml is not None:
        gml.system = attributes.get("srsname", gml.system)
        gml.dimensions = attributes.get("srsdimension", gml.dimensions)


georss.Namespace.triplecast_gml = None
for _element, _begin, _end in _handlers():
    setattr(georss.Namespace, f"_start_{_element}", _begin)
    setattr(georss.Namespace, f"_end_{_element}", _end)
