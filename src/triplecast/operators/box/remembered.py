"""What a function gave for the texts it was given last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from threading import Lock
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Made = TypeVar("_Made")


class Remembered(Generic[_Key, _Made]):
    """Calls `make` with a text and a key, and keeps what it gives while all that is kept takes about `most` bytes: the
    least recently asked for goes first. What is larger by itself is made anew at each call, and what `make` raises is
    not kept. `weigh` says how many bytes a result takes; its text is counted beside it. Used by any thread."""

    def __init__(self, make: Callable[[str, _Key], _Made], weigh: Callable[[_Made], int], most: int) -> None:
        self._make = make
        self._weigh = weigh
        self._most = most
        self._kept: OrderedDict[tuple[str, _Key], tuple[_Made, int]] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0
        """Of what is kept, `most` at most."""

    def __call__(self, text: str, key: _Key) -> _Made:
        with self._lock:
            if (text, key) in self._kept:
                self._kept.move_to_end((text, key))
                return self._kept[text, key][0]
        made = self._make(text, key)
        size = self._weigh(made) + getsizeof(text)
        with self._lock:
            if size <= self._most and (text, key) not in self._kept:
                self._kept[text, key] = made, size
                self.bytes += size
                while self.bytes > self._most:
                    _, (_, least) = self._kept.popitem(last=False)
                    self.bytes -= least
        return made
