"""Queries over the current documents by the SPARQL 1.1 Protocol (W3C, 2013), read only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from triplecast.languages import parse_query
from triplecast.service.negotiation import choose
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.rdf_forms import GRAPH_FORMS, write_rdf
from triplecast.service.state import ServiceState, State
from triplecast.service.tokens import CanRead

router = APIRouter(tags=["sparql"], responses=RESPONSES)

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
RESULT_FORMS: Mapping[str, str] = MappingProxyType(
    {JSON: "json", XML: "xml", CSV: "csv", TSV: "tsv", "application/json": "json", "application/xml": "xml"}
)
FORM, DIRECT = "application/x-www-form-urlencoded", "application/sparql-query"

_ANSWERS: dict[str, Any] = {
    "description": "the answer: of SELECT and ASK in a form of SPARQL 1.1 Query Results, of CONSTRUCT as RDF",
    "content": {name: {"schema": {}} for name in (*RESULT_FORMS, *GRAPH_FORMS)},
}


@router.get("/sparql", responses={200: _ANSWERS}, response_model=None, operation_id="query_by_get")
async def query_by_get(
    request: Request,
    state: State,
    access: CanRead,
    query: Annotated[str, Query(description="SPARQL 1.1: SELECT, ASK or CONSTRUCT")],
    default_graph_uri: Annotated[list[str] | None, Query(alias="default-graph-uri")] = None,
    named_graph_uri: Annotated[list[str] | None, Query(alias="named-graph-uri")] = None,
) -> Response:
    """Evaluate a query over all current documents merged, and each as a named graph."""
    _refuse_dataset(default_graph_uri or named_graph_uri)
    return await answer_query(state, query, request.headers.get("accept"))


@router.post(
    "/sparql",
    responses={200: _ANSWERS},
    response_model=None,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                FORM: {
                    "schema": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}
                },
                DIRECT: {"schema": {"type": "string"}},
            },
        }
    },
    operation_id="query_by_post",
)
async def query_by_post(
    request: Request,
    state: State,
    access: CanRead,
    default_graph_uri: Annotated[list[str] | None, Query(alias="default-graph-uri")] = None,
    named_graph_uri: Annotated[list[str] | None, Query(alias="named-graph-uri")] = None,
) -> Response:
    """The same, with the query as a form or as the body itself."""
    _refuse_dataset(default_graph_uri or named_graph_uri)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with state.body(request, state.settings.request_bytes) as data:
        try:
            body = data.decode()
        except UnicodeDecodeError as error:
            raise Problem(400, "the body is not UTF-8", str(error), "send UTF-8") from None
        return await answer_query(state, _query_in(body, media_type), request.headers.get("accept"))


def _query_in(body: str, media_type: str) -> str:
    if media_type == DIRECT:
        return body
    if media_type == "application/sparql-update":
        raise Problem(415, "updates are not done here", mend="publish documents at /documents")
    if media_type != FORM:
        raise Problem(415, "this Content-Type is not read", media_type[:200], f"send {DIRECT}, or {FORM}")
    try:
        fields = parse_qs(body, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise Problem(400, "this is no form", str(error), "send query=…, percent-encoded") from None
    if "update" in fields:
        raise Problem(400, "updates are not done here", mend="publish documents at /documents")
    _refuse_dataset(fields.get("default-graph-uri") or fields.get("named-graph-uri"))
    queries = fields.get("query", [])
    if len(queries) != 1:
        raise Problem(400, f"the form holds {len(queries)} queries", mend="send one as query=…")
    return queries[0]


def _refuse_dataset(named: list[str] | None) -> None:
    if named:
        found = "a query is asked of all current documents"
        raise Problem(422, "a dataset cannot be chosen", found, "name graphs in the query: GRAPH <iri> { … }")


async def answer_query(state: ServiceState, text: str, accept: str | None) -> Response:
    """The answer to a query, in the form that Accept asks for."""
    form = await state.call(partial(_form_of, text))
    if form == "construct":
        media_type = choose(accept, [*GRAPH_FORMS])
        lines = await state.query(text, "ntriples")
        return Response(await state.call(partial(write_rdf, lines, media_type)), 200, _VARY, media_type)
    offered = [each for each in RESULT_FORMS if form != "ask" or RESULT_FORMS[each] not in ("csv", "tsv")]
    media_type = choose(accept, offered)
    return Response(await state.query(text, RESULT_FORMS[media_type]), 200, _VARY, media_type)


_VARY = {"Vary": "Accept"}


def _form_of(text: str) -> str:
    """Raises `QuerySyntaxError` and `QueryRefused`."""
    return parse_query(text, "sparql").form
