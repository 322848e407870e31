"""How many subscriptions stand, by what they cost and by who decides them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Census:
    """Live subscriptions; the first three, and the three after them, come to the same number."""

    narrow: int = 0
    """By cost (`compile.plan.Cost`)."""
    predicate: int = 0
    broad: int = 0
    index: int = 0
    """Decided by one join of the index."""
    combined: int = 0
    """Decided on the rows of its joins: by combining those of several, by calculating, or both."""
    evaluator: int = 0
    """Decided by the evaluator, on candidates."""
    refused: int = 0
    """Registered by another version of Triplecast and never asked by this one."""
