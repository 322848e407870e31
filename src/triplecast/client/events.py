"""Reading ``text/event-stream`` (WHATWG HTML, 9.2.6), from bytes as they arrive."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_CHARACTERS = 64 << 20
"""Of one event; what is longer is no answer of a service that limits each answer to less."""
_LINE_END = re.compile("\r\n|\n|\r(?!$)")


class StreamEvent(NamedTuple):
    """An event as it is dispatched."""

    name: str
    """Empty for an id alone, which is no event: a place to go on from."""
    data: str
    id: str
    """Of this event, or of the last one before it that had one."""


class EventReader:
    """Reads one connection's bytes."""

    def __init__(self, last_id: str = "") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._data: list[str] = []
        self._size = 0
        self._name = ""
        self._id = self._told = last_id

    def read(self, received: bytes) -> Iterator[StreamEvent]:
        """Yield the events that end in what was received. Raises ValueError for one without an end."""
        *lines, self._rest = _LINE_END.split(self._rest + self._decoder.decode(received))
        for line in lines:
            self._size += len(line)
            if line:
                self._take(line)
                continue
            if self._data:
                yield StreamEvent(self._name or "message", "\n".join(self._data), self._id)
            elif self._id != self._told:
                yield StreamEvent("", "", self._id)
            self._data, self._name, self._size, self._told = [], "", 0, self._id
        if self._size + len(self._rest) > MOST_CHARACTERS:
            raise ValueError(f"an event of more than {MOST_CHARACTERS} characters")

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._id = value
