"""The body of an answer, unpacked, and no more of it than is wanted."""

from __future__ import annotations

import zlib
from http.client import HTTPException, HTTPResponse

_PART = 16 << 10
_PACKED = ("gzip", "x-gzip", "deflate")
_ANY_HEADER = 47
"""The `wbits` with which zlib tells gzip from its own format."""


def read_body(response: HTTPResponse, most_bytes: int) -> tuple[bytes, bool]:
    """At most `most_bytes`, and whether there is more. Raises HTTPException for a body that ends before its end."""
    kept, unpacking = bytearray(), None
    packed = response.headers.get("content-encoding", "").strip().lower() in _PACKED
    while len(kept) <= most_bytes and (part := response.read(_PART)):
        if not packed:
            kept += part
        while packed and part and len(kept) <= most_bytes:
            if unpacking is None or unpacking.eof:
                unpacking = zlib.decompressobj(_ANY_HEADER)
            kept += unpacking.decompress(part, most_bytes + 1 - len(kept))
            part = unpacking.unconsumed_tail or unpacking.unused_data
    truncated = len(kept) > most_bytes
    if not truncated and (response.length or (unpacking is not None and not unpacking.eof)):
        raise HTTPException("its answer ends too early")
    return bytes(kept[:most_bytes]), truncated
