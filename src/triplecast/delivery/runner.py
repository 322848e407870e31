"""Delivery as it goes: one thread says what is due, a few others make the attempts."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Event, Thread

from triplecast.delivery.attempt import FAILED, Attempt, AttemptOutcome, Deliver
from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.turns import AT_ONCE
from triplecast.errors import InputError, StorageFull
from triplecast.journal import Clock, system_clock

LOOK_EVERY = 0.5
"""Seconds between two looks at the outbox while nothing is under way."""
FULL_SECONDS = 5.0
"""Until it is tried again to write where no space is left."""


class DeliveryRunner:
    """Delivers from `start` to `stop`, on threads of its own: as many as attempts may be under way, and one."""

    def __init__(
        self, deliveries: Deliveries, deliver: Deliver, clock: Clock = system_clock, at_once: int = AT_ONCE
    ) -> None:
        """`at_once`: as `deliveries` were given it."""
        self.deliveries = deliveries
        self._deliver = deliver
        self._clock = clock
        self._settled: SimpleQueue[tuple[Attempt, AttemptOutcome] | None] = SimpleQueue()
        self._workers = ThreadPoolExecutor(at_once, "triplecast-deliver")
        self._stopping = Event()
        self._is_done: Callable[[], bool] = lambda: False
        self._under_way = 0
        self._thread = Thread(target=self._run, name="triplecast-delivery", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin no further attempt; return once those under way are done, and stored. Raises what ended it
        before, if anything did."""
        self._stopping.set()
        self._settled.put(None)
        self._thread.join()
        self._workers.shutdown()
        if self.deliveries.fault is not None:
            raise self.deliveries.fault

    def run_once(self) -> None:
        """Deliver what is there and due, and stop. What has to wait for another attempt is left."""
        self._is_done = lambda: self._under_way == 0
        self.start()
        self._thread.join()
        self.stop()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                if not self._go_on() and self._is_done():
                    break
            while self._under_way:
                self._take_in(None)
            self.deliveries.flush()
        except Exception as fault:
            self.deliveries.fault = fault

    def _go_on(self) -> bool:
        """One round; whether there was something to do."""
        try:
            worked = self.deliveries.read()
        except InputError:  # the outbox has begun again in between
            return True
        attempts = self.deliveries.due()
        for attempt in attempts:
            self._under_way += 1
            self._workers.submit(self._attempt, attempt)
        worked |= bool(attempts) or self.deliveries.is_behind
        self._take_in(0.0 if worked else self._patience())
        try:
            self.deliveries.flush()
        except StorageFull:
            time.sleep(FULL_SECONDS)
        return worked

    def _patience(self) -> float:
        """Seconds to wait for what is under way."""
        if self._under_way == 0 and self._is_done():
            return 0.0
        due = self.deliveries.next_due()
        return LOOK_EVERY if due is None else min(LOOK_EVERY, max(0.0, (due - self._clock()) / 1e6))

    def _take_in(self, seconds: float | None) -> None:
        """Take in what has been attempted, after waiting for the first of it."""
        wait = seconds
        try:
            while True:
                done = self._settled.get(timeout=wait) if wait != 0.0 else self._settled.get_nowait()
                wait = 0.0
                if done is not None:
                    self._under_way -= 1
                    self.deliveries.settle(*done)
        except Empty:
            pass

    def _attempt(self, attempt: Attempt) -> None:
        """An attempt always has an outcome: without one its target would wait for ever."""
        outcome = AttemptOutcome(FAILED, "the attempt was broken off")
        try:
            outcome = self._deliver(attempt)
        except Exception as error:
            outcome = AttemptOutcome(FAILED, f"{type(error).__name__}: {error}")
        finally:
            self._settled.put((attempt, outcome))
