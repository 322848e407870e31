"""Small batches of matches, and the subscriptions they name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecast.model.open_rows import PairReason
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.outbox import OutboxBatch, PublicationName

AT = "2026-11-21T08:00:00.000000Z"


def batch(
    rows: Sequence[tuple[int, int, str]],
    undecided: Sequence[tuple[int, int, str]] = (),
    awaited: Sequence[tuple[int, int]] = (),
) -> OutboxBatch:
    """A batch of (position, registration, bindings); the publication at position p is version p of ``urn:graph``."""
    positions = sorted({position for position, *_ in (*rows, *undecided, *awaited)})
    encoded = [text.encode() for *_, text in rows]
    return OutboxBatch(
        tuple(PublicationName(position, "urn:graph", position, AT) for position in positions),
        np.array([position for position, *_ in rows], np.int64),
        np.array([registration for _, registration, _ in rows], np.int64),
        np.zeros(len(rows), np.uint8),
        np.arange(len(rows), dtype=np.int32),
        np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        np.frombuffer(b"".join(encoded), np.uint8),
        tuple(PairReason(*pair) for pair in undecided),
        tuple(PairReason(*pair) for pair in awaited),
    )


def registrations(ids: Sequence[int]) -> list[Registration]:
    return [Registration(RegistrationId(id), Subscription(f"s{id}", "ASK {}", owner=f"owner{id}")) for id in ids]
