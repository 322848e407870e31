"""Pictures drawn for tests: what is on them is known, because it was put there."""

from __future__ import annotations

import random
from io import BytesIO
from typing import NamedTuple

from PIL import Image, ImageDraw

PALETTE = {"red": "#d01010", "blue": "#1020d0", "orange": "#ff8800", "white": "#ffffff", "green": "#108020"}
GROUNDS = ("#204060", "#000000", "#808080", "#c8e6ff")
CELL = 24
"""Pixels between the middles of objects, which are at most two thirds of that across."""


class Drawn(NamedTuple):
    image: Image.Image
    colours: dict[str, int]
    """How many objects of each colour of `PALETTE`."""

    @property
    def objects(self) -> int:
        return sum(self.colours.values())

    def encode(self, form: str = "PNG", **options: object) -> bytes:
        return encode(self.image, form, **options)


def encode(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def draw(chance: random.Random, most: int = 20) -> Drawn:
    """Discs, boxes, triangles, rings and crosses, none touching another, at random places of a grid."""
    across, down = chance.randint(3, 9), chance.randint(3, 7)
    image = Image.new("RGB", (across * CELL, down * CELL), chance.choice(GROUNDS))
    places = [(x, y) for x in range(across) for y in range(down)]
    colours = dict.fromkeys(PALETTE, 0)
    for x, y in chance.sample(places, chance.randint(0, min(most, len(places)))):
        name = chance.choice(sorted(PALETTE))
        draw_object(ImageDraw.Draw(image), x * CELL + CELL // 2, y * CELL + CELL // 2, PALETTE[name], chance)
        colours[name] += 1
    return Drawn(image, colours)


def draw_object(canvas: ImageDraw.ImageDraw, x: int, y: int, colour: str, chance: random.Random) -> None:
    radius = chance.randint(2, CELL // 3)
    box = (x - radius, y - radius, x + radius, y + radius)
    match chance.randrange(5):
        case 0:
            canvas.ellipse(box, fill=colour)
        case 1:
            canvas.rectangle(box, fill=colour)
        case 2:
            canvas.polygon([(x, y - radius), (x - radius, y + radius), (x + radius, y + radius)], fill=colour)
        case 3:
            canvas.ellipse(box, outline=colour, width=1)
        case _:
            canvas.line((x - radius, y - radius, x + radius, y + radius), fill=colour)
            canvas.line((x - radius, y + radius, x + radius, y - radius), fill=colour)
