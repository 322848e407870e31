"""The service as an ASGI application: routers side by side over one shared state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Route

from triplecast.delivery.hub import Hub
from triplecast.delivery.requests import TargetRequests
from triplecast.engine import Engine
from triplecast.errors import TriplecastError
from triplecast.service import (
    delivery,
    documents,
    durable_streams,
    event_streams,
    feeds,
    health,
    notifications,
    patches,
    problems,
    receipts,
    sepa,
    shortfalls,
    sources,
    sparql,
    subscriptions,
    taxonomy,
    websub,
)
from triplecast.service.guard import Guard
from triplecast.service.parameters import check_parameters
from triplecast.service.problems import Problem
from triplecast.service.settings import ServiceSettings
from triplecast.service.state import ServiceState

ROUTERS = tuple(
    each.router
    for each in (
        *(documents, notifications, event_streams, durable_streams, feeds, websub, delivery, subscriptions, sources),
        *(sparql, sepa, taxonomy, patches, shortfalls, health),
    )
)
"""A path of one comes before those of later ones: ``/subscriptions/{id}`` takes ids with slashes."""
_SCHEMAS = {"Problem": problems.SCHEMA, "Receipt": receipts.SCHEMA, "Reject": receipts.REJECT_SCHEMA}


def create_app(
    engine: Engine,
    settings: ServiceSettings | None = None,
    targets: TargetRequests | None = None,
    hub: Hub | None = None,
) -> FastAPI:
    """The service of one engine, which stays the caller's to close, after the application has ended; likewise what
    delivers to its `targets`, and its `hub`."""
    state = ServiceState(engine, settings or ServiceSettings(), targets, hub)

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        state.start()
        try:
            yield
        finally:
            state.stop()

    app = FastAPI(
        title="Triplecast",
        version=version("triplecast"),
        description="Publish RDF, subscribe with SPARQL, read what matches.",
        lifespan=live,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(check_parameters)],
    )
    app.state.service = state
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.insert(0, Route("/documents", documents.put_document, methods=["PUT"]))  # found at once
    app.add_exception_handler(Problem, problems.answer_problem)
    app.add_exception_handler(TriplecastError, problems.answer_error)
    app.add_exception_handler(RequestValidationError, problems.answer_invalid)
    app.add_exception_handler(HTTPException, problems.answer_http)
    app.add_exception_handler(Exception, problems.answer_unforeseen)
    app.add_middleware(Guard, state=state)
    app.openapi = partial(_describe, app)  # type: ignore[method-assign]
    return app


def _describe(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1, with the schemas of answers that routes write themselves."""
    if app.openapi_schema is None:
        described = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        described.setdefault("components", {}).setdefault("schemas", {}).update(_SCHEMAS)
        app.openapi_schema = described
    return app.openapi_schema
