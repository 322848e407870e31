"""Operators that behave, and operators that do not: each does to its caller what its name says."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from pyoxigraph import Literal, NamedNode

from triplecast.operators import PublicationView, Unanswerable, operator

WILD = "https://example.org/wild#"


@operator(WILD + "size", version="1", arguments=("bound", "free"))
def size(event: PublicationView, picture: NamedNode) -> int:
    """How many bytes an attachment has."""
    return len(event.attachment(picture))


@operator(WILD + "letters", version="1", arguments=("bound", "free"))
def letters(event: PublicationView, text: Literal) -> set[str]:
    """The letters of a text."""
    return set(text.value)


@operator(WILD + "pairs", version="1", arguments=("bound", "free", "free"))
def pairs(event: PublicationView, text: Literal) -> list[tuple[str, int]]:
    """The letters of a text, each with its place."""
    return [(letter, place) for place, letter in enumerate(text.value)]


@operator(WILD + "long", version="1", arguments=("bound",))
def long(event: PublicationView, text: Literal) -> bool:
    """Whether a text has more than three letters."""
    return len(text.value) > 3


@operator(WILD + "dated", version="1", arguments=())
def dated(event: PublicationView) -> bool:
    """Whether the publication has a date."""
    return any("date" in triple.predicate.value for triple in event.graph)


@operator(WILD + "sizes", version="1", arguments=("free",))
def sizes(event: PublicationView) -> list[int]:
    """How many triples and attachments there are."""
    return [len(event.graph), len(event.attachments)]


@operator(WILD + "lengths", version="1", arguments=("bound", "free"), batch=True)
def lengths(events: list[PublicationView], texts: list[Literal]) -> list[int | Unanswerable]:
    """How long each text is; fails where one says so."""
    if any(text.value == "fail" for text in texts):
        raise ValueError("one of them fails")
    if any(text.value == "refuse" for text in texts):
        raise Unanswerable("the whole batch")
    return [Unanswerable("nothing to measure") if text.value == "none" else len(text.value) for text in texts]


@operator(WILD + "positive", version="1", arguments=("bound",))
def positive(event: PublicationView, number: Literal) -> bool:
    """Whether a number is; of others it cannot tell."""
    if int(number.value) < 0:
        raise Unanswerable(f"{number.value} is not positive; give another")
    return True


@operator(WILD + "mumbles", version="1", arguments=("bound", "free"))
def mumbles(event: PublicationView, text: Literal) -> int:
    """Nothing that could be written, at any length."""
    raise Unanswerable("half \ud800 " + text.value * 10_000)


@operator(WILD + "spoils", version="1", arguments=("bound", "free"))
def spoils(event: PublicationView, picture: NamedNode) -> int:
    """Takes the attachments away from whoever is asked next."""
    event.attachments.clear()  # type: ignore[attr-defined]
    return 0


@operator(WILD + "soils", version="1", arguments=("bound", "free"))
def soils(event: PublicationView, picture: NamedNode) -> int:
    """The same with the triples."""
    event.graph.clear()  # type: ignore[attr-defined]
    return 0


@operator(WILD + "growing", version="1", arguments=("bound", "free"))
def growing(event: PublicationView, anything: object) -> Iterator[int]:
    """Results until it stops."""
    yield 1
    raise Unanswerable("it stopped")


@operator(WILD + "quads", version="1", arguments=("bound", "free"))
def quads(event: PublicationView, anything: object) -> int:
    """How many quads the event has."""
    return len(event.graph)


@operator(WILD + "hangs", version="1", arguments=("bound", "free"), seconds=0.3)
def hangs(event: PublicationView, anything: object) -> int:
    """Never."""
    while True:
        time.sleep(1)


@operator(WILD + "stuck", version="1", arguments=("bound", "free"), seconds=5)
def stuck(event: PublicationView, anything: object) -> int:
    """Never, and it takes longer."""
    return hangs(event, anything)


@operator(WILD + "raises", version="1", arguments=("bound", "free"))
def raises(event: PublicationView, anything: object) -> int:
    """Not this time."""
    raise ValueError("not this time")


@operator(WILD + "sorts", version="1", arguments=("bound", "free"))
def sorts(event: PublicationView, anything: object) -> list[int]:
    """Fails in what it calls."""
    return sorted([1], key=_key)


def _key(number: int) -> int:
    return int("one") + number


@operator(WILD + "exits", version="1", arguments=("bound", "free"))
def exits(event: PublicationView, anything: object) -> int:
    """Ends its process."""
    os._exit(3)


@operator(WILD + "million", version="1", arguments=("bound", "free"))
def million(event: PublicationView, anything: object) -> Iterator[int]:
    """More than anybody wants, without an end."""
    return itertools.count()


@operator(WILD + "wrong", version="1", arguments=("bound", "free"))
def wrong(event: PublicationView, anything: object) -> object:
    """Bytes, which are no term."""
    return b"bytes"


@operator(WILD + "eats", version="1", arguments=("bound", "free"), memory=64 << 20)
def eats(event: PublicationView, anything: object) -> int:
    """More memory than it may."""
    return len(bytearray(1 << 30))


@operator(WILD + "chance", version="1", arguments=("bound", "free"))
def chance(event: PublicationView, anything: object) -> int:
    """Another answer each time."""
    return random.SystemRandom().randrange(10**9)


@operator(WILD + "counted", version="1", arguments=("bound", "free"))
def counted(event: PublicationView, path: Literal) -> int:
    """Writes a line to a file each time it is called."""
    with Path(path.value).open("a") as log:
        log.write(f"{event.publication.value}\n")
    return 1


@operator(WILD + "drifting", version=os.environ.get("WILD_VERSION", "1"), arguments=("bound",))
def drifting(event: PublicationView, anything: object) -> bool:
    """Of a version that depends on where it is imported."""
    return True
