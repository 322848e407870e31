"""The taxonomy of a folder over HTTP."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from triplecast.engine import Engine
from triplecast.service.documents import sent_type
from triplecast.service.negotiation import choose
from triplecast.service.preconditions import Preconditions
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.rdf_forms import GRAPH_FORMS, TAG_ENDS, write_rdf
from triplecast.service.state import State
from triplecast.service.tokens import CanRead, CanTeach

router = APIRouter(tags=["taxonomy"], responses=RESPONSES)

_RDF: dict[str, Any] = {name: {"schema": {"type": "string"}} for name in GRAPH_FORMS}
_HEADERS = {
    "ETag": {"schema": {"type": "string"}},
    "Triplecast-Broader": {"schema": {"enum": ["true", "false"]}, "description": "whether skos:broader is part of it"},
}


class LoadedRow(BaseModel):
    position: int
    subclasses: int
    subproperties: int
    broader: int
    types: int
    matches: int
    """Of repository scope, which it changes."""
    undecided: int


@router.get(
    "/taxonomy",
    responses={
        200: {"description": "the taxonomy that holds", "content": _RDF, "headers": _HEADERS},
        304: {"description": "it is what If-None-Match names"},
    },
    response_model=None,
)
async def read_taxonomy(request: Request, state: State, access: CanRead) -> Response:
    """The taxonomy, in the form of RDF that Accept asks for; empty where there is none."""
    found = await state.call(state.engine.serving.taxonomy)
    form = choose(request.headers.get("accept"), [*GRAPH_FORMS])
    tag = f'"{hashlib.sha256(found.lines + bytes([found.broader])).hexdigest()[:32]}.{TAG_ENDS[form]}"'
    headers = {"ETag": tag, "Vary": "Accept", "Triplecast-Broader": "true" if found.broader else "false"}
    if Preconditions.of(request.headers).knows(tag):
        return Response(status_code=304, headers=headers)
    return Response(await state.call(partial(write_rdf, found.lines, form)), 200, headers, form)


@router.put("/taxonomy", openapi_extra={"requestBody": {"required": True, "content": _RDF}})
async def load_taxonomy(
    request: Request,
    state: State,
    access: CanTeach,
    broader: Annotated[bool, Query(description="take skos:broader too, as an order of classes")] = False,
) -> LoadedRow:
    """Replace the taxonomy, for publications from then on."""
    media_type = sent_type(request) or None
    async with state.body(request, state.settings.document_bytes) as data:
        if not data.strip():
            raise Problem(422, "no taxonomy was sent", "the body is empty", "DELETE /taxonomy takes the taxonomy away")
        return await state.write(partial(_load, state.engine, data, media_type, broader))


@router.delete("/taxonomy")
async def drop_taxonomy(state: State, access: CanTeach) -> LoadedRow:
    """Take the taxonomy away, for publications from then on."""
    return await state.write(partial(_load, state.engine, b"", "application/n-triples", False))


def _load(engine: Engine, data: bytes, media_type: str | None, broader: bool) -> LoadedRow:
    found = engine.load_taxonomy(data, media_type, broader)
    counts = {name: getattr(found, name) for name in ("position", "subclasses", "subproperties", "broader", "types")}
    return LoadedRow(**counts, matches=len(found.matches), undecided=len(found.undecided))
