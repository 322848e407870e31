"""The function of a parser's child. Its imports bring all that a parser may need: the child opens no file later."""

from __future__ import annotations

from triplecast.ingest.frames import pack_parsed, unpack_document
from triplecast.ingest.parse import parse_document


def answer(request: bytes) -> bytes:
    return pack_parsed(parse_document(unpack_document(request)))
