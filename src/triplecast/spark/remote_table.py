"""The notifications of a service, read by HTTP as a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from triplecast.errors import EgressFailed, InputError
from triplecast.model.extras import how_to_install
from triplecast.spark.tables import ROWS_AT_ONCE, NotificationTable, Offset, PushedDown, written

if TYPE_CHECKING:
    from triplecast.client import Client
    from triplecast.client.answers import RemoteNotification


class ServicePlace(NamedTuple):
    """Where a service is, and by what it lets in."""

    url: str
    token: str | None = None
    ticket: str | None = None
    """Of the subscription that is read."""


class RemoteTable(NotificationTable):
    """As `NotificationTable` has them of a folder; offsets are the same."""

    def head(self, folder: ServicePlace) -> Offset:  # type: ignore[override]
        with _service(folder) as client:
            return _offset(client.page("now", ticket=folder.ticket).cursor)

    def read(  # type: ignore[override]
        self, folder: ServicePlace, after: Offset, upto: int, wanted: PushedDown
    ) -> Iterator[pa.RecordBatch]:
        """Raises `InputError` for what the service refuses: rows that were pruned, a folder made anew."""
        with _service(folder) as client:
            start = f"{after.epoch}:{after.number}"
            found = client.notifications(start, wanted.subscription, wanted.owner, folder.ticket)
            mine = takewhile(lambda each: each.sequence <= upto, found)
            while some := [*islice(mine, ROWS_AT_ONCE)]:
                columns = zip(*map(_row, some), strict=True)
                yield from self.finish([pa.array(column) for column in columns])


@contextmanager
def _service(place: ServicePlace) -> Iterator[Client]:
    try:
        from triplecast.client import Client
        from triplecast.client.calls import answering
    except ImportError as error:
        raise InputError("reading a service needs the extra client", how_to_install("client")) from error
    try:
        with answering(place.url), Client(place.url, place.token) as client:
            yield client
    except EgressFailed as error:
        raise InputError(f"the service {place.url} cannot be reached: {error.reason}", error.hint) from error


def _row(told: RemoteNotification) -> tuple[Any, ...]:
    row = told.row
    told_at = datetime.fromisoformat(row["accepted_at"])
    names = ("sequence", "id", "subscription", "owner", "publication", "version", "position", "change")
    return (*(row[name] for name in names), _recorded(told), told_at)


def _recorded(told: RemoteNotification) -> str:
    """The rows as the folder records them."""
    if told.change != "changed":
        return written(_texts(told.removed if told.change == "removed" else told.added))
    parts: dict[str, Any] = {"added": _texts(told.added), "removed": _texts(told.removed)}
    if told.updated:
        parts["updated"] = [_texts(pair) for pair in told.updated]
    if told.changed:
        parts["changed"] = _texts(told.changed)
    return written(parts)


def _texts(solutions: Any) -> list[dict[str, str]]:
    return [{name: str(term) for name, term in sorted(each.items())} for each in solutions]


def _offset(cursor: str) -> Offset:
    epoch, _, sequence = cursor.rpartition(":")
    return Offset(int(epoch or 0), int(sequence))
