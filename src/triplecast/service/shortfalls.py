"""What did not become a notification: pairs that could not be decided, and documents that were rejected."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from triplecast.service.notification_pages import MOST_ROWS
from triplecast.service.notifications import Wanted, check_known
from triplecast.service.problems import RESPONSES
from triplecast.service.receipts import reject_row
from triplecast.service.state import ServiceState, State
from triplecast.service.tokens import CanRead

router = APIRouter(tags=["notifications"], responses=RESPONSES)

After = Annotated[int, Query(ge=0, lt=1 << 63, description="a position of the journal; exclusive")]


class UndecidedRows(BaseModel):
    undecided: list[dict[str, Any]]
    after: int
    """Of the next request; `more`: whether there is more already."""
    more: bool


class RejectRows(BaseModel):
    rejects: list[dict[str, Any]]
    after: int
    more: bool


@router.get("/undecided")
async def read_undecided(state: State, wanted: Wanted, after: After = 0) -> UndecidedRows:
    """Pairs of a publication and a subscription whose budget ran out or whose operator failed: those whose
    notifications may be read."""
    found = await state.call(partial(state.notifications.outbox.undecided, after, MOST_ROWS))
    rows = [each._asdict() for each in found if wanted.takes(each)]
    if not rows:
        await state.call(partial(check_known, state, wanted))
    end = found[-1].position if found else after
    return UndecidedRows(undecided=rows, after=end, more=len(found) >= MOST_ROWS)


@router.get("/rejects")
async def read_rejects(state: State, access: CanRead, after: After = 0) -> RejectRows:
    """Documents, and parts of them, that were not accepted: each with what to do."""
    return await state.call(partial(_rejects, state, after))


def _rejects(state: ServiceState, after: int) -> RejectRows:
    found = state.journal.rejects(after, MOST_ROWS)
    rows = [
        {"position": at, "source": reject.source, **reject_row(reject), "rejected_at": time}
        for at, time, reject in found
    ]
    return RejectRows(rejects=rows, after=found[-1].position if found else after, more=len(found) == MOST_ROWS)
