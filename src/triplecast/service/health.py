"""Whether the service lives, whether it can answer, and its figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from triplecast.errors import StorageFault
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import State
from triplecast.service.tokens import CanRead

router = APIRouter(tags=["health"], responses=RESPONSES)


class Health(BaseModel):
    status: str


class Readiness(BaseModel):
    status: str
    position: int
    """Of the journal's last record."""
    waiting: int | None
    """The first position of which not everything is recorded; null where there is none."""
    sequence: int
    """Of the last notification."""


@router.get("/healthz")
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(state: State) -> Readiness:
    """The folder can be read, and is this process's to write, to deliver from and to poll sources of."""
    faults = {
        "nothing is delivered any more": None if state.targets is None else state.targets.deliveries.fault,
        "no source is polled": None if state.poller is None else state.poller.fault,
    }
    for title, fault in faults.items():
        if fault is not None:
            what = fault.found if isinstance(fault, StorageFault) else type(fault).__name__
            raise Problem(503, title, what, "restart the service once its folder can be used")
    found = await state.call(state.engine.serving.progress)
    return Readiness(status="ok", position=found.position, waiting=found.waiting, sequence=found.sequence)


class Status(BaseModel):
    subscriptions: int
    """Live ones."""
    position: int
    """Of the journal's last record."""
    decided: int
    """Up to where publications are matched;"""
    settled: int
    """and up to where operators have answered too."""
    publications_left: int
    """Not matched yet."""
    sequence: int
    """Of the last notification."""


@router.get("/status")
async def status(state: State, access: CanRead) -> Status:
    """How far the folder has come."""
    return Status.model_validate(await state.call(state.engine.serving.status))


@router.get(
    "/metrics", response_model=None, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
)
async def metrics(state: State, access: CanRead) -> Response:
    """In the text form of Prometheus."""
    await state.call(state.metrics.look)
    return Response(generate_latest(state.metrics.registry), media_type=CONTENT_TYPE_LATEST)
