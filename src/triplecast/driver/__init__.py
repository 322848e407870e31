"""What is matched and asked about next, and what is recorded of it."""

from triplecast.driver.driver import AskBatch, Driver, MatchRange, Turns

__all__ = ["AskBatch", "Driver", "MatchRange", "Turns"]
