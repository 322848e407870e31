"""The frames between a sandbox and its child: one byte of kind, eight bytes of length (little endian), the payload."""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEADER = struct.Struct("<cQ")

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

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that `chunk` completes, in order. Raises BrokenFrame on an impossible header."""
        pending = self._pending
        pending += chunk
        start = 0
        while len(pending) - start >= HEADER.size:
            kind, length = HEADER.unpack_from(pending, start)
            if kind not in ANSWERS or length > self._longest:
                raise BrokenFrame(f"kind {kind!r}, length {length}")
            end = start + HEADER.size + length
            if len(pending) < end:
                break
            with memoryview(pending) as view:
                payload = bytes(view[start + HEADER.size : end])
            start = end
            yield kind, payload
        del pending[:start]
