"""The tail wakes whoever waits, at once where it is nudged, and all at its end."""

from __future__ import annotations

import asyncio
import time

from triplecast.service.tail import LOOK_SECONDS, Tail


def test_readers_are_woken_once_for_what_is_new() -> None:
    async def scene() -> None:
        recorded = [3]
        tail = Tail(lambda: recorded[0])
        tail.start()
        assert await tail.wait_beyond(2) == 3
        assert await tail.wait_beyond(3, timeout=0.01) == 3
        readers = [asyncio.create_task(tail.wait_beyond(3)) for _ in range(1000)]
        await asyncio.sleep(0)
        recorded[0] = 5
        began = time.monotonic()
        tail.nudge()
        assert set(await asyncio.gather(*readers)) == {5}
        assert time.monotonic() - began < LOOK_SECONDS
        recorded[0] = 6  # nobody says so
        assert await tail.wait_beyond(5, timeout=10) == 6
        left = asyncio.create_task(tail.wait_beyond(6))
        await asyncio.sleep(0)
        tail.stop()
        assert await left == 6
        assert tail.is_ended

    asyncio.run(scene())
