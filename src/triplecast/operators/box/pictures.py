"""Pictures among a publication's attachments: size, dominant colour, objects counted (docs/built-in-operators.md).

A picture is an array of pixels, upright (its EXIF orientation applied); of an animation, the first. A pixel less than
half opaque is transparent and has no colour. Objects are what stands out from the background: the background's colour
is the one that most pixels of the outermost frame have, and a pixel belongs to an object where it differs from it by
more than `TOLERANCE` in red, green or blue. Pixels that touch, by side or corner, are one object; what has fewer than
`LEAST` pixels is none (the specks of compression and scanning).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from struct import error as StructError
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.model.printable import shortened
from triplecast.operators import PublicationView, Unanswerable, operator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Pixels: TypeAlias = NDArray[np.uint8]
    """(height, width, 4): red, green, blue, opacity."""
    Mask: TypeAlias = NDArray[np.bool_]
    """(height, width)."""

OP = "urn:triplecast:op:"
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
MOST_PIXELS = 50_000_000
"""Known from the header, before anything is decoded: 4 bytes each, and as much again where objects are counted."""
LONGEST_SIDE = 65_535
"""Pixels; labelling takes memory by the row."""
TOLERANCE = 32
"""Of 255: what compression changes of a colour; colours drawn to be told apart are farther apart."""
LEAST = 4
"""Pixels of the smallest object."""
MOST_MEASURED = 100_000
"""Objects whose places are told; more are only counted."""
_OPAQUE = 128
_STRIP = 1 << 22
"""Pixels looked at together where an intermediate result is larger than the picture."""
_CELLS = 1 << 12
_ORIENTATION = 0x0112
"""EXIF's tag."""
_ON_ITS_SIDE = 5
_TURNS: Mapping[int, Callable[[Any], Any]] = MappingProxyType(
    {
        2: lambda pixels: pixels[:, ::-1],
        3: lambda pixels: pixels[::-1, ::-1],
        4: lambda pixels: pixels[::-1],
        5: lambda pixels: pixels.swapaxes(0, 1),
        6: lambda pixels: pixels.swapaxes(0, 1)[:, ::-1],
        7: lambda pixels: pixels.swapaxes(0, 1)[::-1, ::-1],
        8: lambda pixels: pixels.swapaxes(0, 1)[::-1],
    }
)
"""What turns the pixels of an orientation upright."""
_MEMORY = 2 << 30
_SECONDS = 60.0
"""For pictures of `MOST_PIXELS` on a machine that is busy: they take 4 s of a core."""


@operator(OP + "width", version="1", arguments=("bound", "free"), cost=0.0005, seconds=_SECONDS, memory=_MEMORY)
def width(event: PublicationView, picture: object) -> int:
    """How many pixels wide a picture is, upright."""
    return _size(event, picture)[0]


@operator(OP + "height", version="1", arguments=("bound", "free"), cost=0.0005, seconds=_SECONDS, memory=_MEMORY)
def height(event: PublicationView, picture: object) -> int:
    """How many pixels high a picture is, upright."""
    return _size(event, picture)[1]


@operator(OP + "colour", version="1", arguments=("bound", "free"), cost=0.02, seconds=_SECONDS, memory=_MEMORY)
def colour(event: PublicationView, picture: object) -> str | None:
    """A picture's dominant colour, as #rrggbb."""
    return find_colour(read_pixels(event, picture))


@operator(OP + "objects", version="1", arguments=("bound", "free"), cost=0.02, seconds=_SECONDS, memory=_MEMORY)
def objects(event: PublicationView, picture: object) -> int:
    """How many objects stand out from a picture's background."""
    return count_objects(select_objects(read_pixels(event, picture)))


def check_colour(picture: object, colour: object) -> None:
    """Raises `Unanswerable` for a constant that is no colour."""
    if colour is not None:
        read_colour(colour)


@operator(
    OP + "objectsOfColour",
    version="1",
    arguments=("bound", "bound", "free"),
    cost=0.02,
    seconds=_SECONDS,
    memory=_MEMORY,
    check=check_colour,
)
def objects_of_colour(event: PublicationView, picture: object, colour: object) -> int:
    """How many objects of a colour (#rrggbb, or CSS's name) a picture has."""
    return count_objects(select_colour(read_pixels(event, picture), read_colour(colour)))


def read_pixels(event: PublicationView, picture: object) -> Pixels:
    """The pixels of an attachment. Raises `Unanswerable` where there is none under the IRI, or it is no picture, one of
    another format than `FORMATS`, larger than `MOST_PIXELS`, cut short or damaged."""
    import numpy as np

    with _opened(event, picture) as image:
        turn = _TURNS.get(_orientation(image))
        pixels = np.asarray(_to_rgba(image))
    return pixels if turn is None else np.ascontiguousarray(turn(pixels))


def select_objects(pixels: Pixels) -> Mask:
    """Which pixels stand out from the background. Where half of the outermost frame is transparent, the background is
    what is transparent; else that has no part in objects either."""
    import numpy as np

    opaque: Mask = pixels[..., 3] >= _OPAQUE
    frame = np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]])
    seen = frame[frame[:, 3] >= _OPAQUE]
    if 2 * len(seen) <= len(frame):
        return opaque
    colours, counts = np.unique(_codes(seen), return_counts=True)
    return opaque & ~_near(pixels, _channels(int(colours[counts.argmax()])))


def select_colour(pixels: Pixels, colour: tuple[int, int, int]) -> Mask:
    """Which pixels have a colour, `TOLERANCE` allowed in each of red, green and blue."""
    selected: Mask = (pixels[..., 3] >= _OPAQUE) & _near(pixels, colour)
    return selected


def count_objects(selected: Mask) -> int:
    return int((_size_objects(*_label(selected)) >= LEAST).sum())


def measure_objects(selected: Mask) -> list[tuple[int, float, float]]:
    """Pixels and middle (x, y; from the upper left corner) of each object, from left to right. Raises `Unanswerable`
    for more than `MOST_MEASURED`."""
    import numpy as np

    labels, found = _label(selected)
    sizes = _size_objects(labels, found)
    kept = np.flatnonzero(sizes >= LEAST)
    if len(kept) > MOST_MEASURED:
        raise Unanswerable(f"a picture has {len(kept):,} objects, {MOST_MEASURED:,} at most are measured; show fewer")
    across, down = np.zeros(found + 1), np.zeros(found + 1)
    for first, strip in _strips(labels, 2):
        places = np.flatnonzero(strip)
        y, x = np.divmod(places + first, selected.shape[1])
        across += np.bincount(strip[places], x, minlength=found + 1)
        down += np.bincount(strip[places], y, minlength=found + 1)
    measured = [(int(sizes[at]), float(across[at] / sizes[at]), float(down[at] / sizes[at])) for at in kept]
    return sorted(measured, key=lambda each: each[1:])


def _label(selected: Mask) -> tuple[NDArray[np.int32], int]:
    """The number of each pixel's object, 0 for none, and how many there are, specks too."""
    import numpy as np
    from scipy import ndimage

    labels, found = ndimage.label(selected, structure=np.ones((3, 3), np.uint8), output=np.int32)
    return labels, int(found)


def _size_objects(labels: NDArray[np.int32], found: int) -> NDArray[np.int64]:
    """The pixels of each number; those of number 0 are not counted."""
    import numpy as np

    sizes = np.zeros(found + 1, np.int64)
    for _, strip in _strips(labels, 2):
        np.add(sizes, np.bincount(strip, minlength=found + 1), out=sizes)
    sizes[0] = 0
    return sizes


def find_colour(pixels: Pixels) -> str | None:
    """The dominant colour: of 16 × 16 × 16 equal cells of colours the one that most opaque pixels fall in, and in it
    the colour that most of them have; of equals the one with least red, then green, then blue. None where nothing is
    opaque."""
    import numpy as np

    cells = np.zeros(_CELLS, np.int64)
    for _, strip in _strips(pixels, 2):
        cells += np.bincount(_cells(strip[strip[..., 3] >= _OPAQUE]), minlength=_CELLS)
    fullest = cells.argmax()
    if not cells[fullest]:
        return None
    inner = np.zeros(_CELLS, np.int64)
    for _, strip in _strips(pixels, 2):
        seen = strip[strip[..., 3] >= _OPAQUE]
        inner += np.bincount(_cells(seen[_cells(seen) == fullest] << 4), minlength=_CELLS)
    coarse, fine = _split(int(fullest)), _split(int(inner.argmax()))
    return "#" + "".join(f"{16 * high + low:02x}" for high, low in zip(coarse, fine, strict=True))


def read_colour(term: object) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb`` or a name of CSS; what is beyond 255 is 255, as there.

    Raises `Unanswerable` for anything else."""
    from PIL import ImageColor

    text = term.value if isinstance(term, Literal) else str(term)
    try:
        red, green, blue, *_ = ImageColor.getrgb(text)
    except ValueError as error:
        raise Unanswerable(
            f"{shortened(text, 80)!r} is no colour; write it as CSS does: '#ff8800' or 'orange'"
        ) from error
    return min(red, 255), min(green, 255), min(blue, 255)


def _size(event: PublicationView, picture: object) -> tuple[int, int]:
    """Of the upright picture: its header is read, and no pixel."""
    with _opened(event, picture) as image:
        across, down = image.size
        return (down, across) if _orientation(image) >= _ON_ITS_SIDE else (across, down)


def _orientation(image: Image) -> int:
    """By EXIF, 1 to 8; 1 is upright. A PNG may say it behind its pixels: that is not looked for."""
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    stated = image.getexif().get(_ORIENTATION)
    return stated if stated in _TURNS else 1


@contextmanager
def _opened(event: PublicationView, picture: object) -> Iterator[Image]:
    """An attachment's header, checked; whatever Pillow raises for damage until it is closed is a `Unanswerable`."""
    from PIL import Image, UnidentifiedImageError

    if not isinstance(picture, NamedNode):
        raise Unanswerable(f"a picture is named by the IRI of an attachment, and {picture} is none")
    named = f"the attachment <{picture.value}>"
    try:
        content = event.attachment(picture)
    except KeyError as error:
        known = ", ".join(f"<{iri}>" for iri in sorted(event.attachments)[:5]) or "none"
        hint = "publish the picture's bytes with it, under this IRI"
        raise Unanswerable(f"no attachment <{picture.value}>; the publication has {known}; {hint}") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(BytesIO(content), formats=FORMATS)
        with image:
            if image.width * image.height > MOST_PIXELS or max(image.size) > LONGEST_SIDE:
                most = f"{MOST_PIXELS:,} at most and {LONGEST_SIDE:,} a side"
                raise Unanswerable(f"{named} has {image.width} × {image.height} pixels, {most}; scale it down")
            yield image
    except UnidentifiedImageError as error:
        begins = content[:8].hex(" ") or "nothing"
        raise Unanswerable(
            f"{named} is no picture of a known format, or its header is damaged (it begins with {begins}); give one of "
            f"{', '.join(FORMATS)}"
        ) from error
    except Image.DecompressionBombError as error:
        raise Unanswerable(f"{named} has more than {MOST_PIXELS:,} pixels; scale it down") from error
    except Unanswerable:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, StructError) as error:
        raise Unanswerable(
            f"{named} is cut short or damaged ({len(content):,} bytes; {error}); publish the whole file"
        ) from error


def _to_rgba(image: Any) -> Image:
    """Eight bits a channel, with opacity; of 16 bits of grey the upper eight."""
    import numpy as np
    from PIL import Image

    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in ("CMYK", "YCbCr"):
        image = image.convert("RGB")
    converted: Image.Image = image.convert("RGBA")
    return converted


def _strips(array: NDArray[Any], axes: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Its elements in the order of its first `axes`, some at a time, and the number of the first."""
    flat = array.reshape(-1, *array.shape[axes:])
    for first in range(0, len(flat), _STRIP):
        yield first, flat[first : first + _STRIP]


def _near(pixels: Pixels, colour: tuple[int, int, int]) -> Mask:
    import numpy as np

    near = np.ones(pixels.shape[:2], np.bool_)
    for channel, wanted in enumerate(colour):
        near &= pixels[..., channel] >= max(0, wanted - TOLERANCE)
        near &= pixels[..., channel] <= min(255, wanted + TOLERANCE)
    return near


def _codes(pixels: Pixels) -> NDArray[np.uint32]:
    """Colours as numbers, red first, so that they order as (red, green, blue)."""
    import numpy as np

    red, green, blue = (pixels[..., channel].astype(np.uint32) for channel in range(3))
    return np.asarray(red << 16 | green << 8 | blue, np.uint32)


def _channels(code: int) -> tuple[int, int, int]:
    return code >> 16, code >> 8 & 255, code & 255


def _cells(pixels: Pixels) -> NDArray[np.uint32]:
    """The upper four bits of red, green and blue as one number."""
    import numpy as np

    red, green, blue = (pixels[..., channel].astype(np.uint32) >> 4 for channel in range(3))
    return np.asarray(red << 8 | green << 4 | blue, np.uint32)


def _split(cell: int) -> tuple[int, int, int]:
    return cell >> 8, cell >> 4 & 15, cell & 15
