"""GeoRSS Simple: places as text, numbers in pairs, latitude first, between blanks or commas."""

from __future__ import annotations

import re
from types import MappingProxyType

SHAPES = MappingProxyType({"point": 1, "line": 2, "polygon": 4, "box": 2})
"""How many places each has at least; a point and a box have exactly so many."""
_EXACT = ("point", "box")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class NoPlace(ValueError):
    """Text that is no place of its shape: why not; how to fix it."""


def read_georss(shape: str, text: str) -> list[tuple[float, float]]:
    """Latitude and longitude of each place, in degrees. Raises `NoPlace`."""
    shown = repr(text if len(text) <= 80 else text[:79] + "…")
    written = text.replace(",", " ").split()
    numbers = [float(number) for number in written if _NUMBER.fullmatch(number)]
    places = list(zip(numbers[::2], numbers[1::2], strict=False))
    fitting = len(places) == SHAPES[shape] if shape in _EXACT else len(places) >= SHAPES[shape]
    if len(numbers) != len(written) or len(numbers) % 2 or not fitting:
        raise NoPlace(f"{shown} is no {shape}; write pairs of numbers, latitude before longitude")
    if not all(abs(latitude) <= 90 and abs(longitude) <= 180 for latitude, longitude in places):
        raise NoPlace(
            f"{shown} leaves the earth: longitudes are from -180 to 180, latitudes from -90 to 90, and the latitude is "
            "written first here; fix it"
        )
    return places
