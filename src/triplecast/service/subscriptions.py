"""Subscriptions over HTTP: the ticket is in a header, never in an address."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel, Field

from triplecast.delivery.requests import TargetRequests
from triplecast.engine import Engine, Subscribed
from triplecast.errors import InputError
from triplecast.ingest.gate import GATE
from triplecast.languages.keywords import Keywords, keywords_query
from triplecast.model.subscription import FOREVER, LONGEST_NAME, Registration, read_lease
from triplecast.registry.listing import LiveSubscription
from triplecast.service.bodies import Strict, body_of, read_body
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.settings import ADMIN, READ, Access
from triplecast.service.sparql import DIRECT
from triplecast.service.state import ServiceState, State
from triplecast.service.target_rows import NewTarget, TargetRow, destination_of, needed_targets, row_of
from triplecast.service.tokens import EVERYTHING, CanRead, CanSubscribe, allow

PARTS = frozenset({"delivery", "explain", "feed", "feed.atom", "feed.json", "ldes", "stream"})
"""What follows a subscription's address; no id ends in a slash and one of these."""

router = APIRouter(tags=["subscriptions"], responses=RESPONSES)

PREVIEWED = 1_000
"""Most publications that a preview looks at."""
SHOWN = 10
"""Matches that a preview shows."""
PAGE = 1_000
"""Most subscriptions that one answer lists."""
_TEXTS = (DIRECT, "text/plain")

Language = Literal["sparql", "rdql", "rule"]
Seconds = Annotated[float, Field(gt=0, le=315_360_000_000, allow_inf_nan=False)]
Lease = Annotated[Seconds | Literal["forever"] | None, Field(description="seconds from now on; a day unless given")]
Graph = Annotated[str | None, Query(description="its graph, an absolute IRI", max_length=GATE.identity_bytes)]
Ticket = Annotated[str | None, Header(alias="Triplecast-Ticket", description="of subscribing", max_length=LONGEST_NAME)]


class NewSubscription(Strict):
    """A standing query, as text or as words to look for."""

    text: str | None = Field(None, min_length=1, description="the query, unless words make it")
    words: str | None = Field(None, min_length=1, description="all of them are to occur in one text")
    near: int | None = Field(None, ge=0, lt=1_000_000, description="most words between two of them")
    within: list[str] = Field([], alias="in", description="properties of which the text is a value, such as dc:title")
    of_class: str | None = Field(None, alias="class", description="a class of the subject, such as rss:item")
    id: str | None = Field(None, min_length=1, max_length=LONGEST_NAME, description="below a token's owner; a free one")
    language: Language = "sparql"
    scope: Literal["publication", "repository"] | None = None
    entailment: Literal["taxonomy", "rdfs"] | None = None
    notify: Literal["every", "changed", "new"] | None = None
    initial: Literal["all", "none"] | None = None
    key: list[str] = Field([])
    lease: Lease = None
    owner: str | None = Field(None, min_length=1, max_length=LONGEST_NAME, description="that of the token, if any")
    delivery: NewTarget | None = None


class Renewal(Strict):
    lease: Lease = None


class PreviewRequest(Strict):
    text: str = Field(min_length=1)
    language: Language = "sparql"
    entailment: Literal["taxonomy", "rdfs"] | None = None
    last: int = Field(PREVIEWED, ge=0, le=PREVIEWED, description="how many of the newest publications are looked at")


class SubscribedRow(BaseModel):
    id: str
    ticket: str
    """Shown once: the server keeps its hash."""
    expires: str | None
    warnings: list[str]
    cost: str
    registration: int
    matches: int
    delivery: TargetRow | None = None


class SubscriptionPage(BaseModel):
    subscriptions: list[LiveSubscription]
    after: int | None


class RenewedRow(BaseModel):
    id: str
    expires: str | None


class ToldAgainRow(BaseModel):
    id: str
    told: bool
    """Whether the present answer could be decided, and is among the notifications."""


class CancelledRow(BaseModel):
    id: str
    position: int


class PreviewRow(BaseModel):
    publications: int
    matches: int
    undecided: int
    per_day: float | None
    cost: str
    warnings: list[str]
    examples: list[dict[str, Any]]


class ExplanationRows(BaseModel):
    explanations: list[dict[str, Any]]


def find_subscription(engine: Engine, id: str, access: Access, ticket: str | None) -> Registration:
    """Raises one `Problem` 404 for an unknown id, a wrong ticket and another owner's: a guess learns nothing."""
    try:
        found = engine.serving.registration(id, ticket)
    except InputError:
        found = None
    if found is None or (access.owner not in (None, found.subscription.owner) and ADMIN not in access.scopes):
        raise Problem(404, "no live subscription has this id and ticket", mend="check both, or subscribe again")
    return found


async def _own(state: State, access: CanSubscribe, id: str, ticket: Ticket = None) -> Registration:
    """The live subscription of an id, for whoever has its ticket; an administrator needs none. Raises `Problem`."""
    if ticket is None and not (access.owner is not None and ADMIN in access.scopes):
        raise Problem(400, "the ticket is missing", mend="send the header Triplecast-Ticket")
    return await state.call(partial(find_subscription, state.engine, id, access, ticket))


Own = Annotated[Registration, Depends(_own)]


@router.post("/subscriptions", status_code=201, openapi_extra=body_of(NewSubscription, *_TEXTS))
async def subscribe(request: Request, response: Response, state: State, access: CanSubscribe) -> SubscribedRow:
    """Register a query, as text or in JSON. What matches from then on is recorded for it."""
    async with state.body(request, state.settings.request_bytes) as data:
        wanted = read_body(NewSubscription, request, data, _TEXTS)
    owner = _owner(access, wanted.owner)
    wanted.id = _own_id(access, wanted.id)
    if wanted.id is not None:
        check_id(wanted.id)
    targets = None if wanted.delivery is None else needed_targets(state.targets)
    found, target = await state.write(partial(_subscribe_to, state.engine, targets, wanted, owner))
    response.headers["Location"] = f"/subscriptions/{quote(found.id, safe='')}"
    return SubscribedRow(
        id=found.id,
        ticket=found.ticket,
        expires=found.expires,
        warnings=list(found.warnings),
        cost=found.cost,
        registration=found.registration,
        matches=len(found.matches),
        delivery=target,
    )


@router.get("/subscriptions")
async def list_subscriptions(
    state: State,
    access: CanSubscribe,
    owner: Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME)] = None,
    after: Annotated[int, Query(ge=0, lt=1 << 63, description="as the page before gave it")] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = PAGE,
) -> SubscriptionPage:
    """The live subscriptions of an owner, in order of registration."""
    holder = owner if access.owner is None or ADMIN in access.scopes else _owner(access, owner)
    page = await state.call(partial(state.engine.serving.page, after, limit, holder))
    return SubscriptionPage.model_construct(subscriptions=page.subscriptions, after=page.after)


@router.post("/preview", openapi_extra=body_of(PreviewRequest, *_TEXTS))
async def preview(request: Request, state: State, access: CanRead) -> PreviewRow:
    """What a subscription would have matched among the newest publications. Nothing is registered."""
    async with state.body(request, state.settings.request_bytes) as data:
        wanted = read_body(PreviewRequest, request, data, _TEXTS)
    return await state.write(partial(_preview, state.engine, wanted))


@router.post(
    "/subscriptions/{id:path}/explain",
    openapi_extra={"requestBody": {"required": True, "content": {"*/*": {"schema": {"type": "string"}}}}},
)
async def explain(request: Request, state: State, found: Own, graph: Graph = None) -> ExplanationRows:
    """Why publications of a document match a subscription, or where all fail; the first ones. Nothing is published."""
    async with state.body(request, state.settings.document_bytes) as data:
        media_type = request.headers.get("content-type")
        rows = await state.call(partial(state.engine.explain, data, found.subscription.name, media_type, graph))
    shown = [each for each in rows if each.matched] or rows
    return ExplanationRows(explanations=[*map(asdict, shown[:SHOWN])])


@router.get("/subscriptions/{id:path}")
async def read_subscription(state: State, found: Own) -> LiveSubscription:
    """A live subscription."""
    return await state.call(partial(state.engine.serving.listed, found))


@router.patch("/subscriptions/{id:path}", openapi_extra=body_of(Renewal))
async def renew(request: Request, state: State, found: Own, ticket: Ticket = None) -> RenewedRow:
    """Give its lease another end."""
    async with state.body(request, state.settings.request_bytes) as data:
        wanted = read_body(Renewal, request, data, ())
    lease = FOREVER if wanted.lease == "forever" else wanted.lease
    read_lease(lease)
    expires = await state.write(partial(state.engine.renew, found.subscription.name, ticket, lease))
    return RenewedRow(id=found.subscription.name, expires=expires)


@router.post("/subscriptions/{id:path}/resync")
async def tell_again(state: State, found: Own, ticket: Ticket = None) -> ToldAgainRow:
    """Tell the present answer of one of repository scope again."""
    told = await state.write(partial(state.engine.resync, found.subscription.name, ticket))
    return ToldAgainRow(id=found.subscription.name, told=bool(told))


@router.delete("/subscriptions/{id:path}")
async def cancel(state: State, found: Own, ticket: Ticket = None) -> CancelledRow:
    """Cancel it: publications from the position on are not matched with it."""
    position = await state.write(partial(state.engine.unsubscribe, found.subscription.name, ticket))
    state.tail.cancel(found.subscription.name, found.id)
    return CancelledRow(id=found.subscription.name, position=position)


# ---- on threads -----------------------------------------------------------------------------------------------------


def _subscribe_to(
    engine: Engine, targets: TargetRequests | None, wanted: NewSubscription, owner: str | None
) -> tuple[Subscribed, TargetRow | None]:
    """Its target, if it is to have one, gets what it matches from the beginning."""
    if targets is None or wanted.delivery is None:
        return _subscribe(engine, wanted, owner), None
    destination, since = destination_of(targets, wanted.delivery), targets.cursor()
    found = _subscribe(engine, wanted, owner)
    registration = targets.registration(found.registration)
    target = targets.add(registration, destination, since, found.registration - 1)
    return found, row_of(target, with_secret=True)


def _subscribe(engine: Engine, wanted: NewSubscription, owner: str | None) -> Subscribed:
    if (wanted.text is None) == (wanted.words is None):
        raise Problem(422, "one of 'text' and 'words' is needed", mend="send the query, or the words that make it")
    words = Keywords(wanted.words or "", wanted.near, tuple(wanted.within), wanted.of_class)
    return engine.subscribe(
        wanted.text or keywords_query(words),
        wanted.id,
        wanted.language,
        wanted.scope,
        wanted.entailment,
        owner,
        FOREVER if wanted.lease == "forever" else wanted.lease,
        wanted.notify,
        wanted.initial,
        wanted.key,
    )


async def readable_subscription(
    request: Request, state: ServiceState, id: str, ticket: str | None, token: HTTPAuthorizationCredentials | None
) -> Registration:
    """The live subscription whose notifications a ticket opens, or without one a token. Raises `Problem`."""
    access = EVERYTHING if ticket is not None else await allow(READ)(request, token)
    return await state.call(partial(find_subscription, state.engine, id, access, ticket))


def _preview(engine: Engine, wanted: PreviewRequest) -> PreviewRow:
    found = engine.preview(wanted.text, wanted.last, wanted.language, wanted.entailment)
    return PreviewRow(
        publications=found.publications,
        matches=len(found.matches),
        undecided=len(found.undecided),
        per_day=found.per_day,
        cost=found.cost,
        warnings=list(found.warnings),
        examples=[
            {"publication": each.publication, "version": each.version, "answer": each.answer}
            for each in islice(found.matches, SHOWN)
        ],
    )


# ---- who asks -------------------------------------------------------------------------------------------------------


def _owner(access: Access, named: str | None) -> str | None:
    """Who holds what is registered. Raises `Problem` 403 where a token names another owner than its own."""
    if access.owner is None or named == access.owner or (named is not None and ADMIN in access.scopes):
        return named
    if named is None:
        return access.owner
    raise Problem(403, "the owner is that of the token", mend="leave the owner out")


def _own_id(access: Access, id: str | None) -> str | None:
    """An id below a token's owner, so that none shows by being in use that another owner has."""
    if id is None or access.owner is None or ADMIN in access.scopes or id.startswith(f"{access.owner}/"):
        return id
    return f"{access.owner}/{id}"


def check_id(id: str) -> None:
    """Raises `Problem` 400 for an id that has no address of its own."""
    _, slash, end = id.rpartition("/")
    if slash and end in PARTS:
        raise Problem(400, "the id cannot be addressed", f"/{end} at its end is an address itself", "end it otherwise")
    if not {".", ".."}.isdisjoint(id.split("/")):
        found = "clients and proxies resolve '.' and '..' between slashes (RFC 3986, 5.2.4)"
        raise Problem(400, "the id cannot be addressed", found, "name these parts otherwise")
