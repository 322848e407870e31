"""The outbox and what leaves it."""

from triplecast.outbox.batch import OutboxBatch
from triplecast.outbox.outbox import Committed, Outbox
from triplecast.outbox.reader import Counts, Notification, OutboxReader, UndecidedPair

__all__ = ["Committed", "Counts", "Notification", "Outbox", "OutboxBatch", "OutboxReader", "UndecidedPair"]
