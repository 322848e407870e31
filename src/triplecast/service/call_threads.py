"""Calls that block, on threads, and never more than may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from triplecast.service.problems import Problem

_Result = TypeVar("_Result")
RETRY_SECONDS = 1


class CallThreads:
    """Threads for calls that block: so many at once, and so many that wait."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, f"triplecast-{name}")
        self._most = threads + waiting
        self.calls = 0
        """Under way or waiting."""

    async def call(self, work: Callable[[], _Result]) -> _Result:
        """What `work` returns. Raises `Problem` 429 where too many wait, and what `work` raises."""
        if self.calls >= self._most:
            raise overloaded("too many requests wait")
        self.calls += 1
        done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        done.add_done_callback(self._note_done)
        return await done

    def _note_done(self, _: object) -> None:
        self.calls -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


def overloaded(found: str) -> Problem:
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return Problem(429, "the service is overloaded", found, "send it again later", headers)
