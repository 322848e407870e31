"""A WebSub hub for the feeds of subscriptions, and the callbacks of a subscriber to those of sources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote, urlsplit

from fastapi import APIRouter, Path, Request
from fastapi.responses import PlainTextResponse, Response

from triplecast.delivery.attempt import Attempt, AttemptOutcome, Deliver
from triplecast.delivery.hub import FeedContent, Hub, HubAnswer, distribute
from triplecast.delivery.requests import TargetRequests
from triplecast.egress import Egress
from triplecast.engine import Engine
from triplecast.journal import read_clock, system_clock
from triplecast.model.subscription import Registration
from triplecast.outbox import Notification
from triplecast.service.feeds import WRITTEN, open_feed, write_feed
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import CALLBACKS, State

router = APIRouter(tags=["feeds"], responses=RESPONSES)

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 16 << 10
FIELDS = 20
_PLACE = "/subscriptions/"
_NO_CALLBACK = Problem(410, "there is no such callback", mend="send nothing more")
_SENT = {"requestBody": {"required": True, "content": {"*/*": {"schema": {"type": "string"}}}}}
Token = Annotated[str, Path(max_length=64)]
_REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "why not", "content": {**RESPONSES["4XX"]["content"], "text/plain": {}}}
}
"""What the hub itself says is text (WebSub, 5.2)."""
_FORM = {"requestBody": {"required": True, "content": {FORM: {"schema": {"type": "string"}}}}}


@router.post("/hub", status_code=202, openapi_extra=_FORM, response_class=PlainTextResponse, responses=_REFUSED)
async def hub(request: Request, state: State) -> Response:
    """Subscribe a callback to a feed, or unsubscribe it (W3C WebSub). It needs the feed's address, a secret."""
    if state.hub is None:
        raise Problem(409, "this service is no hub", "it delivers nothing", "serve a folder")
    async with state.body(request, FORM_BYTES) as data:
        form = _read_form(data)
    answer: HubAnswer = await state.call(partial(state.hub.request, form))
    return PlainTextResponse(answer.text + "\n", answer.status)


@router.get(CALLBACKS + "{token}", response_class=PlainTextResponse)
async def verify(request: Request, state: State, token: Token) -> Response:
    """A hub asks whether a subscription was meant. Only hubs know the address."""
    subscriber = None if state.poller is None else state.poller.subscriber
    if subscriber is None:
        raise _NO_CALLBACK
    form = dict(request.query_params)
    echo = await state.call(partial(subscriber.verify, token, form, read_clock(system_clock)))
    if echo is None:
        raise _NO_CALLBACK
    return PlainTextResponse(echo, headers={"X-Content-Type-Options": "nosniff"})


@router.post(CALLBACKS + "{token}", status_code=202, response_class=PlainTextResponse, openapi_extra=_SENT)
async def receive(request: Request, state: State, token: Token) -> Response:
    """A hub sends what is new in a feed. It is taken where its signature is right."""
    poller = state.poller
    if (
        poller is None
        or poller.subscriber is None
        or await state.call(partial(poller.subscriber.source_of, token)) is None
    ):
        raise _NO_CALLBACK
    async with state.body(request, state.settings.document_bytes) as data:
        signature, media_type = request.headers.get("x-hub-signature", ""), request.headers.get("content-type")
        if not await state.write(partial(poller.receive, token, signature, data, media_type)):
            raise _NO_CALLBACK
    return PlainTextResponse("taken\n", 202)


def _read_form(data: bytes) -> dict[str, str]:
    """The last of each field. Raises `Problem` 400."""
    try:
        found = parse_qs(data.decode("ascii"), max_num_fields=FIELDS, errors="strict")
    except ValueError as error:
        raise Problem(400, "the form cannot be read", str(error), f"send {FORM}") from None
    return {name: values[-1] for name, values in found.items()}


def open_hub(engine: Engine, egress: Egress, requests: TargetRequests) -> Hub:
    """To be closed."""
    return Hub(egress, requests, lambda topic: (find_topic(engine, topic) or (None,))[0])


def find_topic(engine: Engine, topic: str) -> tuple[Registration, str] | None:
    """The subscription whose feed has this address, and the feed's form; None for another address."""
    try:
        parts = urlsplit(topic)
    except ValueError:
        return None
    place, found, name = parts.path.rpartition("/feed.")
    _, is_there, id = place.partition(_PLACE)
    key = parse_qs(parts.query).get("key", [""])[0]
    if not found or not is_there or name not in WRITTEN:
        return None
    try:
        return open_feed(engine, unquote(id), key), name
    except Problem:
        return None


def websub_way(engine: Engine, egress: Egress) -> Deliver:
    """Sends new entries to callbacks, as long as the feed has the address that they subscribed to."""

    def deliver(attempt: Attempt) -> AttemptOutcome:
        return distribute(egress, hub_of(attempt.target.topic), partial(_render, engine), attempt)

    return deliver


def hub_of(topic: str) -> str:
    """The address of the hub of a feed."""
    return f"{topic.partition(_PLACE)[0]}/hub"


def _render(engine: Engine, topic: str, notifications: Sequence[Notification]) -> FeedContent | None:
    found = find_topic(engine, topic)
    if found is None:
        return None
    subscription, form = found
    written = write_feed(engine, subscription, form, topic, [*reversed(notifications)], hub_of(topic))
    return FeedContent(WRITTEN[form][0], written)
