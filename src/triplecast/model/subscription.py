"""Subscriptions as the journal knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

RegistrationId = NewType("RegistrationId", int)
"""64 bits, never reused: the journal position of the record that added the subscription."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query as its owner wrote it."""

    name: str
    """The subscriber's id for it: a relative path, the ``id`` of a ``.jsonl`` line, or what `subscribe` was given."""
    text: str
    language: str = "sparql"
    scope: str = "publication"
    entailment: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """A subscription with its place in the journal; it is asked of publications at positions in (added, removed)."""

    id: RegistrationId
    subscription: Subscription
    removed: int | None = None

    @property
    def added(self) -> int:
        return int(self.id)
