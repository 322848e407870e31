"""Pictures: what was drawn is counted, and what is no picture is told with what fixes it."""

from __future__ import annotations

import random
import re
import struct
import zlib
from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from drawn import GROUNDS, PALETTE, draw, encode
from PIL import Image, ImageDraw, ImageOps
from pyoxigraph import Literal, NamedNode

from triplecast.operators import PublicationView, Unanswerable
from triplecast.operators.box import pictures
from triplecast.operators.box.pictures import FORMATS, LEAST, LONGEST_SIDE, MOST_PIXELS, TOLERANCE

PICTURE = NamedNode("urn:pic")


def event(content: bytes | None, *others: str) -> PublicationView:
    attached = dict.fromkeys(others, b"") if content is None else {"urn:pic": content}
    return PublicationView(NamedNode("urn:g"), 1, attached, b"")


def count(image: Image.Image, form: str = "PNG", **options: object) -> int:
    return pictures.objects(event(encode(image, form, **options)), PICTURE)


def canvas(mode: str = "RGB", ground: object = "#204060", size: tuple[int, int] = (60, 40)) -> Image.Image:
    return Image.new(mode, size, ground)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_what_was_drawn_is_counted(seed: int) -> None:
    drawn = draw(random.Random(seed))
    for form, options in (("PNG", {}), ("BMP", {}), ("GIF", {}), ("WEBP", {"lossless": True})):
        shown = event(drawn.encode(form, **options))
        assert pictures.objects(shown, PICTURE) == drawn.objects, (seed, form)
        assert (pictures.width(shown, PICTURE), pictures.height(shown, PICTURE)) == drawn.image.size
        for name, wanted in drawn.colours.items():
            assert pictures.objects_of_colour(shown, PICTURE, Literal(PALETTE[name])) == wanted, (seed, form, name)


@pytest.mark.parametrize("seed", range(20))
def test_compression_does_not_change_the_count(seed: int) -> None:
    chance = random.Random(seed)
    image = canvas(size=(300, 200))
    wanted = chance.randint(0, 12)
    for x, y in chance.sample([(x, y) for x in range(4) for y in range(3)], wanted):
        box = (x * 70 + 10, y * 60 + 10, x * 70 + 50, y * 60 + 45)
        chance.choice((ImageDraw.Draw(image).ellipse, ImageDraw.Draw(image).rectangle))(box, fill="#ffe0c0")
    for form in ("JPEG", "WEBP"):
        assert count(image, form, quality=85) == wanted, (seed, form)


@pytest.mark.parametrize("seed", range(30))
def test_components_are_those_of_a_flood_fill(seed: int) -> None:
    chance = np.random.default_rng(seed)
    selected = chance.random((chance.integers(1, 30), chance.integers(1, 30))) < chance.choice([0.1, 0.3, 0.5])
    assert pictures.measure_objects(selected) == flood(selected), seed


def flood(selected: np.ndarray) -> list[tuple[int, float, float]]:
    waiting = {(int(x), int(y)) for y, x in zip(*np.nonzero(selected), strict=True)}
    found = []
    while waiting:
        reached, edge = [], [waiting.pop()]
        while edge:
            x, y = edge.pop()
            reached.append((x, y))
            near = {(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)} & waiting
            waiting -= near
            edge += near
        if len(reached) >= LEAST:
            middle = (sum(each[at] for each in reached) / len(reached) for at in (0, 1))
            found.append((len(reached), *middle))
    return sorted(found, key=lambda each: each[1:])


def test_a_picture_of_one_row_or_column() -> None:
    for size in ((1, 1), (1, 9), (9, 1)):
        image = canvas(ground="#ff0000", size=size)
        shown = event(encode(image))
        assert (pictures.objects(shown, PICTURE), pictures.colour(shown, PICTURE)) == (0, "#ff0000")
    column = canvas(ground="#ff0000", size=(1, 11))
    column.paste("#0000ff", (0, 3, 1, 7))  # type: ignore[arg-type]
    assert count(column) == count(column.transpose(Image.Transpose.ROTATE_90)) == 1


def test_many_objects_are_counted_and_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_MEASURED", 3)
    selected = np.zeros((2, 14), np.bool_)
    selected[:, [0, 1, 3, 4, 6, 7]] = True
    assert len(pictures.measure_objects(selected)) == pictures.count_objects(selected) == 3
    selected[:, [9, 10]] = True
    assert pictures.count_objects(selected) == 4
    with pytest.raises(Unanswerable, match="a picture has 4 objects, 3 at most are measured; show fewer"):
        pictures.measure_objects(selected)


def test_large_pictures_are_looked_at_in_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(random.Random(5))
    whole = event(drawn.encode())
    wanted = (pictures.objects(whole, PICTURE), pictures.colour(whole, PICTURE))
    monkeypatch.setattr(pictures, "_STRIP", 100)
    assert (pictures.objects(whole, PICTURE), pictures.colour(whole, PICTURE)) == wanted
    selected = pictures.select_objects(pictures.read_pixels(whole, PICTURE))
    assert pictures.measure_objects(selected) == flood(selected)


def test_the_background_is_what_most_of_the_frame_shows() -> None:
    image = canvas()
    ImageDraw.Draw(image).rectangle((0, 0, 10, 39), fill="#ffffff")
    ImageDraw.Draw(image).rectangle((30, 10, 40, 20), fill="#ffffff")
    assert count(image) == 2
    ImageDraw.Draw(image).rectangle((0, 0, 59, 39), outline="#ff0000")
    assert count(image) == 1


def test_transparent_pixels_have_no_part_in_objects() -> None:
    sprite = canvas("RGBA", (0, 0, 0, 0))
    ImageDraw.Draw(sprite).rectangle((10, 10, 20, 20), fill=(0, 0, 0, 255))
    ImageDraw.Draw(sprite).rectangle((30, 10, 40, 20), fill=(255, 0, 0, 127))
    assert count(sprite) == 1
    holed = canvas("RGBA", (10, 20, 30, 255))
    ImageDraw.Draw(holed).rectangle((10, 10, 20, 20), fill=(255, 0, 0, 0))
    ImageDraw.Draw(holed).rectangle((30, 10, 40, 20), fill=(255, 0, 0, 128))
    assert count(holed) == 1
    assert pictures.colour(event(encode(canvas("RGBA", (9, 9, 9, 0)))), PICTURE) is None


def test_touching_is_one_a_hole_is_none_and_a_speck_is_none() -> None:
    image = canvas()
    pen = ImageDraw.Draw(image)
    pen.rectangle((5, 5, 9, 9), fill="white")
    pen.rectangle((10, 10, 14, 14), fill="red")
    assert count(image) == 1
    pen.ellipse((20, 5, 50, 35), outline="white", width=3)
    assert count(image) == 2
    pen.rectangle((33, 18, 37, 22), fill="white")
    assert count(image) == 3
    pen.line((2, 38, 2 + LEAST - 2, 38), fill="white")
    assert count(image) == 3
    pen.line((2, 38, 2 + LEAST - 1, 38), fill="white")
    assert count(image) == 4


def test_tolerance_is_as_stated() -> None:
    for off, wanted in ((TOLERANCE, 0), (TOLERANCE + 1, 1)):
        image = canvas(ground=(100, 100, 100))
        ImageDraw.Draw(image).rectangle((10, 10, 20, 20), fill=(100, 100 + off, 100))
        assert count(image) == wanted
        other = pictures.objects_of_colour(event(encode(image)), PICTURE, Literal("#646464"))
        assert other == 1, "the ground"


@pytest.mark.parametrize(
    ("mode", "ground", "object_"),
    [("1", 0, 1), ("L", 10, 200), ("P", 0, 1), ("LA", (10, 255), (200, 255)), ("I;16", 1000, 60000), ("CMYK", 0, 255)],
)
def test_every_kind_of_pixel(mode: str, ground: object, object_: object) -> None:
    image = canvas(mode, ground)
    if mode == "P":
        image.putpalette([0, 0, 0, 255, 255, 255])
    image.paste(object_, (10, 10, 20, 20))  # type: ignore[arg-type]
    image.paste(object_, (40, 10, 50, 20))  # type: ignore[arg-type]
    assert count(image, "JPEG" if mode == "CMYK" else "PNG") == 2


def test_the_dominant_colour() -> None:
    image = canvas(ground="#123456")
    ImageDraw.Draw(image).rectangle((0, 0, 59, 15), fill="#ff8800")
    assert pictures.colour(event(encode(image)), PICTURE) == "#123456"
    ImageDraw.Draw(image).rectangle((0, 0, 59, 18), fill="#ff8800")
    ImageDraw.Draw(image).rectangle((0, 19, 59, 23), fill="#fe8901")
    assert pictures.colour(event(encode(image)), PICTURE) == "#ff8800", "neighbours count together"
    half = canvas(ground="#00ff00", size=(10, 10))
    half.paste("#ff0000", (0, 0, 10, 5))  # type: ignore[arg-type]
    assert pictures.colour(event(encode(half)), PICTURE) == "#00ff00", "of equals the one with less red"


@pytest.mark.parametrize("seed", range(10))
def test_the_dominant_colour_is_that_of_a_count_by_hand(seed: int) -> None:
    chance = np.random.default_rng(seed)
    pixels = chance.integers(0, 40, (12, 15, 4)).astype(np.uint8)
    pixels[..., 3] = chance.integers(0, 256, (12, 15))
    seen = [tuple(map(int, pixel[:3])) for row in pixels for pixel in row if pixel[3] >= 128]
    cells = [tuple(channel // 16 for channel in pixel) for pixel in seen]
    cell = min(set(cells), key=lambda each: (-cells.count(each), each))
    inner = [pixel for pixel, of in zip(seen, cells, strict=True) if of == cell]
    wanted = min(set(inner), key=lambda each: (-inner.count(each), each))
    assert pictures.find_colour(pixels) == "#{:02x}{:02x}{:02x}".format(*wanted), seed


@pytest.mark.parametrize("orientation", range(10))
def test_a_picture_is_upright(orientation: int) -> None:
    """As Pillow turns it."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = draw(random.Random(4)).image
    for form in ("PNG", "JPEG", "WEBP"):
        content = encode(image, form, exif=exif)
        with Image.open(BytesIO(content)) as stored:
            upright = ImageOps.exif_transpose(stored).convert("RGBA")
        assert (pictures.width(event(content), PICTURE), pictures.height(event(content), PICTURE)) == upright.size
        assert np.array_equal(pictures.read_pixels(event(content), PICTURE), np.asarray(upright))


def test_a_size_is_read_from_the_header() -> None:
    content = encode(draw(random.Random(4)).image.resize((800, 600)))
    assert pictures.width(event(content[:100]), PICTURE) == 800


def test_of_an_animation_the_first_picture_counts() -> None:
    first, second = canvas(), canvas()
    ImageDraw.Draw(first).rectangle((10, 10, 20, 20), fill="white")
    content = encode(first, "GIF", save_all=True, append_images=[second])
    assert pictures.objects(event(content), PICTURE) == 1


def header(width: int, height: int) -> bytes:
    """A PNG that says of itself how large it is, with a body of a few bytes."""
    ihdr = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = [(b"IHDR", ihdr), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


SMALL = encode(draw(random.Random(1)).image)
ASKED: tuple[Callable[[PublicationView, object], object], ...] = (pictures.colour, pictures.objects)


@pytest.mark.parametrize("ask", [*ASKED, pictures.width, pictures.height])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            header(10_000, 5_001),
            f"<urn:pic> has 10000 × 5001 pixels, {MOST_PIXELS:,} at most and {LONGEST_SIDE:,} a side; scale it down",
        ),
        (header(65_536, 1), f"<urn:pic> has 65536 × 1 pixels, {MOST_PIXELS:,} at most and 65,535 a side; scale it"),
        (header(20_000, 20_000), f"has more than {MOST_PIXELS:,} pixels; scale it down"),
        (header(2**31 - 1, 2**31 - 1), f"has more than {MOST_PIXELS:,} pixels; scale it down"),
        (
            b"",
            "is no picture of a known format, or its header is damaged (it begins with nothing); give one of PNG, JPEG",
        ),
        (
            b"<svg/>",
            "or its header is damaged (it begins with 3c 73 76 67 2f 3e); give one of PNG, JPEG",
        ),
        (
            encode(canvas(), "TIFF"),
            "is no picture of a known format, or its header is damaged (it begins with 49 49 2a 00",
        ),
        (None, "no attachment <urn:pic>; the publication has none; publish the picture's bytes with it"),
    ],
)
def test_what_is_no_picture_is_told(
    ask: Callable[[PublicationView, object], object], content: bytes | None, told: str
) -> None:
    with pytest.raises(Unanswerable) as raised:
        ask(event(content), PICTURE)
    assert told in str(raised.value)


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_cut_short_is_told(ask: Callable[[PublicationView, object], object], form: str) -> None:
    content = encode(draw(random.Random(2)).image.resize((400, 400)), form)
    with pytest.raises(
        Unanswerable, match=r"<urn:pic> is cut short or damaged \([0-9,]+ bytes; .*\); publish the whole"
    ):
        ask(event(content[: len(content) // 2]), PICTURE)


@pytest.mark.parametrize("form", FORMATS)
def test_damage_gives_a_picture_or_a_fault(form: str) -> None:
    """What is told of a damaged file is as it would be of a whole one; a fault says which attachment and how to fix
    it. Some of each are met."""
    chance = random.Random(form)
    drawn = draw(random.Random(3))
    content = drawn.encode(form)
    told, faults = [], []
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 5)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        for ask in (*ASKED, pictures.width):
            try:
                told.append(ask(event(bytes(damaged)), PICTURE))
            except Unanswerable as fault:
                faults.append(str(fault))
    assert len(told) + len(faults) == 450
    assert all(re.fullmatch("#[0-9a-f]{6}", each) if isinstance(each, str) else each >= 0 for each in told if each)
    assert drawn.image.width in told, "damage behind the header leaves the width"
    assert all(fault.startswith("the attachment <urn:pic> ") for fault in faults)
    assert all(re.search("; (give one of|publish the whole file|scale it down)", fault) for fault in faults)


def test_arguments_that_name_no_picture_or_colour_are_told() -> None:
    with pytest.raises(Unanswerable, match='named by the IRI of an attachment, and "urn:pic" is none'):
        pictures.width(event(SMALL), Literal("urn:pic"))
    with pytest.raises(Unanswerable, match="the publication has <urn:a>, <urn:b>; publish"):
        pictures.width(event(None, "urn:b", "urn:a"), PICTURE)
    with pytest.raises(Unanswerable, match="'octarine' is no colour; write it as CSS does: '#ff8800' or 'orange'"):
        pictures.objects_of_colour(event(SMALL), PICTURE, Literal("octarine"))
    assert pictures.read_colour(Literal("orange")) == (255, 165, 0)
    assert pictures.read_colour(Literal("rgb(300, 0, 256)")) == (255, 0, 255), "as CSS has it"
    with pytest.raises(Unanswerable) as raised:
        pictures.read_colour(Literal("rgb(" + "9" * 100_000 + ",0,0)"))
    assert len(str(raised.value)) < 200


def test_backgrounds_differ_from_what_is_drawn() -> None:
    """The drawn pictures can be told apart by the stated rule."""
    for ground in GROUNDS:
        for colour in PALETTE.values():
            one, other = pictures.read_colour(ground), pictures.read_colour(colour)
            assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > TOLERANCE
