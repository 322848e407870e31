"""Errors as RFC 9457 has them: ``application/problem+json``, with the place and the mend."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from triplecast.errors import (
    DocumentRejected,
    FolderLocked,
    IdInUse,
    InputError,
    QueryRefused,
    QuerySyntaxError,
    QueryTooLarge,
    QuotaReached,
    SandboxFailed,
    StorageFault,
    StorageFull,
    TaxonomyCycle,
    TriplecastError,
)
from triplecast.service.faults import describe_faults

MEDIA_TYPE = "application/problem+json"

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what was found, and what was expected"},
        "mend": {"type": "string", "description": "what to do"},
        "line": {"type": "integer", "description": "in the query or the document, from 1; so is column"},
        "column": {"type": "integer"},
        "rejects": {"type": "array", "items": {"type": "object"}, "description": "what was rejected of a document"},
    },
}
_BODY = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "the request cannot be answered; `mend` says what to do", "content": _BODY},
    "5XX": {"description": "the service cannot answer now", "content": _BODY},
}
"""What every route may answer too."""


class Problem(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str = "",
        mend: str = "",
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.mend = mend
        self.headers = headers
        self.members = members

    def response(self) -> Response:
        named = {"detail": self.detail, "mend": self.mend}
        row: dict[str, object] = {"type": "about:blank", "title": self.title, "status": self.status}
        row |= {name: value for name, value in {**named, **self.members}.items() if value not in ("", None)}
        headers = {"X-Content-Type-Options": "nosniff", **(self.headers or {})}
        return Response(json.dumps(row).encode(), self.status, headers, MEDIA_TYPE)


_STATUS: tuple[tuple[type[TriplecastError], int, str], ...] = (
    (QuerySyntaxError, 400, "the query does not follow its language's grammar"),
    (QuotaReached, 403, "the owner holds as many broad subscriptions as allowed"),
    (QueryRefused, 422, "the query is not answered"),
    (QueryTooLarge, 422, "the query takes more than it may"),
    (DocumentRejected, 422, "the document cannot be read"),
    (TaxonomyCycle, 422, "the taxonomy has a cycle"),
    (IdInUse, 409, "the id is in use"),
    (InputError, 400, "the request cannot be used"),
    (FolderLocked, 503, "the folder belongs to another process now"),
    (StorageFull, 507, "no space is left"),
    (StorageFault, 503, "the folder cannot be used"),
    (SandboxFailed, 503, "a process that is needed did not start"),
)


def problem_of(error: TriplecastError) -> Problem:
    """The first class that fits decides. No path of the machine is told."""
    status, title = next(((code, title) for kind, code, title in _STATUS if isinstance(error, kind)), (500, "failed"))
    if isinstance(error, QuerySyntaxError):
        found, advice = _parted(error.message)
        expected = f"expected: {', '.join(error.expected)}" if error.expected else ""
        mend = "; ".join(each for each in (advice, expected) if each)
        return Problem(status, title, found, mend, line=error.line, column=error.column)
    if isinstance(error, QueryRefused):
        detail = f"{error.construct} is refused: {error.reason}"
        return Problem(status, title, detail, error.hint, line=error.line, column=error.column)
    if isinstance(error, DocumentRejected):
        detail = f"{error.stage}: {error.reason}"
        return Problem(status, title, detail, error.hint, line=error.line, column=error.column)
    if isinstance(error, InputError):
        return Problem(status, title, error.what, error.hint)
    if isinstance(error, QueryTooLarge):
        return Problem(status, title, error.found, error.hint)
    if isinstance(error, FolderLocked | StorageFault):
        found = error.found if isinstance(error, StorageFault) else ""
        return Problem(status, title, found, error.hint, {"Retry-After": "5"})
    return Problem(status, title, str(error))


_QUOTED = tuple(f"unexpected {start}" for start in "\"'<#")


def _parted(message: str) -> tuple[str, str]:
    """What a query has wrong, and what to do: behind a semicolon, unless that may be the query's."""
    found, _, advice = (message, "", "") if message.startswith(_QUOTED) else message.partition("; ")
    return found, advice


async def answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def answer_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, TriplecastError)
    return problem_of(error).response()


async def answer_invalid(_: Request, error: Exception) -> Response:
    """What FastAPI finds wrong with parameters and bodies."""
    assert isinstance(error, RequestValidationError)
    return Problem(422, "the request is not as described", *describe_faults(error.errors())).response()


async def answer_http(_: Request, error: Exception) -> Response:
    """What starlette answers by itself: no such path, no such method."""
    assert isinstance(error, HTTPException)
    title = error.detail if error.detail != HTTPStatus(error.status_code).phrase else "there is nothing here"
    title = "this method is not allowed here" if error.status_code == 405 else title
    return Problem(error.status_code, title, mend="see /openapi.json", headers=error.headers).response()


async def answer_unforeseen(_: Request, error: Exception) -> Response:
    return Problem(500, "the service failed", type(error).__name__, "see its log").response()
