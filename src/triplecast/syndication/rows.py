"""A notification as the object that its line of JSON is, and what others say of it too."""

from __future__ import annotations

from collections.abc import Mapping

from triplecast.outbox import Notification

_HEAD = (
    *("sequence", "cursor", "id", "change", "publication", "version", "position", "registration", "subscription"),
    *("owner", "accepted_at"),
)


def notification_row(told: Notification) -> dict[str, object]:
    """What `OutboxReader.json_lines` writes of it."""
    return head_row(told) | told.recorded.row()


def head_row(told: Notification) -> dict[str, object]:
    """The same without its rows."""
    return {name: getattr(told, name) for name in _HEAD} | {"cursor": str(told.cursor)}


def short_row(row: Mapping[str, object], size: int) -> dict[str, object]:
    """What is sent in place of a line of `size` bytes that is too large: all but its rows, and where these are."""
    said = f"it has {size} bytes with its rows; read them by the cursor"
    return {name: row[name] for name in _HEAD} | {"omitted": said}


def event_type(told: Notification) -> str:
    """What CloudEvents and webhooks call the type of the event."""
    return f"triplecast.match.{told.change}"
