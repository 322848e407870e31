"""Sources over HTTP: what the service fetches for all its readers (docs/sources.md)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from triplecast.egress.url import LONGEST
from triplecast.journal import read_clock, system_clock
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import ServiceState, State
from triplecast.service.tokens import CanAdmin, CanRead
from triplecast.sources import NewSource, SourceList, read_opml

router = APIRouter(tags=["sources"], responses=RESPONSES)

OPML = "text/x-opml"
"""The media type that feed readers give it."""
Address = Annotated[str, Query(min_length=1, max_length=LONGEST, description="of the source")]
Name = Annotated[str, Query(max_length=1000)]
_XML = {"content": {"*/*": {"schema": {"type": "string"}}}}


class SourceRow(BaseModel):
    url: str
    location: str
    """Where it is asked for, once it has moved."""
    title: str
    folders: list[list[str]]
    kind: str
    split: str | None
    identity: str
    interval: int
    """Seconds between two checks."""
    failures: int
    error: str
    gone: bool
    held: int
    next_check: str | None
    last_check: str | None
    last_change: str | None


class SourceRows(BaseModel):
    sources: list[SourceRow]


class AddedRow(BaseModel):
    url: str
    added: bool
    """False where it was there already."""


class ImportedRows(BaseModel):
    sources: list[AddedRow]
    faults: list[str]
    """Why entries were left out."""


class CheckedRow(BaseModel):
    url: str
    """It is asked next."""


class ReleasedRow(BaseModel):
    url: str
    released: int


class ProvenanceRow(BaseModel):
    graph: str
    version: int
    position: int
    source: str
    address: str
    fetched_at: str
    etag: str
    last_modified: str


class ProvenanceRows(BaseModel):
    provenance: list[ProvenanceRow]


@router.get("/sources")
async def list_sources(state: State, access: CanRead) -> SourceRows:
    """All sources, in the order in which they were added."""
    return SourceRows(sources=[*map(SourceRow.model_validate, await state.call(_sources_of(state).rows))])


@router.post("/sources", status_code=201)
async def add_source(
    state: State,
    access: CanAdmin,
    url: Address,
    title: Name = "",
    folder: Annotated[list[Name], Query(max_length=20, description="of the outline, from its top")] = [],  # noqa: B006
    split: Annotated[str | None, Query(max_length=4096)] = None,
    identity: Literal["guid", "link", "content"] = "guid",
) -> AddedRow:
    """Add a source, which is asked at once."""
    wanted = NewSource(url, title, (tuple(folder),) if folder else (), split, identity)
    ((added, is_new),) = await state.call(partial(_sources_of(state).add, [wanted], _now()))
    return AddedRow(url=added, added=is_new)


@router.delete("/sources", status_code=204)
async def remove_source(state: State, access: CanAdmin, url: Address) -> None:
    """Forget a source. What it brought stays published."""
    await state.call(partial(_sources_of(state).remove, url))


@router.post("/sources/check")
async def check_source(state: State, access: CanAdmin, url: Address) -> CheckedRow:
    """Have a source asked now, also one that is gone."""
    return CheckedRow(url=await state.call(partial(_sources_of(state).check, url, _now())))


@router.post("/sources/release")
async def release(state: State, access: CanAdmin, url: Address) -> ReleasedRow:
    """Have what is held of a source published, or its next snapshot taken whatever it lacks."""
    return ReleasedRow(url=url, released=await state.call(partial(_sources_of(state).release, url, _now())))


@router.get("/sources/outline", response_class=Response, responses={200: {"content": {OPML: {}}}})
async def export(state: State, access: CanRead) -> Response:
    """The sources as OPML."""
    return Response(await state.call(_sources_of(state).export), media_type=OPML)


@router.post("/sources/outline", openapi_extra={"requestBody": {"required": True, **_XML}})
async def import_outline(request: Request, state: State, access: CanAdmin) -> ImportedRows:
    """Add the sources of an OPML file, with their folders."""
    async with state.body(request, state.settings.document_bytes) as data:
        outline = await state.call(partial(read_opml, data))
    added = await state.call(partial(_sources_of(state).add, outline.sources, _now()))
    rows = [AddedRow(url=url, added=is_new) for url, is_new in added]
    return ImportedRows(sources=rows, faults=list(outline.faults))


@router.get("/sources/provenance")
async def provenance(
    state: State, access: CanRead, graph: Annotated[str, Query(min_length=1, max_length=4096)]
) -> ProvenanceRows:
    """Where each version of a graph came from."""
    found = await state.call(partial(_sources_of(state).provenance, graph))
    return ProvenanceRows(provenance=[ProvenanceRow(**each._asdict()) for each in found])


def _sources_of(state: ServiceState) -> SourceList:
    """Raises `Problem` 404 where the engine is in memory."""
    if state.poller is None:
        raise Problem(404, "a service in memory has no sources", mend="serve a folder")
    return state.poller.sources


def _now() -> int:
    return read_clock(system_clock)
