"""A subscription's notifications as a feed, at an address that is the secret: feed readers send no headers."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from triplecast.engine import Engine
from triplecast.engine.serving import NotificationSource
from triplecast.errors import InputError
from triplecast.model.subscription import Registration
from triplecast.outbox import Notification
from triplecast.service.preconditions import Preconditions
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import State
from triplecast.service.subscriptions import Own
from triplecast.syndication.feed import ATOM, JSON_FEED, FeedHead, atom_feed, json_feed

router = APIRouter(tags=["feeds"], responses=RESPONSES)

ENTRIES = 100
"""Of one page of a feed."""
WRITTEN: Mapping[str, tuple[str, Callable[[FeedHead, Sequence[Notification]], bytes]]] = MappingProxyType(
    {"atom": (ATOM, atom_feed), "json": (JSON_FEED, json_feed)}
)
_NONE = Problem(404, "there is no such feed", mend="ask for its address again: GET /subscriptions/ID/feed")

Key = Annotated[str, Query(max_length=64, description="the secret of the feed")]
Before = Annotated[int | None, Query(ge=1, lt=1 << 63, description="entries before this sequence")]


class FeedAddresses(BaseModel):
    """Where a feed is read. Whoever has an address reads the feed, and can do nothing else."""

    atom: str
    json_feed: str
    ldes: str
    """A Linked Data Event Stream; `stream` is a Durable Stream."""
    stream: str


@router.get("/subscriptions/{id:path}/feed")
async def read_addresses(request: Request, state: State, found: Own) -> FeedAddresses:
    """The addresses of a subscription's feeds."""
    return await state.call(partial(_addresses, request, state.engine, found))


@router.delete("/subscriptions/{id:path}/feed")
async def revoke_addresses(request: Request, state: State, found: Own) -> FeedAddresses:
    """From now on its feeds have other addresses, and those before are no more."""
    await state.write(partial(state.engine.serving.revoke_feed, found))
    return await state.call(partial(_addresses, request, state.engine, found))


_READ: dict[int | str, dict[str, Any]] = {304: {"description": "it is as If-None-Match has it"}}


def _described(form: str) -> dict[int | str, dict[str, Any]]:
    return _READ | {200: {"description": "the newest entries first", "content": {form: {"schema": {"type": "string"}}}}}


@router.get("/subscriptions/{id:path}/feed.atom", responses=_described(ATOM), response_model=None)
async def read_atom(request: Request, state: State, id: str, key: Key = "", before: Before = None) -> Response:
    """Atom 1.0, one entry an event. Its address is the secret."""
    return await _feed(request, state, id, key, before, "atom")


@router.get("/subscriptions/{id:path}/feed.json", responses=_described(JSON_FEED), response_model=None)
async def read_json_feed(request: Request, state: State, id: str, key: Key = "", before: Before = None) -> Response:
    """JSON Feed 1.1, likewise."""
    return await _feed(request, state, id, key, before, "json")


async def _feed(request: Request, state: State, id: str, key: str, before: int | None, form: str) -> Response:
    engine, source = state.engine, state.notifications
    found = await state.call(partial(open_feed, engine, id, key))
    told = await state.call(partial(_latest, source, found, before))
    tag = f'"{told[0].sequence if told else 0}-{told[-1].sequence if told else 0}"'
    headers = {"ETag": tag, "Cache-Control": "private, max-age=60", "Referrer-Policy": "no-referrer"}
    address = f"{_place(request, id)}/feed.{form}?"
    own = address + urlencode({"key": key} if before is None else {"key": key, "before": str(before)})
    hub = None if state.hub is None else f"{request.base_url}hub"
    headers["Link"] = f'<{own}>; rel="self"' if hub is None else f'<{hub}>; rel="hub", <{own}>; rel="self"'
    if Preconditions.of(request.headers).knows(tag):
        return Response(status_code=304, headers=headers)
    older = {"key": key, "before": str(told[-1].sequence)} if len(told) == ENTRIES else None
    following = None if older is None else address + urlencode(older)
    write = partial(write_feed, engine, found, form, own, told, hub, following)
    return Response(await state.call(write), 200, headers, WRITTEN[form][0])


def write_feed(
    engine: Engine,
    found: Registration,
    form: str,
    address: str,
    told: Sequence[Notification],
    hub: str | None,
    older: str | None = None,
) -> bytes:
    """The feed of a subscription at an address, with these entries, the newest first."""
    head = FeedHead(
        id=f"urn:triplecast:feed:{engine.serving.feed_name(found)}",
        title=found.subscription.name,
        address=address,
        updated=told[0].accepted_at if told else engine.serving.subscribed_at(found),
        older=older,
        hub=hub,
    )
    return WRITTEN[form][1](head, told)


def open_feed(engine: Engine, id: str, key: str) -> Registration:
    """The live subscription whose feed a key opens. One `Problem` 404 for an unknown id, for one that has no feed and
    for a wrong key: a guess learns nothing."""
    try:
        found = engine.serving.registration(id, None)
        known = engine.serving.feed_key(found)
    except InputError:
        raise _NONE from None
    if not hmac.compare_digest(known.encode(), key.encode("utf-8", "backslashreplace")):
        raise _NONE
    return found


def _latest(source: NotificationSource, found: Registration, before: int | None) -> list[Notification]:
    return source.outbox.latest(ENTRIES, before, found.id, source.definitions())


def _addresses(request: Request, engine: Engine, found: Registration) -> FeedAddresses:
    address, key = _place(request, found.subscription.name), urlencode({"key": engine.serving.feed_key(found)})
    parts = {"atom": "feed.atom", "json_feed": "feed.json", "ldes": "ldes", "stream": "stream"}
    return FeedAddresses(**{name: f"{address}/{part}?{key}" for name, part in parts.items()})


def _place(request: Request, id: str) -> str:
    return f"{request.base_url}subscriptions/{quote(id, safe='')}"
