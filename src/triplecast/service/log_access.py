"""Who may read a log: documents by a token, a subscription's notifications also by its ticket or its secret address."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials

from triplecast.service.feeds import Key, open_feed
from triplecast.service.logs import DocumentLog, NotificationLog
from triplecast.service.state import State
from triplecast.service.subscriptions import Ticket, find_subscription
from triplecast.service.tokens import EVERYTHING, CanRead, allow, bearer


async def _documents(state: State, access: CanRead) -> DocumentLog:
    return DocumentLog(state)


async def _notifications(
    request: Request,
    state: State,
    id: str,
    key: Key = "",
    ticket: Ticket = None,
    sent: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)] = None,
) -> NotificationLog:
    """Of the registration that is live under an id. Raises `Problem`."""
    if key:
        found = await state.call(partial(open_feed, state.engine, id, key))
    else:
        access = EVERYTHING if ticket is not None else await allow("read")(request, sent)
        found = await state.call(partial(find_subscription, state.engine, id, access, ticket))
    return NotificationLog(state, id, found.registration)


Documents = Annotated[DocumentLog, Depends(_documents)]
Notifications = Annotated[NotificationLog, Depends(_notifications)]
