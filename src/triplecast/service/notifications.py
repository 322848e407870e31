"""Reading notifications: what a cursor has not seen yet, in the form that Accept asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Security
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials

from triplecast.engine.serving import NotificationSource
from triplecast.errors import InputError
from triplecast.model.subscription import LONGEST_NAME
from triplecast.outbox import Cursor, Notification
from triplecast.outbox.following import read_place
from triplecast.outbox.recent_rows import WantedRows
from triplecast.service.negotiation import choose
from triplecast.service.notification_pages import MOST_ROWS, read_notifications, read_rows
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.settings import ADMIN
from triplecast.service.state import ServiceState, State
from triplecast.service.streams import NotificationStream
from triplecast.service.subscriptions import Ticket, readable_subscription
from triplecast.service.tokens import allow, bearer
from triplecast.syndication import cloud_event, notifications_turtle, results_table
from triplecast.syndication.cloud_events import BATCH
from triplecast.syndication.results_table import MEDIA_TYPE as RESULTS
from triplecast.syndication.server_sent_events import MEDIA_TYPE as EVENTS
from triplecast.syndication.turtle import MEDIA_TYPE as TURTLE

router = APIRouter(tags=["notifications"], responses=RESPONSES)

JSON, NDJSON = "application/json", "application/x-ndjson"
MOST_WAIT = 60

Write = Callable[[Sequence[Notification]], bytes]
_WRITTEN: Mapping[str, Write] = MappingProxyType(
    {
        RESULTS: lambda told: _json(results_table(told)),
        TURTLE: notifications_turtle,
        BATCH: lambda told: _json([cloud_event(each) for each in told]),
    }
)
"""Forms that are written from notifications with their queries; the others are of lines of JSON."""
FORMS = (JSON, NDJSON, *_WRITTEN, EVENTS)

Name = Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME)]


async def _reader(
    request: Request,
    state: State,
    subscription: Name = None,
    owner: Name = None,
    ticket: Ticket = None,
    sent: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)] = None,
) -> WantedRows:
    """What a ticket opens, the notifications of one registration; without one, what a token does. Raises `Problem`."""
    if ticket is not None:
        if subscription is None:
            raise Problem(400, "a ticket opens one subscription", mend="name it: ?subscription=ID")
        found = await readable_subscription(request, state, subscription, ticket, sent)
        return WantedRows(subscription, owner, found.id)
    access = await allow("read")(request, sent)
    if access.owner is None or ADMIN in access.scopes:
        return WantedRows(subscription, owner)
    if owner not in (None, access.owner):
        raise Problem(403, "these are another owner's notifications", mend="leave the owner out")
    return WantedRows(subscription, access.owner)


Wanted = Annotated[WantedRows, Depends(_reader)]
_HEADERS = {
    "Triplecast-Cursor": {"schema": {"type": "string"}, "description": "`since` of the next request"},
    "Link": {"schema": {"type": "string"}, "description": "the next page, where there is more"},
}
_TEXT = {"schema": {"type": "string"}}
_PAGE = {
    "type": "object",
    "required": ["notifications", "cursor", "more"],
    "properties": {
        "notifications": {"type": "array", "items": {"type": "object"}},
        "cursor": {"type": "string", "description": "`since` of the next request"},
        "more": {"type": "boolean", "description": "whether there are more already"},
    },
}
_READ: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the notifications beyond the cursor",
        "headers": _HEADERS,
        "content": {
            **dict.fromkeys((NDJSON, TURTLE, EVENTS), _TEXT),
            JSON: {"schema": _PAGE},
            RESULTS: {"schema": {"type": "object"}},
            BATCH: {"schema": {"type": "array", "items": {"type": "object"}}},
        },
    },
    410: {"description": "notifications beyond the cursor are gone; `cursor` says where to go on"},
}


@router.get("/notifications", responses=_READ, response_model=None)
async def get_notifications(
    request: Request,
    state: State,
    wanted: Wanted,
    since: Annotated[
        str, Query(max_length=64, description="a sequence, a cursor, a time with a zone, or `now`; exclusive")
    ] = "0",
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = MOST_ROWS,
    wait: Annotated[float, Query(ge=0, le=MOST_WAIT, description="seconds to wait for the first one")] = 0,
) -> Response:
    """The notifications beyond a cursor, in order, or as they come (text/event-stream). A subscription's ticket opens
    its own, a token of scope `read` those of its owner."""
    form = choose(request.headers.get("accept"), FORMS)
    source = state.notifications
    last = request.headers.get("last-event-id", "")[:64] if form == EVENTS else ""
    place = await state.call(partial(read_place, source.outbox, last or since))
    if form == EVENTS:
        await state.call(partial(check_known, state, wanted))
        state.check_streams()
        ticket = request.headers.get("triplecast-ticket")
        is_live = None if ticket is None else partial(_is_live, state, wanted, ticket)
        return NotificationStream(state.streams, place, wanted, is_live)
    read = partial(_read_page, source, form, wanted=wanted, limit=limit)
    page = await state.call(partial(read, place))
    if page.is_empty:
        await state.call(partial(check_known, state, wanted))
    until = time.monotonic() + wait
    while page.is_empty and not state.tail.is_ended and (left := until - time.monotonic()) > 0:
        await state.tail.wait(page.end, wanted, left)  # until the tail has something: it may be what was read already
        page = await state.call(partial(read, page.end))
    if page.lost:
        raise Problem(410, page.lost, mend=f"read again what you need, and go on from {page.end}", cursor=str(page.end))
    headers = {"Triplecast-Cursor": str(page.end), "Vary": "Accept", "Cache-Control": "no-store"}
    if not page.is_last:
        params = {**request.query_params, "since": str(page.end)}
        headers["Link"] = f'<{request.url.path}?{urlencode(params)}>; rel="next"'
    return Response(page.body, 200, headers, form)


class _Page(NamedTuple):
    """A page as it is sent."""

    body: bytes
    end: Cursor
    is_last: bool
    is_empty: bool
    lost: str


def _read_page(source: NotificationSource, form: str, place: Cursor | int, wanted: WantedRows, limit: int) -> _Page:
    if form in _WRITTEN:
        told = read_notifications(source, place, wanted, limit)
        body = _WRITTEN[form](told.notifications)
        return _Page(body, told.end, told.is_last, not told.notifications and told.is_last, told.lost)
    page = read_rows(source, place, wanted, limit)
    body = _lines(form, [row.line for row in page.rows], page.end, not page.is_last)
    return _Page(body, page.end, page.is_last, not page.rows and page.is_last, page.lost)


def _is_live(state: ServiceState, wanted: WantedRows, ticket: str) -> bool:
    """Whether a stream that a ticket opened may go on."""
    assert wanted.subscription is not None
    try:
        return state.engine.serving.registration(wanted.subscription, ticket).id == wanted.registration
    except InputError:
        return False


def check_known(state: ServiceState, wanted: WantedRows) -> None:
    """Raises one `Problem` 404 for an id that never was one, and for another owner's."""
    subscription, owner, registration = wanted
    if subscription is None or registration is not None:
        return
    live = state.journal.live_registration(subscription)
    if live is not None and owner in (None, live.subscription.owner):
        return
    if not any(state.notifications.outbox.notifications(0, 1, subscription, owner)):
        found = "none is live, and nothing was recorded for one"
        raise Problem(404, "there is no subscription of this id", found, "check it: GET /subscriptions lists ids")


def _lines(form: str, lines: Sequence[str], end: Cursor, has_more: bool) -> bytes:
    if form == NDJSON:
        return "".join(f"{line}\n" for line in lines).encode()
    more = "true" if has_more else "false"
    return f'{{"notifications":[{",".join(lines)}],"cursor":"{end}","more":{more}}}'.encode()


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
