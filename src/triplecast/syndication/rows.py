"""A notification as the object that its line of JSON is."""

from __future__ import annotations

from triplecast.outbox import Notification


def notification_row(told: Notification) -> dict[str, object]:
    """What `OutboxReader.json_lines` writes of it."""
    return head_row(told) | told.recorded.row()


def head_row(told: Notification) -> dict[str, object]:
    """The same without its rows."""
    return {
        "sequence": told.sequence,
        "cursor": str(told.cursor),
        "id": told.id,
        "change": told.change,
        "publication": told.publication,
        "version": told.version,
        "position": told.position,
        "registration": told.registration,
        "subscription": told.subscription,
        "owner": told.owner,
        "accepted_at": told.accepted_at,
    }
