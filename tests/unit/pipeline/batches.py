"""Outbox batches for tests."""

from __future__ import annotations

import random

import numpy as np

from triplecast.model.open_rows import PairReason
from triplecast.outbox import OutboxBatch, PublicationName


def random_batch(seed: int, first: int = 1, publications: int = 12) -> OutboxBatch:
    """A batch in which some publications have no row, some several, some an undecided pair."""
    chance = random.Random(seed)
    rows = []
    undecided = []
    names = []
    for at in range(publications):
        position = first + 2 * at
        for registration in sorted(chance.sample(range(1, 30), chance.choice([0, 0, 1, 3, 9]))):
            rows.append((position, registration, f'[{{"a":"é{"x" * chance.randrange(40)}"}}]'.encode()))
        if chance.random() < 0.2:
            undecided.append(PairReason(position, chance.randrange(30, 40), "the budget ran out", position % 2 == 0))
        accepted_at = f"2026-11-21T08:00:{at:02}.000000Z"
        names.append(PublicationName(position, f"http://e/{at}", chance.randrange(1, 5), accepted_at))
    return OutboxBatch(
        tuple(names),
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.zeros(len(rows), np.uint8),
        np.arange(len(rows), dtype=np.int32),
        np.cumsum([0, *(len(row[2]) for row in rows)]).astype(np.int64),
        np.frombuffer(b"".join(row[2] for row in rows), np.uint8),
        tuple(undecided),
    )


def rows_of(*batches: OutboxBatch) -> list[tuple[object, ...]]:
    """What batches say, row by row, independent of how they are cut."""
    found: list[tuple[object, ...]] = []
    for batch in batches:
        names = {name.position: name for name in batch.publications}
        found += [(*names[row.position], row.registration, row.bindings) for row in batch.rows()]
    return found


def undecided_of(*batches: OutboxBatch) -> list[PairReason]:
    return [pair for batch in batches for pair in batch.undecided]
