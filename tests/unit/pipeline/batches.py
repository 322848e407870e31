"""Outbox batches for tests."""

from __future__ import annotations

import random

import numpy as np

from triplecast.model.match import Undecided
from triplecast.outbox import OutboxBatch


def random_batch(seed: int, first: int = 1, publications: int = 12) -> OutboxBatch:
    """A batch in which some publications have no row, some several, some an undecided pair."""
    chance = random.Random(seed)
    rows = []
    undecided = []
    for index in range(publications):
        for registration in sorted(chance.sample(range(1, 30), chance.choice([0, 0, 1, 3, 9]))):
            rows.append((index, registration, f'[{{"a":"é{"x" * chance.randrange(40)}"}}]'.encode()))
        if chance.random() < 0.2:
            undecided.append(Undecided(index, chance.randrange(30, 40), "the budget ran out"))
    ends = np.cumsum([0, *(len(row[2]) for row in rows)])
    return OutboxBatch(
        np.arange(first, first + 2 * publications, 2, dtype=np.int64),
        tuple(f"http://e/{index}" for index in range(publications)),
        tuple(chance.randrange(1, 5) for _ in range(publications)),
        tuple(f"2026-11-21T08:00:{index:02}.000000Z" for index in range(publications)),
        np.array([row[0] for row in rows], np.int32),
        np.array([row[1] for row in rows], np.int64),
        ends.astype(np.int64),
        np.frombuffer(b"".join(row[2] for row in rows), np.uint8),
        tuple(undecided),
    )


def rows_of(*batches: OutboxBatch) -> list[tuple[object, ...]]:
    """What batches say, row by row, independent of how they are cut."""
    return [
        (
            int(batch.positions[index]),
            batch.graphs[index],
            batch.versions[index],
            batch.accepted_at[index],
            int(batch.registration[row]),
            batch.bindings[batch.bindings_offsets[row] : batch.bindings_offsets[row + 1]].tobytes(),
        )
        for batch in batches
        for row, index in enumerate(batch.publication.tolist())
    ]


def undecided_of(*batches: OutboxBatch) -> list[tuple[int, int, str]]:
    return [
        (int(batch.positions[pair.publication]), pair.registration, pair.reason)
        for batch in batches
        for pair in batch.undecided
    ]
