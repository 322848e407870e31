"""What readers follow event by event: the log of documents, and that of a subscription's notifications.

A place is a `Cursor`. Of the log of documents its sequence is a journal position, and its epoch says which record that
position has: a folder restored from a copy gives positions again.
Methods of a log that are not `async` block, and raise `Problem` 410 for a place that it has no more.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, NamedTuple

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials
from pyoxigraph import Literal

from triplecast.ingest.media_types import N_QUADS
from triplecast.model.events import DocumentEvent, Removal
from triplecast.outbox import Cursor, Notification
from triplecast.outbox.recent_rows import WantedRows
from triplecast.service.feeds import Key, open_feed
from triplecast.service.notification_pages import MOST_BYTES, MOST_ROWS, read_rows
from triplecast.service.problems import Problem
from triplecast.service.state import ServiceState, State
from triplecast.service.subscriptions import Ticket, readable_subscription
from triplecast.service.tokens import CanRead, bearer
from triplecast.syndication.turtle import DATE_TIME

MEMBERS = 250
"""Sequences, or positions, of one page of members: where pages begin does not depend on what was pruned."""
_OFFSET = re.compile(r"(\d{16})_(\d{1,19})", re.ASCII)
_AGAIN = "begin again, and leave out what you have: identifiers stay the same"


class MessagePage(NamedTuple):
    """Some events as objects of JSON, and where the next page begins."""

    messages: Sequence[str]
    end: Cursor
    is_last: bool
    lost: str
    """Why events beyond the place that was asked for are missing; empty: none is."""


class Following(NamedTuple):
    """The page of the next event."""

    place: Cursor
    value: Literal
    """What every event from there on has at least, of what orders them."""


class EventPage(NamedTuple):
    """The events of one page of members, whose extent never changes."""

    events: Sequence[DocumentEvent] | Sequence[Notification]
    following: Following | None
    """None while there is no later event."""


def offset_of(place: Cursor) -> str:
    """A place as one opaque token; tokens of one log sort as their places do."""
    return f"{place.sequence:016d}_{place.epoch}"


def read_offset(offset: str) -> Cursor:
    """Raises `Problem` 400."""
    found = _OFFSET.fullmatch(offset)
    if found is None:
        raise Problem(400, "this is no offset", offset[:100], "send one that this log gave, -1 or now")
    return Cursor(int(found[2]), int(found[1]))


def _page_of(sequence: int) -> int:
    """The sequence after which the page of a later one begins."""
    return (sequence - 1) // MEMBERS * MEMBERS


class NotificationLog:
    """Of one registration."""

    def __init__(self, state: ServiceState, subscription: str, registration: int) -> None:
        self.registration = registration
        self._source, self._tail = state.notifications, state.tail
        self._wanted = WantedRows(subscription, None, registration)

    def begin(self) -> Cursor:
        return Cursor(self._source.outbox.state.epoch, 0)

    def end(self) -> Cursor:
        """Beyond the last event."""
        state = self._source.outbox.state
        return Cursor(state.epoch, state.sequence)

    def read(self, place: Cursor) -> MessagePage:
        """Events beyond a place, a few megabytes of them."""
        page = read_rows(self._source, place, self._wanted, MOST_ROWS)
        return MessagePage([row.line for row in page.rows], page.end, page.is_last, page.lost)

    def first(self) -> tuple[Following | None, str | None]:
        """The page of the first event, and when that was if those before it are gone."""
        found = next(self._notifications(self.begin()), None)
        if found is None:
            return None, None
        return _page_with(found), found.accepted_at if self._source.outbox.state.pruned else None

    def members(self, place: Cursor) -> EventPage:
        """The events beyond a place, up to the end of its page."""
        end = self.end()
        if place.epoch != end.epoch or place.sequence > end.sequence:
            raise _gone(f"notifications were recorded again since {place}, or lost")
        last, left = _page_of(place.sequence + 1) + MEMBERS, MOST_BYTES
        taken: list[Notification] = []
        for each in self._notifications(place):
            if each.sequence > last:
                return EventPage(taken, _page_with(each))
            if left <= 0:
                return EventPage(taken, Following(taken[-1].cursor, Literal(each.sequence)))
            taken.append(each)
            left -= len(each.json)
        return EventPage(taken, None)

    def _notifications(self, place: Cursor) -> Iterator[Notification]:
        source, subscription = self._source, self._wanted.subscription
        found = source.outbox.notifications(place, None, subscription, None, source.definitions())
        return (each for each in found if each.registration == self.registration)

    async def wait(self, place: Cursor, seconds: float) -> None:
        """Until there may be something beyond a place, the service ends, or the `seconds` are over."""
        await self._tail.wait(place, self._wanted, seconds)


class DocumentLog:
    """Of all documents: versions accepted, and documents removed; its methods do what those above do."""

    registration = None

    def __init__(self, state: ServiceState) -> None:
        self._journal, self._tail = state.journal, state.tail

    def begin(self) -> Cursor:
        return self._cursor(0)

    def end(self) -> Cursor:
        return self._cursor(self._journal.head())

    def read(self, place: Cursor) -> MessagePage:
        head = self._check(place)
        events = self._journal.documents(place.sequence, head, MOST_ROWS, MOST_BYTES)
        reached = events[-1].position if events else head
        is_last = self._next(reached, head) is None
        return MessagePage([*map(_message, events)], self._cursor(head if is_last else reached), is_last, "")

    def first(self) -> tuple[Following | None, str | None]:
        found = self._next(0, self._journal.head())
        return None if found is None else self._following(_page_of(found), found), None

    def members(self, place: Cursor) -> EventPage:
        head = self._check(place)
        last = _page_of(place.sequence + 1) + MEMBERS
        events = self._journal.documents(place.sequence, min(last, head), None, MOST_BYTES)
        reached = events[-1].position if events else place.sequence
        found = self._next(reached, head)
        if found is None:
            return EventPage(events, None)
        return EventPage(events, self._following(reached if found <= last else _page_of(found), found))

    def _following(self, after: int, position: int) -> Following:
        return Following(self._cursor(after), Literal(self._journal.written_at(position), datatype=DATE_TIME))

    def _next(self, after: int, head: int) -> int | None:
        found = self._journal.next_document(after)
        return None if found is None or found > head else found

    def _check(self, place: Cursor) -> int:
        """The end of the log."""
        head = self._journal.head()
        if place.sequence > head or place != self._cursor(place.sequence):
            raise _gone(f"the record at {place.sequence} is another one")
        return head

    def _cursor(self, position: int) -> Cursor:
        return Cursor(zlib.crc32(self._journal.mark_at(position).encode()), position)

    async def wait(self, place: Cursor, seconds: float) -> None:
        await self._tail.wait_documents(place.sequence, seconds)


def _page_with(told: Notification) -> Following:
    return Following(Cursor(told.cursor.epoch, _page_of(told.sequence)), Literal(told.sequence))


Log = NotificationLog | DocumentLog


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
    """Of the live registration of an id, which its secret, its ticket or a token opens. Raises `Problem`."""
    if key:
        found = await state.call(partial(open_feed, state.engine, id, key))
    else:
        found = await readable_subscription(request, state, id, ticket, sent)
    return NotificationLog(state, id, found.id)


Documents = Annotated[DocumentLog, Depends(_documents)]
Notifications = Annotated[NotificationLog, Depends(_notifications)]


def _message(event: DocumentEvent) -> str:
    row: dict[str, object] = {
        "position": event.position,
        "id": event.graph,
        "version": event.version,
        "change": "removed" if isinstance(event, Removal) else "updated" if event.former else "created",
        "accepted_at": event.removed_at if isinstance(event, Removal) else event.accepted_at,
    }
    if not isinstance(event, Removal):
        row |= {"media_type": N_QUADS, "data": event.quads.decode()}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _gone(found: str) -> Problem:
    return Problem(410, "this place is no more", found, _AGAIN)
