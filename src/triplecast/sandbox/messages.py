"""The messages between a sandbox and its child, and the one form of what they carry.

On the pipe a message is one byte of kind, four bytes with the number of its request, eight bytes of length (both little
endian) and the payload. An answer has the number of its request; what a child writes before the first request has
number 0. A payload of several parts is their count and lengths, eight bytes each in the machine's order, and the parts.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Sequence

HEADER = struct.Struct("<cIQ")
NUMBERS = 1 << 32
"""Request numbers are below this; then they start again at 0."""
_COUNT = 8
"""Bytes of the count of a payload's parts, and of each length."""

REQUEST = b"Q"
READY = b"R"
"""The child has imported its function and set its limits."""
ANSWER = b"A"
ERROR = b"E"
"""The function raised; the payload is the detail."""
MEMORY = b"M"
"""The function raised MemoryError."""
SIZE = b"S"
"""The answer is longer than the limit."""

ANSWERS = frozenset((READY, ANSWER, ERROR, MEMORY, SIZE))


class BrokenMessage(Exception):
    """The child wrote something that is no message."""


class MessageReader:
    """Cuts a byte stream into messages; `longest` bounds the payload that a header may announce."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pending = bytearray()

    @property
    def between(self) -> bool:
        """Whether no message is incomplete."""
        return not self._pending

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield kind, number and payload of each message that `chunk` completes. Raises BrokenMessage on an impossible
        header."""
        pending = self._pending
        pending += chunk
        start = 0
        while len(pending) - start >= HEADER.size:
            kind, number, length = HEADER.unpack_from(pending, start)
            if kind not in ANSWERS or length > self._longest:
                raise BrokenMessage(f"kind {kind!r}, length {length}")
            end = start + HEADER.size + length
            if len(pending) < end:
                break
            with memoryview(pending) as view:
                payload = bytes(view[start + HEADER.size : end])
            start = end
            yield kind, number, payload
        del pending[:start]


def pack_parts(parts: Sequence[bytes]) -> bytes:
    """Join byte strings to one payload, which `unpack_parts` splits on the same machine."""
    return b"".join((array("Q", (len(parts), *map(len, parts))).tobytes(), *parts))


def unpack_parts(payload: bytes) -> list[bytes]:
    """Return the byte strings that `pack_parts` joined. Raises ValueError for anything else."""
    start = _COUNT * (int.from_bytes(payload[:_COUNT], sys.byteorder) + 1)
    lengths = array("Q", payload[_COUNT:start])
    parts: list[bytes] = []
    for length in lengths:
        parts.append(payload[start : start + length])
        start += length
    if start != len(payload):
        raise ValueError(f"the payload has {len(payload)} bytes where {start} were announced")
    return parts
