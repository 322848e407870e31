"""Calls of several threads share a piece of work: one thread does it for all that wait, so they share its costs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Call(Generic[_Item, _Result]):
    """One thread's call; `turn` is released when it is done, or is to do the work for those that wait."""

    __slots__ = ("error", "item", "results", "turn")

    def __init__(self, item: _Item) -> None:
        self.item = item
        self.results: list[_Result] = []
        self.error: BaseException | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class Together(Generic[_Item, _Result]):
    """Runs `work` for the items of all threads that wait, at most `most` at once, in the order of their calls.

    `work` returns a result for each item. What it raises is raised in every thread whose item it was given.
    """

    def __init__(self, work: Callable[[Sequence[_Item]], Sequence[_Result]], most: int) -> None:
        self._work = work
        self._most = most
        self._mutex = threading.Lock()
        self._waiting: deque[_Call[_Item, _Result]] = deque()
        self._busy = False

    def __call__(self, item: _Item) -> _Result:
        """Return what `work` gives for `item`."""
        call = _Call[_Item, _Result](item)
        with self._mutex:
            self._waiting.append(call)
            leads = not self._busy
            self._busy = True
        if not leads:
            call.turn.acquire()
        if not call.results and call.error is None:
            self._lead()
        if call.error is not None:
            raise call.error
        return call.results[0]

    def _lead(self) -> None:
        """Do the work for the first calls that wait, this thread's among them, and let the next call lead."""
        with self._mutex:
            group = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        try:
            for call, result in zip(group, self._work([call.item for call in group]), strict=True):
                call.results.append(result)
        except BaseException as error:
            for call in group:
                call.error = call.error or error
        with self._mutex:
            following = self._waiting[0] if self._waiting else None
            self._busy = following is not None
        for call in [*group[1:], *([following] if following else [])]:
            call.turn.release()
