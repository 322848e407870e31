"""What is matched next, whose operators are called next, and what is recorded of it."""

from triplecast.driver.driver import Driver, MatchRange, check_progress, open_outbox
from triplecast.driver.turns import AskBatch, Turns

__all__ = ["AskBatch", "Driver", "MatchRange", "Turns", "check_progress", "open_outbox"]
