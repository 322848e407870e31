"""Counts of live subscriptions, by cost and by the stage that decides them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubscriptionCounts:
    """Live subscriptions: by cost (the first three fields) and by who decides them (the next three)."""

    narrow: int = 0
    """By cost (`compile.plan.Cost`)."""
    predicate: int = 0
    broad: int = 0
    index: int = 0
    """Decided by one join of the index."""
    combined: int = 0
    """Decided on the rows of its joins: by combining several, by calculating residual predicates, or both."""
    evaluator: int = 0
    """Decided by the evaluator, on candidates."""
    refused: int = 0
    """Registered by another version of Triplecast; this one never evaluates them."""
