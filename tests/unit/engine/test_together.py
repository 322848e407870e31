"""Threads that share a piece of work: each gets its own result, and errors reach those whom they concern."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from triplecast.engine.together import Together


def test_alone_a_call_is_done_at_once() -> None:
    groups: list[list[int]] = []

    def work(items: Sequence[int]) -> list[int]:
        groups.append([*items])
        return [item + 1 for item in items]

    together = Together(work, 9)
    assert [together(item) for item in range(3)] == [1, 2, 3]
    assert groups == [[0], [1], [2]]


def test_calls_that_wait_are_done_together_and_one_at_a_time(seed: int) -> None:
    """Random pauses; no two groups overlap, none is larger than allowed, and a failing item fails its group alone."""
    chance = random.Random(seed)
    pauses = [chance.random() / 500 for _ in range(400)]
    running = threading.Lock()
    groups: list[list[int]] = []

    def work(items: Sequence[int]) -> list[str]:
        assert running.acquire(blocking=False), "two threads lead at once"
        try:
            groups.append([*items])
            time.sleep(0.002)
            if any(item % 97 == 0 for item in items):
                raise ValueError(str(items))
            return [str(item) for item in items]
        finally:
            running.release()

    together = Together(work, 5)

    def call(item: int) -> str:
        time.sleep(pauses[item])
        try:
            return together(item)
        except ValueError as error:
            return f"failed with {error}"

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(call, range(400)))
    assert sorted(item for group in groups for item in group) == list(range(400))
    assert max(map(len, groups)) == 5
    for group in groups:
        bad = any(item % 97 == 0 for item in group)
        assert [results[item] for item in group] == [f"failed with {group}" if bad else str(item) for item in group]


def test_an_interrupt_of_the_leader_leaves_nobody_waiting() -> None:
    """The next call leads; those of the interrupted group hear of it."""
    began, go_on = threading.Event(), threading.Event()

    def work(items: Sequence[int]) -> list[int]:
        if 0 in items:
            began.set()
            go_on.wait()
            raise KeyboardInterrupt
        return [*items]

    together = Together(work, 9)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(together, 0)
        began.wait()
        others = [threads.submit(together, item) for item in (1, 2)]
        time.sleep(0.05)
        go_on.set()
        with pytest.raises(KeyboardInterrupt):
            first.result(9)
        assert [each.result(9) for each in others] == [1, 2]
