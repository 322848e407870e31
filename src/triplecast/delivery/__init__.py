"""The outbox and what leaves it."""

from triplecast.delivery.batch import OutboxBatch
from triplecast.delivery.outbox import Committed, Outbox
from triplecast.delivery.reader import Counts, Notification, OutboxReader, UndecidedPair

__all__ = ["Committed", "Counts", "Notification", "Outbox", "OutboxBatch", "OutboxReader", "UndecidedPair"]
