"""Draws what cameras over a city see: roads with cars, squares with people, a harbour with boats.

Grounds are of one colour (lane marks are hardly lighter), and each kind of thing has a colour of its own, so that what
is counted can be checked against what was drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 480, 270
ROAD, SQUARE, WATER = "#6c7074", "#b8b0a0", "#2a6090"
POLICE, CAR, VAN = "#1040e0", "#d01818", "#f0e020"
PERSON, TOUR_BOAT, COAST_GUARD = "#101010", "#ff8800", "#ffffff"
LANES = (80, 135, 190)
CAR_LENGTH = 24


class Snapshot:
    """A picture in the making."""

    def __init__(self, ground: str) -> None:
        self._image = Image.new("RGB", (WIDTH, HEIGHT), ground)
        self._pen = ImageDraw.Draw(self._image)
        if ground == ROAD:
            for between in (LANES[0] - 28, *(lane + 27 for lane in LANES)):
                for start in range(0, WIDTH, 30):
                    self._pen.line((start, between, start + 15, between), fill="#858a8e", width=2)

    def cars(self, lane: int, *cars: tuple[int, str]) -> Snapshot:
        """Cars by the place of their middle along the lane, and colour; they drive to the right."""
        y = LANES[lane]
        for x, colour in cars:
            box = (x - CAR_LENGTH // 2, y - 6, x + CAR_LENGTH // 2 - 1, y + 6)
            self._pen.rounded_rectangle(box, 4, fill=colour)
        return self

    def people(self, places: Iterable[tuple[int, int]]) -> Snapshot:
        for x, y in places:
            self._pen.rectangle((x - 1, y - 1, x + 1, y + 1), fill=PERSON)
        return self

    def boats(self, colour: str, *places: tuple[int, int]) -> Snapshot:
        for x, y in places:
            hull = [(x - 22, y), (x + 22, y), (x + 14, y + 9), (x - 14, y + 9)]
            self._pen.polygon(hull, fill=colour)
            self._pen.rectangle((x - 8, y - 10, x + 8, y), fill=colour)
        return self

    def png(self) -> bytes:
        buffer = BytesIO()
        self._image.save(buffer, "PNG")
        return buffer.getvalue()


def crowd(people: int, x: int = 200, y: int = 100) -> list[tuple[int, int]]:
    """People who stand close together."""
    return [(x + 5 * (number % 10), y + 5 * (number // 10)) for number in range(people)]


def walkers(people: int) -> list[tuple[int, int]]:
    """People on the pavements of a road, not close to each other."""
    rows = (8, 20, 32, 234, 246, 258)
    across = WIDTH // 9
    return [(9 * (number % across) + 5, rows[number // across]) for number in range(people)]


def jam(*colours: str) -> list[tuple[int, str]]:
    """Cars in one lane, one behind the other with hardly a gap."""
    return [(40 + 30 * number, colour) for number, colour in enumerate(colours)]
