"""The outbox: what is recorded for subscribers, in order."""

from triplecast.outbox.batch import OutboxBatch, PublicationName
from triplecast.outbox.notification import Cursor, Definitions, Notification, UndecidedPair
from triplecast.outbox.outbox import Committed, Outbox
from triplecast.outbox.reader import OutboxReader
from triplecast.outbox.tables import OpenPart, Pending

__all__ = [
    "Committed",
    "Cursor",
    "Definitions",
    "Notification",
    "OpenPart",
    "Outbox",
    "OutboxBatch",
    "OutboxReader",
    "Pending",
    "PublicationName",
    "UndecidedPair",
]
