"""Documents of requests, published by one thread for all: those that come meanwhile are the next group."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import NamedTuple

from triplecast.engine import Engine, Receipt
from triplecast.engine.publishing import interrupted
from triplecast.ingest import Document
from triplecast.service.call_threads import CallThreads, overloaded

TOGETHER = 64
"""Documents of one group."""
OVERLOADED = 8
"""Documents that wait at most while more come than are committed: those that are accepted are answered soon."""
_IDLE_SECONDS = 0.1
_REFUSAL, _REFUSALS = 16, 2_000
"""How many documents are accepted, after one is refused and after many are, until that is over."""


class _Waiting(NamedTuple):
    document: Document
    outcome: asyncio.Future[Receipt | Exception | None]


class Publications:
    """On the event loop. A thread for each request would take the interpreter from the loop and from who commits."""

    def __init__(self, engine: Engine, threads: CallThreads, most: int) -> None:
        """At most so many documents wait. `threads` are for those that are published alone."""
        self._engine = engine
        self._alone = threads
        self._together = CallThreads("publishing", 1, 0)
        self._most = most
        self._overload = 0
        """How many more documents are to be accepted until it is over;"""
        self._idle_since = 0.0
        """or nothing is published for `_IDLE_SECONDS`."""
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    def close(self) -> None:
        self._together.close()

    def check(self) -> None:
        """Raises `Problem` 429 where too many wait. Once that has happened fewer may, for as long as more than one of
        `_REFUSAL` is refused: a queue that never empties would make all wait, and serve no more of them."""
        if self._task is None and time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._overload = 0
        if len(self._waiting) >= (min(self._most, OVERLOADED) if self._overload else self._most):
            self._overload = min(self._overload + _REFUSAL, _REFUSALS)
            raise overloaded("too many documents wait")

    async def publish(self, document: Document) -> Receipt:
        """What `Engine.publish` returns. Raises what that and `check` raise."""
        self.check()
        self._overload = max(self._overload - 1, 0)
        waiting = _Waiting(document, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._publish_waiting())
        outcome = await waiting.outcome
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            alone = partial(self._engine.publish, document.data, document.media_type, document.graph)
            return await self._alone.call(alone)
        return outcome

    async def _publish_waiting(self) -> None:
        try:
            while self._waiting:
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER))]
                documents = [each.document for each in group]
                outcomes: list[Receipt | Exception | None]
                try:
                    outcomes = await self._together.call(partial(self._engine.serving.publish_together, documents))
                except Exception as error:
                    outcomes = [error] * len(group)
                except BaseException as error:  # a panic of native code: who waits is answered nevertheless
                    if isinstance(error, asyncio.CancelledError):
                        raise
                    outcomes = [interrupted()] * len(group)
                for each, outcome in zip(group, outcomes, strict=True):
                    if not each.outcome.done():
                        each.outcome.set_result(outcome)
        finally:
            self._task, self._idle_since = None, time.monotonic()
