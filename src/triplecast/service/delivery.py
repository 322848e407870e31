"""Where a subscription's notifications are delivered to, over HTTP: for whoever has its ticket."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from triplecast.delivery.requests import TargetRequests, shown_letter
from triplecast.delivery.target import Target
from triplecast.model.subscription import Registration
from triplecast.service.bodies import Strict, body_of, read_body
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import State
from triplecast.service.subscriptions import Own
from triplecast.service.target_rows import NewTarget, TargetRow, destination_of, needed_targets, row_of

router = APIRouter(tags=["delivery"], responses=RESPONSES)

LETTERS = 1_000
"""Dead letters of a target that one answer lists."""


class LetterRow(BaseModel):
    target: str
    sequence: int
    id: str
    attempts: int
    reason: str
    at: str
    again: bool


class DeliveryRows(BaseModel):
    targets: list[TargetRow]
    dead: list[LetterRow]


class TargetChange(Strict):
    target: str = Field(min_length=1, max_length=100)
    action: Literal["enable", "disable", "remove", "replay"]
    sequence: int | None = Field(None, ge=1, lt=1 << 63, description="replay: only the dead letter of this sequence")


@router.post("/subscriptions/{id:path}/delivery", status_code=201, openapi_extra=body_of(NewTarget))
async def add_target(request: Request, state: State, found: Own) -> TargetRow:
    """Deliver what comes from now on to one more target. The secret of a webhook is shown once."""
    async with state.body(request, state.settings.request_bytes) as data:
        wanted = read_body(NewTarget, request, data, ())
    return await state.call(partial(_add, needed_targets(state.targets), found, wanted))


@router.get("/subscriptions/{id:path}/delivery")
async def read_targets(state: State, found: Own) -> DeliveryRows:
    """Its targets, how far each has come, why one is disabled, and the first dead letters."""
    return await state.call(partial(_rows, needed_targets(state.targets), found))


@router.patch("/subscriptions/{id:path}/delivery", openapi_extra=body_of(TargetChange))
async def change_target(request: Request, state: State, found: Own) -> DeliveryRows:
    """Enable, disable or remove a target, or replay its dead letters."""
    async with state.body(request, state.settings.request_bytes) as data:
        wanted = read_body(TargetChange, request, data, ())
    return await state.call(partial(_change, needed_targets(state.targets), found, wanted))


def _add(requests: TargetRequests, found: Registration, wanted: NewTarget) -> TargetRow:
    destination = destination_of(requests, wanted)
    return row_of(requests.add_now(found, destination), with_secret=True)


def _rows(requests: TargetRequests, found: Registration) -> DeliveryRows:
    targets = _targets(requests, found)
    dead = [shown_letter(each) for target in targets for each in requests.deliveries.dead(target.id, LETTERS)]
    return DeliveryRows(
        targets=[row_of(each) for each in targets], dead=[LetterRow.model_validate(each) for each in dead]
    )


def _change(requests: TargetRequests, found: Registration, wanted: TargetChange) -> DeliveryRows:
    if wanted.target not in {each.id for each in _targets(requests, found)}:
        raise Problem(404, "the subscription has no such target", mend="GET lists those that it has")
    deliveries = requests.deliveries
    acts: dict[str, Callable[[], object]] = {
        "enable": lambda: deliveries.enable(wanted.target),
        "disable": lambda: deliveries.disable(wanted.target, "by hand"),
        "remove": lambda: deliveries.remove(wanted.target),
        "replay": lambda: deliveries.replay(wanted.target, wanted.sequence),
    }
    acts[wanted.action]()
    return _rows(requests, found)


def _targets(requests: TargetRequests, found: Registration) -> list[Target]:
    """Those of its registration: another one of the same id before it had others."""
    return [each for each in requests.deliveries.targets(found.subscription.name) if each.registration == found.id]
