"""What a run tells while it goes and when it ends."""

from __future__ import annotations

from dataclasses import dataclass

from triplecast.ingest.subscription_files import SubscriptionFault
from triplecast.model.publication import Reject


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts since the run began, and where it stands now."""

    phase: str
    """``starting``, ``running`` or ``ending``."""
    subscriptions: int
    """Live registrations."""
    accepted: int
    """Publications that the journal took."""
    publications: int
    """Publications matched and committed to the outbox."""
    matches: int
    rejects: int
    undecided: int
    rate: float
    """Publications committed a second over the last seconds."""
    lag: int
    """Journal positions between its head and what the outbox has."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run did."""

    subscriptions: int
    """Live registrations at the end."""
    accepted: int
    unchanged: int
    """Documents whose content was that of their latest version."""
    publications: int
    """Publications matched and committed to the outbox, those that an earlier run left over among them."""
    matches: int
    undecided: int
    rejects: tuple[Reject, ...]
    """In the order of the journal; at most `REPORTED` of them."""
    reject_count: int
    faults: tuple[SubscriptionFault, ...]
    """Subscriptions that stand in the files but are not registered, as the run ended."""
    ignored: tuple[str, ...]
    """Inbox files with an extension that is not known."""
    seconds: float
    """From the start of the run to its end."""
    matching_seconds: float
    """From the first batch's start to the last one's end."""


REPORTED = 1000
"""How many rejects a `Summary` lists; all are in the journal."""
