"""What the routes of one service share: its engine, its settings, its threads and its tail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from triplecast.delivery.hub import Hub
from triplecast.delivery.requests import TargetRequests
from triplecast.egress import Egress
from triplecast.engine import Engine
from triplecast.service.call_threads import CallThreads, overloaded
from triplecast.service.followers import Followers
from triplecast.service.idempotency import KeptAnswers
from triplecast.service.metrics import Metrics
from triplecast.service.problems import Problem
from triplecast.service.publishing import Publications
from triplecast.service.querying import Queries
from triplecast.service.settings import ServiceSettings
from triplecast.service.streams import Streams
from triplecast.service.tail import Tail
from triplecast.sources import Poller

_Result = TypeVar("_Result")
CALLBACKS = "/websub/"
"""The path below which hubs send what is new in the folder's sources; a secret follows."""


class ServiceState:
    """The only place where the service calls its engine: on threads, and never more than it may.

    Threads that publish at once share a transaction and its sync (`engine.publishing`).
    """

    def __init__(
        self, engine: Engine, settings: ServiceSettings, targets: TargetRequests | None, hub: Hub | None
    ) -> None:
        self.engine = engine
        self.targets, self.hub = targets, hub
        """None where nothing is delivered."""
        self.settings = settings
        self.notifications = engine.serving.notifications()
        self.journal = engine.serving.journal_reader()
        self.tail = Tail(self.notifications, self.journal)
        self.kept = KeptAnswers(engine.serving.folder, settings.idempotency.total_seconds())
        self.queries = Queries(engine, settings)
        self.writing = CallThreads("writing", settings.threads, settings.waiting)
        self.reading = CallThreads("reading", settings.threads, settings.waiting)
        self.querying = CallThreads("querying", 1, settings.queries_waiting)
        self.publications = Publications(engine, self.writing, settings.documents_waiting)
        self.streams = Streams(self.tail, self.notifications, self.reading)
        self.followers = Followers(engine, settings.logs_kept, settings.waiting)
        self.metrics = Metrics(engine, None if targets is None else targets.deliveries)
        self._held = 0
        folder = engine.serving.folder
        callbacks = settings.public_url and f"{settings.public_url.rstrip('/')}{CALLBACKS}"
        send = Egress(settings.egress).send
        self.poller = None if folder is None else Poller(engine, folder, send, callbacks=callbacks)
        """Asks the folder's sources; None in memory."""

    def check_streams(self) -> None:
        """Raises `Problem` 429 where too many are open."""
        if self.tail.streams >= self.settings.streams:
            raise overloaded("too many streams of notifications are open")

    def start(self) -> None:
        """On the event loop that answers requests."""
        self.tail.start()
        self.streams.start()
        if self.poller is not None:
            self.poller.start()

    def finish_streams(self) -> None:
        """They would go on; so do they who wait for a notification."""
        self.tail.finish()
        self.streams.finish()

    def stop(self) -> None:
        """Calls that are under way end first."""
        self.tail.stop()
        self.streams.stop()
        if self.poller is not None:
            self.poller.close()
        self.publications.close()
        for lane in (self.writing, self.reading, self.querying):
            lane.close()
        self.queries.close()
        self.followers.close()
        self.kept.close()
        self.notifications.close()
        if self.engine.serving.folder is not None:
            self.journal.close()

    async def call(self, work: Callable[[], _Result]) -> _Result:
        """What `work`, which writes nothing, returns. Raises what `CallThreads.call` raises."""
        return await self.reading.call(work)

    async def write(self, work: Callable[[], _Result]) -> _Result:
        """The same for what may write."""
        return await self.writing.call(work)

    async def query(self, text: str, form: str) -> bytes:
        """What `Queries.answer` returns."""
        return await self.querying.call(partial(self.queries.answer, text, form))

    @asynccontextmanager
    async def body(self, request: Request, most: int) -> AsyncIterator[bytes]:
        """The body of a request, held for as long as the block lasts. Raises `Problem` 413 beyond `most` bytes, 408 for
        one that does not come, 400 for one that breaks off, and 429 where too many bytes are held already."""
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with asyncio.timeout(self.settings.body_seconds):
                    async for part in request.stream():
                        size += len(part)
                        self._held += len(part)
                        if size > most:
                            raise Problem(413, "the body is too large", f"{most} bytes are allowed", "send it in parts")
                        if self._held > self.settings.waiting_bytes:
                            raise overloaded("the bodies of too many requests are held")
                        parts.append(part)
            except TimeoutError:
                raise Problem(408, "the body did not come", mend="send it faster, or in parts") from None
            except ClientDisconnect:
                raise Problem(400, "the body ends too early", mend="send it whole") from None  # for the log
            yield b"".join(parts)
        finally:
            self._held -= size


def service_of(request: Request) -> ServiceState:
    state: ServiceState = request.app.state.service
    return state


async def _state_of(request: Request) -> ServiceState:
    return service_of(request)  # not on a thread, as a function that is not `async` would be


State = Annotated[ServiceState, Depends(_state_of)]
