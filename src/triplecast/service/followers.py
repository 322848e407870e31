"""The logs that local repositories follow, kept while they do."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TypeVar

from triplecast.engine import Engine
from triplecast.local import FolderProvider
from triplecast.service.call_threads import CallThreads, overloaded
from triplecast.service.problems import Problem

_Result = TypeVar("_Result")


class _Follower:
    """Its provider answers one call at a time; whoever waits for that holds no thread."""

    def __init__(self) -> None:
        self.provider: FolderProvider | None = None
        self.turn = asyncio.Lock()
        self.held = Lock()
        """By the thread that answers, also where nobody waits for that any more."""
        self.calls = 0


class Followers:
    """The logs of one folder, by owner; "" for what needs none. The newest are kept, each with the documents in memory,
    and others made again when they are asked for. One that takes long keeps nobody else waiting."""

    def __init__(self, engine: Engine, most: int, waiting: int) -> None:
        self._engine = engine
        self._most = most
        self._waiting = waiting
        """Calls of one follower."""
        self._threads = CallThreads("followers", most, waiting)
        self._kept: OrderedDict[str, _Follower] = OrderedDict()

    async def call(self, owner: str, work: Callable[[FolderProvider], _Result]) -> _Result:
        """What `work` returns. Raises `Problem` 404 for an engine in memory and 429 where too many wait, and what
        `work` raises."""
        if self._engine.serving.folder is None:
            raise Problem(404, "a service in memory has no log", mend="serve a folder")
        follower = self._kept.setdefault(owner, _Follower())
        self._kept.move_to_end(owner)
        if follower.calls >= self._waiting:
            raise overloaded("too many requests of this follower wait")
        follower.calls += 1
        try:
            async with follower.turn:
                return await self._threads.call(partial(self._answer, follower, work))
        finally:
            follower.calls -= 1
            self._forget(self._most)

    def _answer(self, follower: _Follower, work: Callable[[FolderProvider], _Result]) -> _Result:
        with follower.held:
            follower.provider = follower.provider or FolderProvider(self._engine)
            return work(follower.provider)

    def _forget(self, most: int) -> None:
        """Close those that were asked last longest ago, and are not asked now."""
        for owner, each in [*self._kept.items()]:
            if len(self._kept) > most and not each.calls and each.held.acquire(blocking=False):
                del self._kept[owner]
                if each.provider is not None:
                    each.provider.close()

    def close(self) -> None:
        """Calls that are under way end first."""
        self._threads.close()
        self._forget(0)
