"""What local repositories and replicas follow over HTTP: a folder's log, and what an owner's subscriptions hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from triplecast.local import FolderProvider
from triplecast.local.held_state import BUCKETS
from triplecast.local.record_log import LogGap
from triplecast.model.subscription import LONGEST_NAME, REPOSITORY, Subscription
from triplecast.registry.requests import outcome_row
from triplecast.service.bodies import Strict, body_of, read_body
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.query_worker import DESCRIPTION
from triplecast.service.settings import ADMIN, Access
from triplecast.service.state import ServiceState, State
from triplecast.service.subscriptions import check_id
from triplecast.service.tokens import CanAdmin, CanRead, CanSubscribe

router = APIRouter(tags=["patches"], responses=RESPONSES)

PATCH = "application/rdf-patch"
PAGE_BYTES = 4 << 20
"""Of a part of a log, after which it ends: it has one transaction more at most."""
REPLICAS = "/"
"""Who follows in the name of no owner; none begins so."""
_RANGE = re.compile(r"bytes=([0-9]{1,18})-")
_PATCHES: dict[str, Any] = {"content": {PATCH: {"schema": {"type": "string"}}}}
_LOG: dict[int | str, dict[str, Any]] = {
    200: {"description": "transactions of RDF Patch, in order", **_PATCHES},
    410: {"description": "the log does not go on from there: a snapshot, or a new folder, is needed"},
}
_Result = TypeVar("_Result")

Place = Annotated[int, Query(ge=0, lt=1 << 63, description="of the last transaction that is known")]
Id = Annotated[str, Query(max_length=200, description="of that transaction")]
Owner = Annotated[str, Path(min_length=1, max_length=200, pattern="^[^/]+$", description="of a local repository")]
Bucket = Annotated[int, Field(ge=0, lt=BUCKETS)]


class HeldSubscription(Strict):
    id: str = Field(min_length=1, max_length=LONGEST_NAME)
    text: str = Field(min_length=1)
    language: Literal["sparql", "rdql", "rule"] = "sparql"
    entailment: Literal["taxonomy", "rdfs"] | None = None


class Replacement(Strict):
    """One whose id is among the `ended` takes its place, unless it is refused."""

    subscriptions: list[HeldSubscription] = Field([], max_length=100_000)
    ended: list[str] = Field([], max_length=100_000, description="ids")


@router.get("/log")
async def read_position(state: State, access: CanRead) -> dict[str, int]:
    """How far whoever follows can come."""
    return {"position": await _follow(state, "", FolderProvider.position)}


@router.get("/log/records", responses=_LOG, response_model=None)
async def read_records(
    state: State, access: CanAdmin, after: Place, id: Id, settled: Place = 0, parts: Place = 0
) -> Response:
    """Everything that the journal says beyond a position, all owners' subscriptions too: for replicas."""
    return await _follow(state, REPLICAS, lambda log: _part(log.records(after, id, settled, parts)))


@router.get(
    "/log/description",
    responses={200: {"content": {"application/n-triples": {"schema": {"type": "string"}}}}},
    response_model=None,
)
async def describe_resource(
    state: State, access: CanRead, resource: Annotated[str, Query(min_length=1, max_length=4096)]
) -> Response:
    """What the documents say of an IRI, with the blank nodes that this leads to."""
    await _follow(state, "", FolderProvider.position)  # in memory there is no log
    return Response(await state.query(resource, DESCRIPTION), 200, media_type="application/n-triples")


@router.get("/followers/{owner}/log", responses=_LOG, response_model=None)
async def read_changes(state: State, access: CanRead, owner: Owner, after: Place, id: Id) -> Response:
    """What events beyond a position did to what an owner's subscriptions hold."""
    name = _name_of(access, owner)
    return await _follow(state, name, lambda log: _part(log.changes(name, after, id)))


@router.get(
    "/followers/{owner}/snapshot",
    responses={**_LOG, 206: {"description": "the rest of it, as Range asks", **_PATCHES}},
    response_model=None,
)
async def read_snapshot(
    request: Request,
    state: State,
    access: CanRead,
    owner: Owner,
    bucket: Annotated[list[Bucket] | None, Query()] = None,
) -> Response:
    """All that they hold, or some buckets of it, as of the last event of its log that was read, or now."""
    name = _name_of(access, owner)
    body, tag = await _follow(state, name, lambda log: _tagged(log.snapshot(name, bucket)))
    headers = {"Cache-Control": "no-store", "ETag": tag, "Accept-Ranges": "bytes"}
    found = _RANGE.fullmatch(request.headers.get("range", ""))
    if found is None or int(found[1]) >= len(body) or request.headers.get("if-range", tag) != tag:
        return Response(body, 200, headers, PATCH)
    first = int(found[1])
    headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
    return Response(body[first:], 206, headers, PATCH)


@router.get("/followers/{owner}/digests", responses={410: _LOG[410]})
async def read_digests(state: State, access: CanRead, owner: Owner) -> dict[str, str]:
    """Of each bucket of what they hold, as of that event."""
    name = _name_of(access, owner)
    return {"digests": await _follow(state, name, lambda log: log.digests(name))}


@router.get("/followers/{owner}/subscriptions")
async def list_held(state: State, access: CanSubscribe, owner: Owner) -> dict[str, list[dict[str, str | None]]]:
    """The live subscriptions of a local repository."""
    name = _name_of(access, owner)
    found = await _follow(state, name, lambda log: log.subscriptions(name))
    start = len(name) + 1
    own = (each for each in found if each.name.startswith(f"{name}/"))
    rows = ((each.name[start:], each.text, each.language, each.entailment) for each in own)
    return {"subscriptions": [dict(zip(HeldSubscription.model_fields, row, strict=True)) for row in rows]}


@router.post("/followers/{owner}/subscriptions", openapi_extra=body_of(Replacement))
async def replace_held(
    request: Request, state: State, access: CanSubscribe, owner: Owner
) -> dict[str, list[dict[str, Any]]]:
    """Register subscriptions without an end, and end others, in one step."""
    async with state.body(request, state.settings.bulk_bytes) as data:
        wanted = read_body(Replacement, request, data, ())
    name = _name_of(access, owner)
    return {"outcomes": await _follow(state, name, partial(_replace, name, wanted))}


@router.get("/followers/{owner}/undecided")
async def list_undecided(
    state: State, access: CanRead, owner: Owner, after: Place = 0
) -> dict[str, list[dict[str, Any]]]:
    """What could not be decided of them beyond a position."""
    name = _name_of(access, owner)
    found = await _follow(state, name, lambda log: log.undecided(name, after))
    return {"undecided": [each._asdict() for each in found]}


async def _follow(state: ServiceState, owner: str, work: Callable[[FolderProvider], _Result]) -> _Result:
    """What `work` gives of the log of an owner. Raises `Problem` 410 where that does not go on."""
    try:
        return await state.followers.call(owner, work)
    except LogGap:
        mend = "take a snapshot, or replicate into a new folder"
        raise Problem(410, "the log does not go on from there", mend=mend) from None


def _name_of(access: Access, owner: str) -> str:
    """Whose the subscriptions are: with a token, names are its owner's own."""
    return owner if access.owner is None or ADMIN in access.scopes else f"{access.owner}/{owner}"


def _replace(owner: str, wanted: Replacement, log: FolderProvider) -> list[dict[str, Any]]:
    """Outcomes, with ids as they were sent. Raises `Problem` 404 for an id to end that the owner does not have, and
    what `check_id` raises."""
    ended = [f"{owner}/{id}" for id in wanted.ended]
    if ended and not {*ended} <= {each.name for each in log.subscriptions(owner)}:
        raise Problem(404, "no live subscription has this id", mend="list them, and end those")
    subscriptions = [
        Subscription(f"{owner}/{each.id}", each.text, each.language, REPOSITORY, each.entailment, owner)
        for each in wanted.subscriptions
    ]
    for each in subscriptions:
        check_id(each.name)
    start = len(owner) + 1
    rows = [outcome_row(each) for each in log.subscribe(owner, subscriptions, ended)]
    return [row if "error" in row else {**row, "id": str(row["id"])[start:], "matches": []} for row in rows]


def _tagged(body: bytes) -> tuple[bytes, str]:
    """With its entity tag: of a large body it takes a while, on a thread."""
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _part(patches: Iterator[bytes]) -> Response:
    """The first transactions of a log."""
    found, size = [], 0
    for text in patches:
        found.append(text)
        size += len(text)
        if size >= PAGE_BYTES:
            break
    return Response(b"".join(found), 200, {"Cache-Control": "no-store"}, PATCH)
