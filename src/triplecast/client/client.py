"""The client for threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

import httpx

from triplecast.client import calls
from triplecast.client.answers import RemoteAnswer, RemoteNotification, RemoteReceipt, RemoteSubscription
from triplecast.client.calls import Lease, Reading, RemotePage, Row, ServiceCall, ShortfallPage
from triplecast.client.connection import Connection
from triplecast.client.following import Follower
from triplecast.errors import EgressFailed, ServiceRefused

_Answer = TypeVar("_Answer")


class Client:
    """The methods of `Engine`, asked of a service. May be used from any thread.

    Methods raise `ServiceRefused` for what the service refuses, and `EgressFailed` where it cannot be reached: then
    what was asked was done or not, and to publish, remove or cancel again does no harm.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`url` of the service, as ``http://127.0.0.1:8000``; `token` where it asks for one; `timeout` of an answer in
        seconds; `sleep` waits between two attempts of `follow`."""
        self._service = Connection(url, token, timeout, transport, sleep)

    def close(self) -> None:
        self._service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(self, data: bytes | str, media_type: str | None = None, graph: str | None = None) -> RemoteReceipt:
        """Publish a document, in the place of the one of its `graph`. One that is rejected as a whole is refused."""
        return self.ask(calls.publish(data, media_type, graph))

    def publish_many(self, documents: Iterable[Mapping[str, str]]) -> list[RemoteReceipt]:
        """A receipt for each document, given with its ``id`` (the graph), ``media_type`` and ``data``."""
        return [receipt for call in calls.publish_many(documents) for receipt in self.ask(call)]

    def remove(self, graph: str) -> RemoteReceipt | None:
        """Remove the document of `graph`; None where there was none."""
        return self.ask(calls.remove(graph))

    def subscribe(self, text: str, id: str | None = None, lease: Lease = None, **options: object) -> RemoteSubscription:
        """Register a query; `options` as `Engine.subscribe` takes them (``language``, ``scope``, ``notify``, …)."""
        return self.ask(calls.subscribe(text, lease, {"id": id, **options}))

    def subscription(self, id: str, ticket: str | None = None) -> RemoteSubscription:
        """A live subscription."""
        return self.ask(calls.subscription(id, ticket))

    def renew(self, id: str, ticket: str | None = None, until: Lease = None) -> str | None:
        """Give its lease another end, and return that."""
        return self.ask(calls.renew(id, ticket, until))

    def unsubscribe(self, id: str, ticket: str | None = None) -> int:
        """Cancel it; return the journal position from which it is evaluated no more."""
        return self.ask(calls.unsubscribe(id, ticket))

    def subscriptions(self, owner: str | None = None, after: int | None = 0) -> Iterator[RemoteSubscription]:
        """Live subscriptions, those of an owner unless the token is an administrator's, beyond registration `after`."""
        while after is not None:
            page, after = self.ask(calls.subscriptions(owner, after))
            yield from page

    def preview(self, text: str, last: int = 1000, **options: str | None) -> Row:
        """What a query would have matched among the `last` publications, as JSON has it; `options`: ``language``,
        ``entailment``."""
        return self.ask(calls.preview(text, last, options))

    def explain(self, data: bytes | str, id: str, ticket: str | None = None, **named: str | None) -> list[Row]:
        """Why publications of a document match a subscription, or where all fail, the first ones, as JSON has it;
        `named`: by ``media_type``, ``graph``."""
        return self.ask(calls.explain(data, id, ticket, **named))

    def query(self, text: str) -> RemoteAnswer:
        """Ask the current documents, as `Engine.query` does."""
        return self.ask(calls.query(text, calls.remote_answer))

    def notifications(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> Iterator[RemoteNotification]:
        """The notifications beyond `since` (a sequence, a cursor or a time), page by page to the last."""
        for page in self.pages(since, subscription, owner, ticket):
            yield from page.notifications

    def pages(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> Iterator[RemotePage]:
        """The same by pages, of which the last may be empty, each with the cursor to go on from."""
        place, has_more = str(since), True
        while has_more:
            page = self.page(place, subscription, owner, ticket)
            yield page
            place, has_more = page.cursor, page.has_more

    def page(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> RemotePage:
        """The first page of them, and where the next one begins; since ``now`` it is empty."""
        return self.ask(Reading(subscription, owner, ticket).page(str(since)))

    def undecided(
        self, after: int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """The pairs that could not be decided at journal positions beyond `after`, as JSON has them."""
        return self._rows(Reading(subscription, owner, ticket).undecided, after)

    def rejects(self, after: int = 0) -> Iterator[dict[str, Any]]:
        """What was rejected at journal positions beyond `after`, likewise."""
        return self._rows(calls.rejects, after)

    def status(self) -> dict[str, Any]:
        """How far the folder has come."""
        return self.ask(calls.status())

    def follow(
        self, since: str | int = 0, subscription: str | None = None, owner: str | None = None, ticket: str | None = None
    ) -> Iterator[RemoteNotification]:
        """The same, and then each one as it is recorded, for ever: it connects again and goes on where it was, also
        after a restart of the service. Raises `HistoryPruned` where some are gone that were not read, and `InputError`
        once the subscription has ended."""
        follower = Follower(since, Reading(subscription, owner, ticket))
        while True:
            error: Exception | None = None
            try:
                with self._service.open(*follower.connect(self._service.timeout)) as response:
                    for received in response.iter_bytes():
                        yield from follower.read(received)
            except (EgressFailed, ServiceRefused) as found:
                error = found
            self._service.sleep(follower.pause(error))

    def _rows(self, ask: Callable[[int], ServiceCall[ShortfallPage]], after: int) -> Iterator[dict[str, Any]]:
        has_more = True
        while has_more:
            rows, after, has_more = self.ask(ask(after))
            yield from rows

    def ask(self, call: ServiceCall[_Answer]) -> _Answer:
        """The answer to a call of `triplecast.client.calls`, among them those of sources."""
        return self._service.ask(call)
