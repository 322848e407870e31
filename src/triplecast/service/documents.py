"""Documents by the SPARQL 1.1 Graph Store HTTP Protocol (W3C, 2013), and many at once as NDJSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from triplecast.engine import Engine, Receipt
from triplecast.engine.serving import Condition, DocumentState, version_tag
from triplecast.errors import DocumentRejected
from triplecast.ingest import Document
from triplecast.ingest.document import DOCUMENT_PREFIX, document_of
from triplecast.ingest.gate import GATE
from triplecast.ingest.inbox_files import document_of_line
from triplecast.ingest.media_types import N_TRIPLES, decide_type
from triplecast.model.publication import Reject
from triplecast.service.call_threads import overloaded
from triplecast.service.idempotency import KeptAnswer, Unfinished
from triplecast.service.merging import merge_lines
from triplecast.service.negotiation import choose
from triplecast.service.parameters import refuse_wrong
from triplecast.service.preconditions import Preconditions
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.rdf_forms import DATASET_FORMS, GRAPH_FORMS, TAG_ENDS, write_rdf
from triplecast.service.receipts import receipt_row, reject_row
from triplecast.service.sparql import answer_query
from triplecast.service.state import ServiceState, State, service_of
from triplecast.service.tokens import CanPublish, CanRead, bearer, can_publish

router = APIRouter(tags=["documents"], responses=RESPONSES)

NDJSON = "application/x-ndjson"
EVERYTHING = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
_UNNAMED = "it is named by its content, so that an edited one is another document; name it: PUT /documents?graph=IRI"
_MERGES = 10
"""How often a merge is tried again as others change the document."""

Graph = Annotated[str | None, Query(description="its graph, an absolute IRI", max_length=GATE.identity_bytes)]
Default = Annotated[str | None, Query(description="all current documents merged; only to be read", max_length=10)]

_RDF = {name: {"schema": {"type": "string"}} for name in GRAPH_FORMS}
_SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "RDF, or a feed, by its Content-Type; without one its content decides. May be compressed (gzip)",
        "content": {**_RDF, "application/atom+xml": {}, "application/rss+xml": {}, "application/feed+json": {}},
    }
}
_MOST = {"graph": GATE.identity_bytes, "default": 10}
"""Characters of a parameter."""
_PUT: dict[str, Any] = {
    **_SENT,
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string", "maxLength": most}}
        for name, most in _MOST.items()
    ],
    "security": [{bearer.scheme_name: []}],
}
"""FastAPI's own way to parameters takes as long as publishing, so this route reads its own."""
_HEADERS = {
    "ETag": {"schema": {"type": "string"}, "description": "names version and content; for If-Match"},
    "Location": {"schema": {"type": "string"}, "description": "of a document that is new"},
}
_RECEIPT: dict[str, Any] = {
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Receipt"}}},
    "headers": _HEADERS,
}
_DONE: dict[int | str, dict[str, Any]] = {
    200: {"description": "synced to disk and matched", **_RECEIPT},
    201: {"description": "the same, of a graph that is new", **_RECEIPT},
}
_READ: dict[int | str, dict[str, Any]] = {
    200: {"description": "the document", "content": _RDF, "headers": {"ETag": _HEADERS["ETag"]}},
    304: {"description": "it is what If-None-Match names"},
}


@router.get("/documents", responses=_READ, response_model=None, operation_id="get_document")
async def get_document(
    request: Request, state: State, access: CanRead, graph: Graph = None, default: Default = None
) -> Response:
    """The current document of a graph, in the form of RDF that Accept asks for."""
    name = _one_of(graph, default)
    accept = request.headers.get("accept")
    if name is None:
        return await answer_query(state, EVERYTHING, accept)
    found = await state.call(partial(state.engine.serving.document, name))
    if found is None:
        raise Problem(404, "there is no document of this graph", name[:200])
    current, publication = found
    form = choose(accept, [*(DATASET_FORMS if publication.dataset else GRAPH_FORMS)])
    tag = f'"{current.tag}.{TAG_ENDS[form]}"'
    headers = {"ETag": tag, "Vary": "Accept", "Last-Modified": _http_date(publication.accepted_at)}
    if Preconditions.of(request.headers).knows(tag):
        return Response(status_code=304, headers=headers)
    return Response(await state.call(partial(write_rdf, publication.quads, form)), 200, headers, form)


@router.head("/documents", responses=_READ, response_model=None, operation_id="head_document")
async def head_document(
    request: Request, state: State, access: CanRead, graph: Graph = None, default: Default = None
) -> Response:
    """What GET would say of it, without the document."""
    return await get_document(request, state, access, graph, default)


@router.put("/documents", responses=_DONE, response_model=None, openapi_extra=_PUT, operation_id="put_document")
async def put_document(request: Request) -> Response:
    """Publish a document, in the place of the one that its graph has."""
    state = service_of(request)
    access = await can_publish(request, await bearer(request))
    state.publications.check()  # before more is done for a request that is refused
    refuse_wrong(request, dict.fromkeys(_MOST, False))
    graph, default = (_parameter(request, name, most) for name, most in _MOST.items())
    name = _writable(graph, default)
    if name is None:
        raise Problem(400, "the graph is missing", mend="put to /documents?graph=IRI, or post to /documents")
    return await _publish(request, state, access.owner, name, _put)


@router.post(
    "/documents",
    responses={
        **_DONE,
        200: {
            "description": "synced to disk and matched; of NDJSON, a receipt a line",
            "content": {**_RECEIPT["content"], NDJSON: {"schema": {"type": "string"}}},
            "headers": _HEADERS,
        },
    },
    response_model=None,
    openapi_extra={"requestBody": {**_SENT["requestBody"], "content": {**_SENT["requestBody"]["content"], NDJSON: {}}}},
    operation_id="post_document",
)
async def post_document(
    request: Request, state: State, access: CanPublish, graph: Graph = None, default: Default = None
) -> Response:
    """Add triples to the document of a graph. Without a graph, publish a document or a feed that names itself, or
    NDJSON: a document a line, {"id": IRI, "media_type": …, "data": …}."""
    name = _writable(graph, default)
    if name is None and sent_type(request).partition(";")[0].strip().lower() == NDJSON:
        return await _publish_lines(request, state)
    return await _publish(request, state, access.owner, name, _put if name is None else _merge)


@router.delete(
    "/documents",
    responses={200: {"description": "removed, synced and told", **_RECEIPT}},
    response_model=None,
    operation_id="delete_document",
)
async def delete_document(
    request: Request, state: State, access: CanPublish, graph: Graph = None, default: Default = None
) -> Response:
    """Remove the document of a graph."""
    name = _writable(graph, default)
    if name is None:
        raise Problem(400, "the graph is missing", mend="delete /documents?graph=IRI")
    engine, conditions = state.engine, Preconditions.of(request.headers)
    receipt = await state.write(partial(engine.serving.remove_when, name, conditions.check, engine.remove))
    if receipt is None:
        raise Problem(404, "there is no document of this graph", name[:200])
    return _json(200, receipt_row(receipt))


# ---- publishing -----------------------------------------------------------------------------------------------------

Publish = Callable[[Engine, Document, str | None, Condition | None], Receipt]


async def _publish(
    request: Request, state: ServiceState, owner: str | None, graph: str | None, publish: Publish
) -> Response:
    media_type, conditions = sent_type(request) or None, Preconditions.of(request.headers)
    key = request.headers.get("idempotency-key")
    async with state.body(request, state.settings.document_bytes) as data:
        document = document_of(data, media_type, graph, False)
        check = None if graph is None or conditions.is_any else conditions.check
        if key is None and check is None and publish is _put:
            return _answer(state, await state.publications.publish(document), graph)
        if key is None:
            return await state.write(partial(_done, state, document, graph, check, publish))
        digest = hashlib.sha256("\0".join((request.method, graph or "", media_type or "")).encode() + data).digest()
        done = partial(_done_once, state, owner or "", key, digest, document, graph, check, publish)
        return await state.write(done)


def _done(
    state: ServiceState, document: Document, graph: str | None, check: Condition | None, publish: Publish
) -> Response:
    return _answer(state, publish(state.engine, document, graph, check), graph)


def _answer(state: ServiceState, receipt: Receipt, graph: str | None) -> Response:
    """Raises `Problem` where nothing of the document was accepted."""
    state.metrics.note(receipt)
    if not receipt.publications and receipt.rejects:
        raise _rejected(receipt.rejects)
    named = next((each for each in receipt.publications if graph in (None, each.graph)), None)
    row = receipt_row(receipt)
    if named is None:
        return _json(200, row)
    if graph is None and named.graph.startswith(f"{DOCUMENT_PREFIX}sha256/"):
        row["warnings"] = [*receipt.warnings, _UNNAMED]
    headers = {"ETag": f'"{version_tag(named.version, named.accepted_at)}"'}
    if named.version > 1 or named.outcome != "accepted":
        return _json(200, row, headers)
    return _json(201, row, {**headers, "Location": f"/documents?{urlencode({'graph': named.graph})}"})


def _done_once(
    state: ServiceState,
    owner: str,
    key: str,
    digest: bytes,
    document: Document,
    graph: str | None,
    check: Condition | None,
    publish: Publish,
) -> Response:
    """The answer to a request with an Idempotency-Key, which is done once."""
    serving = state.engine.serving
    kept = state.kept.begin(owner, key, digest, serving.progress().position)
    if isinstance(kept, KeptAnswer):
        return Response(kept.body, kept.status, json.loads(kept.headers), "application/json")
    answer = None
    try:
        if isinstance(kept, Unfinished) and graph is not None:
            parsed = serving.parse(document)
            if publish is _merge and parsed.drafts:  # done, it changes nothing
                parsed = serving.parse(_merged(state.engine, graph, parsed.drafts[0].quads)[1])
            check = partial(_check_unfinished, kept, {each.digest for each in parsed.drafts})
        response = _done(state, document, graph, check, publish)
        headers = {name: response.headers[name] for name in ("etag", "location") if name in response.headers}
        answer = KeptAnswer(response.status_code, json.dumps(headers), bytes(response.body))
        return response
    finally:
        state.kept.end(owner, key, answer)


def _check_unfinished(kept: Unfinished, digests: set[bytes], state: DocumentState | None) -> None:
    """A request that a crash interrupted is done again where that makes no second version."""
    if state is not None and state.position > kept.position and state.digest not in digests:
        raise Problem(
            409,
            "this request was interrupted, and the document has changed since",
            "whether it was done before that change is not known",
            "read the document, then send what is still wanted under another Idempotency-Key",
        )


def _put(engine: Engine, document: Document, graph: str | None, check: Condition | None) -> Receipt:
    if graph is not None and check is not None:
        return engine.serving.publish_when(document, graph, check)
    return engine.publish(document.data, document.media_type, document.graph)


def _merge(engine: Engine, document: Document, graph: str | None, check: Condition | None) -> Receipt:
    """Publish the merge of the current document and another one."""
    assert graph is not None
    parsed = engine.serving.parse(document)
    if parsed.rejects:
        raise _rejected(parsed.rejects)
    if len(parsed.drafts) != 1 or parsed.drafts[0].graph != graph or parsed.drafts[0].dataset:
        raise Problem(422, "only triples can be added to a document", "it names other graphs", "put it whole")
    for _ in range(_MERGES):
        state, merged = _merged(engine, graph, parsed.drafts[0].quads)
        try:
            return engine.serving.publish_when(merged, graph, partial(_check_merge, state, check))
        except _Moved:
            continue
    raise overloaded("others change this document all the time")


def _merged(engine: Engine, graph: str, added: bytes) -> tuple[DocumentState | None, Document]:
    """The current state of a graph, and its document with more triples."""
    found = engine.serving.document(graph)
    if found is None:
        return None, Document(graph, added, N_TRIPLES, graph)
    state, current = found
    if current.dataset:
        raise Problem(422, "nothing can be added to a dataset", mend="put it as a whole")
    lines = merge_lines(current.quads, added)
    return state, Document(graph, lines, N_TRIPLES, graph, attachments=dict(current.attachments))


class _Moved(Exception):
    """The document has changed since it was read."""


def _check_merge(known: DocumentState | None, check: Condition | None, state: DocumentState | None) -> None:
    if check is not None:
        check(state)
    if state != known:
        raise _Moved


async def _publish_lines(request: Request, state: ServiceState) -> Response:
    if "idempotency-key" in request.headers:
        found = "lines that are sent again make no second version of unchanged content"
        raise Problem(400, "a bulk request takes no Idempotency-Key", found, "leave it out")
    async with state.body(request, state.settings.bulk_bytes) as data:
        most = state.settings.bulk_lines
        if data.count(b"\n") > most:
            raise Problem(413, "the body has too many lines", f"{most} are allowed", "send it in parts")
        return await state.write(partial(_publish_each, state, data))


def _publish_each(state: ServiceState, data: bytes) -> Response:
    """A line for each line: its receipt, or why it is none."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    entries = [document_of_line(line, "line", number) for number, line in lines]
    documents = [each for each in entries if isinstance(each, Document)]
    receipts = iter(state.engine.publish_many(documents))
    rows = []
    for each, (number, _) in zip(entries, lines, strict=True):
        receipt = Receipt((), (), (each,), ()) if isinstance(each, Reject) else next(receipts)
        state.metrics.note(receipt)
        id = None if isinstance(each, Reject) else each.graph
        rows.append({"id": id, "line": number, **receipt_row(receipt)})
    return Response("".join(json.dumps(row) + "\n" for row in rows).encode(), 200, media_type=NDJSON)


# ---- answers --------------------------------------------------------------------------------------------------------


def _rejected(rejects: tuple[Reject, ...]) -> Problem:
    first = rejects[0]
    is_size = first.stage == "gate" and "bytes" in first.reason and "are allowed" in first.reason
    status = 413 if is_size else 422
    return Problem(
        status,
        "the document was rejected",
        f"{first.stage}: {first.reason}",
        first.hint,
        line=first.line,
        column=first.column,
        rejects=[reject_row(each) for each in rejects[:100]],
    )


def _json(status: int, row: dict[str, object], headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(row).encode(), status, headers, "application/json")


def _one_of(graph: str | None, default: str | None) -> str | None:
    """The graph; None for the default graph. Raises `Problem` 400 unless one of both is named."""
    if (graph is None) == (default is None):
        raise Problem(400, "either graph or default is named", mend="use /documents?graph=IRI, or /documents?default")
    return graph


def _parameter(request: Request, name: str, most: int) -> str | None:
    value = request.query_params.get(name)
    if value is not None and len(value) > most:
        raise Problem(422, f"the parameter {name} is too long", f"{most} characters are allowed")
    return value


def _writable(graph: str | None, default: str | None) -> str | None:
    if default is not None:
        found = "the default graph is the merge of all documents"
        raise Problem(405, "the default graph cannot be written", found, "name a graph", {"Allow": "GET, HEAD"})
    return graph


def sent_type(request: Request) -> str:
    """The Content-Type, empty where there is none. Raises `Problem` 415 for one that no document has."""
    media_type: str = request.headers.get("content-type", "")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise Problem(415, "this Content-Encoding is not read", encoding[:100], "send gzip, or none")
    if media_type and media_type.partition(";")[0].strip().lower() != NDJSON:
        try:
            decide_type(media_type, "", b"")
        except DocumentRejected as error:
            mend = f"{error.hint}; many at once as {NDJSON}"
            raise Problem(415, "this Content-Type is not read", error.reason, mend) from None
    return media_type


def _http_date(accepted_at: str) -> str:
    return format_datetime(datetime.fromisoformat(accepted_at), usegmt=True)
