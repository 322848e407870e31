"""The outbox and what leaves it."""

from triplecast.delivery.batch import OutboxBatch
from triplecast.delivery.outbox import Committed, Counts, Notification, Outbox, OutboxReader, UndecidedPair

__all__ = ["Committed", "Counts", "Notification", "Outbox", "OutboxBatch", "OutboxReader", "UndecidedPair"]
