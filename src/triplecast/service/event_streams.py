"""The logs as Linked Data Event Streams: a root node, and pages that never change once another follows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pyoxigraph import RdfFormat

from triplecast.ingest.media_types import JSON_LD, N_QUADS, N_TRIPLES, TRIG, TURTLE
from triplecast.service.logs import Documents, Following, Log, Notifications, offset_of, read_offset
from triplecast.service.negotiation import choose
from triplecast.service.preconditions import Preconditions
from triplecast.service.problems import RESPONSES
from triplecast.service.rdf_forms import GRAPH_FORMS, TAG_ENDS
from triplecast.service.state import State
from triplecast.syndication.event_streams import Relation, StreamHead, member_page, root_node, write_page

router = APIRouter(tags=["event streams"], responses=RESPONSES)

IMMUTABLE, NEWEST = "private, max-age=31536000, immutable", "private, max-age=5"
_DOCUMENTS = (TRIG, N_QUADS, JSON_LD)
"""The content of a document is in a graph of its own."""
_NOTIFICATIONS = (TURTLE, TRIG, N_QUADS, N_TRIPLES, JSON_LD)

After = Annotated[str | None, Query(max_length=64, description="a page's, as a relation gave it; of the root: none")]


def _described(*forms: str) -> dict[int | str, dict[str, Any]]:
    content = {each: {"schema": {"type": "string"}} for each in forms}
    return {
        200: {"description": "the root node of its view, or a page", "content": content},
        304: {"description": "it is as If-None-Match has it"},
        410: {"description": "the page is no more: begin at the root"},
    }


@router.get("/documents/ldes", responses=_described(*_DOCUMENTS), response_model=None)
async def read_document_stream(request: Request, state: State, log: Documents, after: After = None) -> Response:
    """Versions and removals of documents as a Linked Data Event Stream 1.0."""
    return await _read(request, state, log, "documents", after, _DOCUMENTS)


@router.get("/subscriptions/{id:path}/ldes", responses=_described(*_NOTIFICATIONS), response_model=None)
async def read_notification_stream(
    request: Request, state: State, log: Notifications, id: str, after: After = None
) -> Response:
    """The notifications of a subscription, likewise."""
    return await _read(request, state, log, f"subscriptions/{quote(id, safe='')}", after, _NOTIFICATIONS)


async def _read(
    request: Request, state: State, log: Log, of: str, after: str | None, offered: tuple[str, ...]
) -> Response:
    form = choose(request.headers.get("accept"), offered)
    key = request.query_params.get("key")
    address, own = f"{request.base_url}{of}/ldes", {} if key is None else {"key": key}
    body, is_immutable = await state.call(partial(_page, log, address, own, after, GRAPH_FORMS[form]))
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}.{TAG_ENDS[form]}"'
    headers = {"ETag": tag, "Cache-Control": IMMUTABLE if is_immutable else NEWEST, "Vary": "Accept"}
    if Preconditions.of(request.headers).knows(tag):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, form)


def _page(log: Log, address: str, own: Mapping[str, str], after: str | None, form: RdfFormat) -> tuple[bytes, bool]:
    """A page as it is sent, and whether that is for ever. Raises `Problem`."""

    def relation(to: Following | None) -> Relation | None:
        return None if to is None else Relation(_with(address, {**own, "after": offset_of(to.place)}), to.value)

    head = StreamHead(_with(address, own), log.registration is None)
    if after is None:
        first, starts = log.first()
        return write_page(root_node(head._replace(starts=starts), relation(first)), form), False
    page = log.members(read_offset(after))
    place, following = _with(address, {**own, "after": after}), relation(page.following)
    return write_page(member_page(head, place, page.events, following), form), following is not None


def _with(address: str, query: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(query)}" if query else address
