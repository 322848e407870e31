"""Small batches of matches, and the subscriptions they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from triplecast.model.open_rows import PairReason
from triplecast.model.subscription import NamedRegistrations, Registration, RegistrationId, Subscription
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


def named(found: Iterable[Registration]) -> list[NamedRegistrations]:
    """The names of registrations, each as of a record of its own."""
    return [NamedRegistrations(int(each.id), [each.subscription.name], [each.subscription.owner]) for each in found]


def names(ids: Sequence[int]) -> list[NamedRegistrations]:
    """Of the same registrations, those of a record of three together."""
    firsts = sorted({(id - 1) // 3 * 3 + 1 for id in ids})
    threes = [range(first, first + 3) for first in firsts]
    return [NamedRegistrations(each[0], [f"s{id}" for id in each], [f"owner{id}" for id in each]) for each in threes]
