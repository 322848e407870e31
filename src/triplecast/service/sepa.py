"""SEPA's SPARQL 1.1 Subscribe Language over WebSocket (https://vaimee.org/TR/sparql11-subscribe.html), a second door to
subscriptions of repository scope.

A subscription lives as long as its connection, and a lease ends those that a crash leaves. A connection is one task,
whatever the number of its subscriptions, each a cursor over the shared tail.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from triplecast.engine import Engine, Subscribed
from triplecast.errors import InputError, StorageFault, TriplecastError
from triplecast.model.subscription import REPOSITORY
from triplecast.outbox import Cursor
from triplecast.outbox.recent_rows import WantedRows
from triplecast.results import head_of, results_json
from triplecast.service.handover import STALL_SECONDS, TRUST
from triplecast.service.notification_pages import read_rows
from triplecast.service.problems import Problem, problem_of
from triplecast.service.settings import SUBSCRIBE
from triplecast.service.state import ServiceState
from triplecast.service.tokens import opened
from triplecast.syndication.turtle import SUBSCRIPTION

router = APIRouter()

MOST = 100
"""Subscriptions of one connection."""
LEASE_SECONDS = 3600.0
UNKNOWN_SECONDS = 20.0
"""How long a connection is kept that has shown no token, where one is needed."""
_DATASET = ("default-graph-uri", "named-graph-uri")
_NONE: Mapping[str, object] = {"head": {"vars": []}, "results": {"bindings": []}}


@dataclass(slots=True)
class Standing:
    """A subscription of a connection."""

    id: str
    ticket: str
    wanted: WantedRows
    place: Cursor
    """Everything up to here was sent."""
    first: frozenset[str]
    """Ids of the notifications that its first message has said."""
    renewed: float
    sequence: int = 0
    """Of the last message about it."""


@router.websocket("/subscribe")
async def subscribe(socket: WebSocket) -> None:
    state: ServiceState = socket.app.state.service
    await socket.accept()
    connection = SepaConnection(socket, state)
    try:
        state.check_streams()
        with state.tail.reading(None), suppress(WebSocketDisconnect, TimeoutError):
            await connection.serve()
            await socket.close(1001)
    except Problem as problem:
        await socket.send_text(_error(problem))
        await socket.close(1013)
    finally:
        await connection.end()


class SepaConnection:
    """What one client has subscribed to."""

    def __init__(self, socket: WebSocket, state: ServiceState) -> None:
        self._socket, self._state = socket, state
        self._standing: dict[str, Standing] = {}
        self._is_known = False
        with suppress(Problem):  # the header may have the token, or a message
            self._owner(None)

    async def serve(self) -> None:
        """Until the service ends. Raises WebSocketDisconnect, and TimeoutError for a client that takes nothing, or that
        shows no token in time."""
        tail, asked = self._state.tail, asyncio.create_task(self._receive())
        until = time.monotonic() + UNKNOWN_SECONDS
        try:
            while not tail.is_ended:
                await self._tell()
                readers = [(each.place, each.wanted) for each in self._standing.values()]
                woken = asyncio.create_task(tail.wait_any(readers, LEASE_SECONDS / 4))
                left = None if self._is_known else max(0.0, until - time.monotonic())
                await asyncio.wait((asked, woken), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                if left == 0:
                    raise TimeoutError
                if asked.done():
                    await self._send(await self._answer(asked.result()))
                    asked = asyncio.create_task(self._receive())
        finally:
            asked.cancel()

    async def _receive(self) -> str:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text: str | None = message.get("text")
        return (message.get("bytes") or b"").decode("utf-8", "replace") if text is None else text

    async def end(self) -> None:
        """Also where the connection's task is cancelled: what is left then ends with its lease."""
        with suppress(Problem):
            await asyncio.shield(
                self._state.write(partial(_cancel_all, self._state.engine, [*self._standing.values()]))
            )

    # ---- telling ----------------------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        """What was recorded for its subscriptions."""
        for uri, each in [*self._standing.items()]:
            try:
                async for row in self._rows(each):
                    if row["id"] not in each.first:
                        each.sequence += 1
                        await self._send(_notification(uri, each.sequence, row["answer"], row.get("removed", _NONE)))
            except Problem as lost:  # what comes later would add to an answer that the client does not have
                await self._cancel(uri)
                await self._send(_error(lost))
                continue
            if time.monotonic() > each.renewed + LEASE_SECONDS / 3:
                await self._renew(uri, each)

    async def _renew(self, uri: str, standing: Standing) -> None:
        try:
            await self._state.write(partial(self._state.engine.renew, standing.id, standing.ticket, LEASE_SECONDS))
            standing.renewed = time.monotonic()
        except (Problem, StorageFault):
            return  # too many wait, or the disk is full: there is time for further tries
        except InputError:
            del self._standing[uri]
            await self._send(_error(Problem(410, "the subscription has ended", uri, "subscribe again")))

    async def _rows(self, standing: Standing) -> AsyncIterator[dict[str, Any]]:
        """Raises `Problem` 410 where some have been pruned."""
        state = self._state
        while state.tail.after(standing.place, standing.wanted) != []:
            try:
                page = await state.call(partial(read_rows, state.notifications, standing.place, standing.wanted))
            except Problem:  # too many wait
                await asyncio.sleep(1)
                continue
            if page.lost:
                where = SUBSCRIPTION + quote(standing.id, safe="")
                raise Problem(410, "the subscription has ended", f"{where}: {page.lost}", "subscribe again")
            for row in page.rows:
                yield json.loads(row.line)
            standing.place = page.end
        standing.place = max(standing.place, state.tail.end)  # what others were told may be pruned

    async def _send(self, message: str) -> None:
        async with asyncio.timeout(STALL_SECONDS):
            await self._socket.send_text(message)

    # ---- requests ---------------------------------------------------------------------------------------------------

    async def _answer(self, text: str) -> str:
        try:
            request = _read(text)
            if "subscribe" in request:
                return await self._subscribe(request, request["subscribe"])
            if "unsubscribe" in request:
                return await self._unsubscribe(request["unsubscribe"])
            raise Problem(400, "this request is unknown", mend='send {"subscribe": …} or {"unsubscribe": …}')
        except Problem as problem:
            return _error(problem)
        except TriplecastError as error:
            return _error(problem_of(error))

    async def _subscribe(self, request: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
        owner = self._owner(wanted.get("authorization") or request.get("authorization"))
        text, alias = wanted.get("sparql"), wanted.get("alias")
        if not isinstance(text, str) or not text:
            raise Problem(400, "the query is missing", mend='send {"subscribe": {"sparql": QUERY}}')
        if isinstance(alias, str) and alias != alias.encode("utf-8", "replace").decode():
            raise Problem(400, "the alias holds half a character", mend="give text that can be written as UTF-8")
        if any(wanted.get(name) for name in _DATASET):
            raise Problem(422, "a dataset cannot be chosen", mend=f"leave {' and '.join(_DATASET)} out")
        if len(self._standing) >= MOST:
            raise Problem(429, "the connection has too many subscriptions", f"{MOST} are allowed", "open another one")
        engine, place = self._state.engine, self._state.tail.end
        subscribed: Subscribed = await self._state.write(
            partial(engine.subscribe, text, scope=REPOSITORY, owner=owner, lease=LEASE_SECONDS)
        )
        uri = SUBSCRIPTION + quote(subscribed.id, safe="")
        ids = frozenset(each.notification for each in subscribed.matches)
        rows = WantedRows(subscribed.id, None, subscribed.registration)
        self._standing[uri] = Standing(subscribed.id, subscribed.ticket, rows, place, ids, time.monotonic())
        answer = await self._state.call(partial(_first_answer, self._state, subscribed))
        return _notification(uri, 0, answer, {}, alias if isinstance(alias, str) else None)

    async def _unsubscribe(self, wanted: Mapping[str, Any]) -> str:
        uri = wanted.get("spuid")
        standing = self._standing.get(uri) if isinstance(uri, str) else None
        if standing is None:
            raise Problem(404, "this connection has no such subscription", mend="send the spuid that it was given")
        await self._cancel(str(uri))
        return json.dumps({"unsubscribed": {"spuid": uri}})

    async def _cancel(self, uri: str) -> None:
        standing = self._standing[uri]
        await self._state.write(partial(self._state.engine.unsubscribe, standing.id, standing.ticket))
        del self._standing[uri]

    def _owner(self, authorization: object) -> str | None:
        """Whose the subscription is; from now on the client is known. Raises `Problem` 401 and 403."""
        sent = authorization if isinstance(authorization, str) else self._socket.headers.get("authorization", "")
        access = opened(self._state.settings.tokens, sent.removeprefix("Bearer ").strip(), SUBSCRIBE)
        trust = self._socket.scope.get("state", {}).get(TRUST)
        if not self._is_known and trust is not None and (known := trust()) is not None:
            known()
        self._is_known = True
        return access.owner


def _cancel_all(engine: Engine, standing: Iterable[Standing]) -> None:
    for each in standing:
        with suppress(TriplecastError):
            engine.unsubscribe(each.id, each.ticket)


def _first_answer(state: ServiceState, subscribed: Subscribed) -> Mapping[str, object]:
    """What a subscription finds in the documents that there are."""
    for match in subscribed.matches:
        return match.answer  # type: ignore[no-any-return]
    source = state.notifications.definitions()
    (registration,) = source.registrations([subscribed.registration])
    return results_json(head_of(registration.subscription, source.operators, ()), ())


def _read(text: str) -> Mapping[str, Any]:
    """Raises `Problem` 400."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "the request is no JSON", str(error)[:200]) from None
    if not isinstance(request, dict) or not all(
        isinstance(request.get(name, {}), dict) for name in ("subscribe", "unsubscribe")
    ):
        raise Problem(400, "the request is not as described", mend='send {"subscribe": {"sparql": QUERY}}')
    return request


def _notification(uri: str, sequence: int, added: object, removed: object, alias: str | None = None) -> str:
    said = {"spuid": uri, "sequence": sequence} | ({} if alias is None else {"alias": alias})
    return json.dumps({"notification": said | {"addedResults": added, "removedResults": removed}}, ensure_ascii=False)


def _error(problem: Problem) -> str:
    """As the language's drafts have it, of 2018 (`code`, `body`) and later."""
    body = "; ".join(each for each in (problem.title, problem.detail, problem.mend) if each)
    later = {"status_code": problem.status, "error": problem.title, "error_description": body}
    return json.dumps({"error": {"code": problem.status, "body": body, **later}})
