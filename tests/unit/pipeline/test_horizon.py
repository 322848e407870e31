"""How far a batch may go, and who is told when that changes."""

from __future__ import annotations

import time

import pytest

from triplecast.pipeline.horizon import (
    BATCH_SECONDS,
    LARGEST,
    ROWS,
    SMALLEST,
    Horizon,
    MovingHorizon,
    next_batch,
    next_end,
)


@pytest.mark.parametrize(
    ("start", "first", "head", "change", "batch", "end"),
    [
        (0, None, 0, None, 10, 0),
        (0, 1, 5, None, 10, 5),
        (0, 1, 50, None, 10, 10),
        (7, 8, 50, None, 10, 17),
        (7, 31, 50, None, 10, 40),  # registry records before the first publication cost nothing
        (7, None, 50, None, 10, 50),
        (7, 8, 50, 12, 10, 11),  # the record at 12 is not in the index: what comes before it may be matched
        (7, 9, 50, 8, 10, 7),
        (12, 13, 50, 8, 10, 12),  # never backwards
        (7, 8, 50, 40, 10, 17),
    ],
)
def test_a_batch_ends_before_the_first_registry_record_that_the_index_lacks(
    start: int, first: int | None, head: int, change: int | None, batch: int, end: int
) -> None:
    assert next_end(start, first, head, change, batch) == end


def test_the_span_follows_the_time_a_batch_takes() -> None:
    assert next_batch(1000, 1000, 0, BATCH_SECONDS / 2) == 2000
    assert next_batch(1000, 1000, 0, BATCH_SECONDS / 100) == 2000
    assert next_batch(1000, 10, 0, 0.3) == 1000
    assert next_batch(4000, 4000, 0, 2 * BATCH_SECONDS) == 2000
    assert next_batch(4000, 800, 0, 2 * BATCH_SECONDS) == SMALLEST, "not smaller: that costs more than it gains"
    assert next_batch(LARGEST, LARGEST, 0, 0.0) == LARGEST


def test_the_span_is_bounded_by_the_rows_that_it_would_give() -> None:
    assert next_batch(1000, 1000, 2 * ROWS, 1.0) == 500
    assert next_batch(1000, 2, 10 * ROWS, 1.0) == 1
    assert next_batch(1, 1, ROWS // 100, 0.1) == 100


def test_the_horizon_is_what_was_said_last() -> None:
    horizon = MovingHorizon()
    horizon.learn(10, 10, 1.0)
    assert horizon.now is None
    horizon.cover("m1", 7)
    assert horizon.now == Horizon("m1", 7, SMALLEST)
    horizon.learn(SMALLEST, 0, BATCH_SECONDS / 2)
    horizon.cover("m2", 9)
    assert horizon.now == Horizon("m2", 9, 2 * SMALLEST)


@pytest.mark.timeout(20)
def test_a_wait_ends_when_there_is_news() -> None:
    horizon = MovingHorizon()
    horizon.cover("m1", 7)
    began = time.monotonic()
    horizon.wait(60.0)
    horizon.wait(0.0)
    horizon.wake()
    horizon.wait(60.0)
    assert time.monotonic() - began < 60, "neither waited for its time"
