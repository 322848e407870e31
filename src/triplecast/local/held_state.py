"""The names and digests that provider and local repository agree on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from triplecast.schema.schema import STRONG

CONTROL = "urn:triplecast:local"
"""The graph of a patch that says which subscriptions hold a resource, and which properties are strong."""
HELD_BY = f"<{CONTROL}:heldBy>"
BUCKETS = 64
"""Parts of the held resources, each with a digest: what differs is sent again by parts."""
_MODULUS = 1 << 128


class Held(NamedTuple):
    """What is held of one resource, or of the strong properties under the graph `STRONG_KEY`."""

    quads: bytes = b""
    """Its document; empty where nothing describes it."""
    names: tuple[str, ...] = ()
    """Sorted: the subscriptions that hold it themselves."""

    @property
    def lines(self) -> list[bytes]:
        return [line + b"\n" for line in self.quads.split(b"\n")[:-1]]


NOTHING = Held()
STRONG_KEY = STRONG[1:-1]


def bucket_of(graph: str) -> int:
    return sha256(graph.encode()).digest()[0] % BUCKETS


class Digests:
    """A number for each bucket, which depends on what is held and on no order."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = [*numbers] or [0] * BUCKETS

    def replace(self, graph: str, before: Held, after: Held) -> None:
        place = bucket_of(graph)
        self.numbers[place] = (self.numbers[place] - _number(graph, before) + _number(graph, after)) % _MODULUS

    def text_at(self, position: int, id: str) -> str:
        """Of all buckets together, and of the place in the log that they are of."""
        return sha256(f"{position} {id} {self.written}".encode()).hexdigest()[:32]

    @property
    def written(self) -> str:
        """Of each bucket, in order."""
        return " ".join(f"{number:x}" for number in self.numbers)

    def differing(self, written: str) -> list[int]:
        """The buckets in which another state differs; all for what is no list of digests."""
        others = written.split(" ")
        if len(others) != BUCKETS:
            return [*range(BUCKETS)]
        return [
            place for place, (own, other) in enumerate(zip(self.numbers, others, strict=True)) if f"{own:x}" != other
        ]


def _number(graph: str, held: Held) -> int:
    if held == NOTHING:
        return 0
    parts = (graph.encode(), json.dumps(held.names).encode(), held.quads)
    return int.from_bytes(sha256(b"".join(sha256(part).digest() for part in parts)).digest()[:16])


def log_id(*parts: str | int) -> str:
    """The IRI of a place in a log."""
    return f"<urn:uuid:{UUID(bytes=sha256(json.dumps(parts).encode()).digest()[:16], version=5)}>"


def buckets_of(written: str) -> set[int]:
    """The buckets that a header names. Raises ValueError."""
    return {int(part) for part in written.split()}


def written_buckets(buckets: Sequence[int]) -> str:
    return " ".join(map(str, sorted(buckets)))
