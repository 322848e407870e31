"""What is sent of a notification: the JSON of a webhook and of a command, the text of a mail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecast.journal import JournalFile
from triplecast.model.operators import OperatorSet
from triplecast.model.printable import json_line, printable, printable_name, shortened
from triplecast.outbox import Notification
from triplecast.syndication.rows import event_type, head_row, notification_row, short_row

MOST_BYTES = 1 << 20
"""Of a message, unless it is one of many rows: then these are left out, and it says where they are."""
_LINE = 500
"""Characters of a notification in a mail."""


def with_definitions(
    notifications: Sequence[Notification], journal: JournalFile, operators: OperatorSet
) -> list[Notification]:
    """The notifications with their queries, which say in which order and form rows are written."""
    wanted = [each.registration for each in notifications]
    defined = {int(each.id): each.subscription for each in journal.registrations(wanted)}
    return [replace(each, definition=defined.get(each.registration), operators=operators) for each in notifications]


def row_of(notification: Notification) -> dict[str, object]:
    """The object that `triplecast notifications --json` prints."""
    if len(notification.json) <= MOST_BYTES:
        return notification_row(notification)
    return short_row(head_row(notification), len(notification.json))


def webhook_body(notification: Notification) -> bytes:
    """An object with ``type``, ``timestamp`` and ``data``, as Standard Webhooks recommends."""
    said = {"type": event_type(notification), "timestamp": notification.accepted_at}
    return json_line(said | {"data": row_of(notification)}).encode()


def command_input(notification: Notification) -> bytes:
    return json_line(row_of(notification)).encode() + b"\n"


def mail_subject(notifications: Sequence[Notification]) -> str:
    count, name = len(notifications), printable_name(notifications[0].subscription)
    return shortened(f"{name}: {count} {'match' if count == 1 else 'matches'}", 200)


def mail_text(notifications: Sequence[Notification]) -> str:
    """A line for each notification: the document, and the first row."""
    lines = [
        f"{each.publication} v{each.version}  {' '.join(each.recorded.first().split())}  ({each.change})"
        for each in notifications
    ]
    return "".join(f"{printable(shortened(line, _LINE))}\n" for line in lines)
