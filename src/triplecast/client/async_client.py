"""The client for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

import httpx

from triplecast.client import calls
from triplecast.client.answers import RemoteAnswer, RemoteNotification, RemoteReceipt, RemoteSubscription
from triplecast.client.calls import Lease, Reading, Reply, Row, ServiceCall, ShortfallPage, answering
from triplecast.client.connection import AnswerReader, settings_of
from triplecast.client.following import Follower
from triplecast.errors import EgressFailed, ServiceRefused

_Answer = TypeVar("_Answer")


class AsyncClient:
    """`Client`, with methods to await and iterators for ``async for``."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url
        with answering(url):
            self._http = httpx.AsyncClient(**settings_of(url, token, timeout), transport=transport)
        self._sleep = sleep

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def publish(
        self, data: bytes | str, media_type: str | None = None, graph: str | None = None
    ) -> RemoteReceipt:
        return await self.ask(calls.publish(data, media_type, graph))

    async def publish_many(self, documents: Iterable[Mapping[str, str]]) -> list[RemoteReceipt]:
        return [receipt for call in calls.publish_many(documents) for receipt in await self.ask(call)]

    async def remove(self, graph: str) -> RemoteReceipt | None:
        return await self.ask(calls.remove(graph))

    async def subscribe(
        self, text: str, id: str | None = None, lease: Lease = None, **options: object
    ) -> RemoteSubscription:
        return await self.ask(calls.subscribe(text, lease, {"id": id, **options}))

    async def subscription(self, id: str, ticket: str | None = None) -> RemoteSubscription:
        return await self.ask(calls.subscription(id, ticket))

    async def renew(self, id: str, ticket: str | None = None, until: Lease = None) -> str | None:
        return await self.ask(calls.renew(id, ticket, until))

    async def unsubscribe(self, id: str, ticket: str | None = None) -> int:
        return await self.ask(calls.unsubscribe(id, ticket))

    async def subscriptions(self, owner: str | None = None, after: int | None = 0) -> AsyncIterator[RemoteSubscription]:
        while after is not None:
            page, after = await self.ask(calls.subscriptions(owner, after))
            for each in page:
                yield each

    async def preview(self, text: str, last: int = 1000, **options: str | None) -> Row:
        return await self.ask(calls.preview(text, last, options))

    async def explain(self, data: bytes | str, id: str, ticket: str | None = None, **named: str | None) -> list[Row]:
        return await self.ask(calls.explain(data, id, ticket, **named))

    async def query(self, text: str) -> RemoteAnswer:
        return await self.ask(calls.query(text, calls.remote_answer))

    async def notifications(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> AsyncIterator[RemoteNotification]:
        place, has_more, reading = str(since), True, Reading(subscription, owner, ticket)
        while has_more:
            page = await self.ask(reading.page(place))
            for each in page.notifications:
                yield each
            place, has_more = page.cursor, page.has_more

    async def undecided(
        self, after: int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        async for row in self._rows(Reading(subscription, owner, ticket).undecided, after):
            yield row

    async def rejects(self, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        async for row in self._rows(calls.rejects, after):
            yield row

    async def status(self) -> dict[str, Any]:
        return await self.ask(calls.status())

    async def follow(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> AsyncIterator[RemoteNotification]:
        follower = Follower(since, Reading(subscription, owner, ticket))
        while True:
            error: Exception | None = None
            try:
                call, timeout = follower.connect(self._http.timeout)
                with answering(self._url):
                    async with self._http.stream(**call.sent, timeout=timeout) as response:
                        if not response.is_success:
                            call.answer(await _read(response))
                        async for received in response.aiter_bytes():
                            for each in follower.read(received):
                                yield each
            except (EgressFailed, ServiceRefused) as found:
                error = found
            await self._sleep(follower.pause(error))

    async def _rows(
        self, ask: Callable[[int], ServiceCall[ShortfallPage]], after: int
    ) -> AsyncIterator[dict[str, Any]]:
        has_more = True
        while has_more:
            page: ShortfallPage = await self.ask(ask(after))
            for row in page.rows:
                yield row
            after, has_more = page.after, page.has_more

    async def ask(self, call: ServiceCall[_Answer]) -> _Answer:
        """The answer to a call of `triplecast.client.calls`, among them those of sources."""
        with answering(self._url):
            async with self._http.stream(**call.sent) as response:
                return call.answer(await _read(response))


async def _read(response: httpx.Response) -> Reply:
    reader = AnswerReader(response)
    async for part in response.aiter_bytes():
        reader.take(part)
    return reader.answer()
