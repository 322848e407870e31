"""Frames of ``text/event-stream`` (WHATWG HTML, 9.2). The id of an event is the cursor to go on from."""

from __future__ import annotations

from triplecast.outbox import Cursor

MEDIA_TYPE = "text/event-stream"
BEGIN = b"retry: 2000\n"
"""Milliseconds after which a browser connects again; `place_frame` follows."""


def place_frame(cursor: Cursor) -> bytes:
    """An id alone: it shows both sides that the connection lives, and is where a browser goes on from, which may be
    beyond notifications of others."""
    return f"id: {cursor}\n\n".encode()


def event_frame(line: str, cursor: Cursor, name: str | None = None) -> bytes:
    """One event with a line of data. Without a `name` it is a ``message``, which browsers hand to ``onmessage``."""
    named = f"event: {name}\n" if name else ""
    return f"id: {cursor}\n{named}data: {line}\n\n".encode()
