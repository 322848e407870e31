"""Read GeoRSS Simple: pairs of numbers, latitude first, separated by blanks or commas."""

from __future__ import annotations

import re
from types import MappingProxyType

SHAPES = MappingProxyType({"point": 1, "line": 2, "polygon": 4, "box": 2})
"""The fewest places of each shape; a point and a box have exactly that many."""
_EXACT = ("point", "box")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class NoPlace(ValueError):
    """Text that does not follow its shape; the message says why and how to fix it."""


def read_georss(shape: str, text: str) -> list[tuple[float, float]]:
    """Return latitude and longitude of each place in degrees. Raises `NoPlace`."""
    shown = repr(text if len(text) <= 80 else text[:79] + "…")
    written = text.replace(",", " ").split()
    numbers = [float(number) for number in written if _NUMBER.fullmatch(number)]
    places = list(zip(numbers[::2], numbers[1::2], strict=False))
    fitting = len(places) == SHAPES[shape] if shape in _EXACT else len(places) >= SHAPES[shape]
    if len(numbers) != len(written) or len(numbers) % 2 or not fitting:
        raise NoPlace(f"{shown} is no {shape}; write pairs of numbers, latitude before longitude")
    if not all(abs(latitude) <= 90 and abs(longitude) <= 180 for latitude, longitude in places):
        raise NoPlace(
            f"{shown} is out of range; write the latitude (-90 to 90) first, then the longitude (-180 to 180)"
        )
    return places
