"""Notifications as CloudEvents 1.0 (CNCF, 2019), JSON format and its batches."""

from __future__ import annotations

from urllib.parse import quote

from triplecast.outbox import Notification
from triplecast.syndication.rows import event_type, notification_row

BATCH = "application/cloudevents-batch+json"


def cloud_event(told: Notification, service: str = "") -> dict[str, object]:
    """The event of a notification, with its `id`. `service` is the address before ``/subscriptions``."""
    return {
        "specversion": "1.0",
        "id": told.id,
        "source": f"{service}/subscriptions/{quote(told.subscription, safe='')}",
        "type": event_type(told),
        "subject": told.publication,
        "time": told.accepted_at,
        "datacontenttype": "application/json",
        "sequence": f"{told.sequence:020d}",
        "data": notification_row(told),
    }
