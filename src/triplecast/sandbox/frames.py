"""The frames between a sandbox and its child: one byte of kind, four bytes with the number of the request, eight bytes
of length (both little endian), the payload. An answer has the number of its request, so that none is taken for that of
another request; what is said before the first has number 0."""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEADER = struct.Struct("<cIQ")
NUMBERS = 1 << 32
"""Requests are numbered below this, beginning anew after it."""

REQUEST = b"Q"
READY = b"R"
"""The child has imported its function and set its limits."""
ANSWER = b"A"
ERROR = b"E"
"""The function raised; the payload is the detail."""
MEMORY = b"M"
"""The function met MemoryError."""
SIZE = b"S"
"""The answer is longer than the limit."""

ANSWERS = frozenset((READY, ANSWER, ERROR, MEMORY, SIZE))


class BrokenFrame(Exception):
    """The child wrote something that is no frame."""


class FrameReader:
    """Cuts a byte stream into frames; `longest` bounds the payload that a header may announce."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pending = bytearray()

    @property
    def between(self) -> bool:
        """Whether no frame has begun that is not complete."""
        return not self._pending

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Kind, number and payload of the frames that `chunk` completes, in order. Raises BrokenFrame on an impossible
        header."""
        pending = self._pending
        pending += chunk
        start = 0
        while len(pending) - start >= HEADER.size:
            kind, number, length = HEADER.unpack_from(pending, start)
            if kind not in ANSWERS or length > self._longest:
                raise BrokenFrame(f"kind {kind!r}, length {length}")
            end = start + HEADER.size + length
            if len(pending) < end:
                break
            with memoryview(pending) as view:
                payload = bytes(view[start + HEADER.size : end])
            start = end
            yield kind, number, payload
        del pending[:start]
