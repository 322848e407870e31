"""Operators' own checks of constant arguments (`operator(check=…)`), run once per query when it is subscribed."""

from __future__ import annotations

import atexit
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from triplecast.errors import SandboxFailed
from triplecast.model.operators import Operator
from triplecast.operators.asking.availability import REST, SHORTEST_REST
from triplecast.operators.asking.workers import START_SECONDS
from triplecast.sandbox import Limits, RequestFailure, Sandbox

REMEMBERED = 20_000
"""Results that a process remembers."""
MOST_SECONDS = 10.0
"""Of one check, unless the operator has less."""
_ANSWER_BYTES = 1 << 16


class _Unavailable(Exception):
    """The worker is not there, so another time the same arguments may be refused."""


@dataclass(slots=True)
class _Worker:
    """A worker that does not start is started again only after `REST` times as long as that took (decision 14)."""

    sandbox: Sandbox
    clock: Callable[[], float]
    rests_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, request: bytes) -> bytes | RequestFailure:
        """Raises `_Unavailable`."""
        with self.lock:
            began = self.clock()
            if began < self.rests_until:
                raise _Unavailable
            try:
                (answered,) = self.sandbox.map([request], once=(0,))
            except SandboxFailed as failed:
                now = self.clock()
                self.rests_until = now + max(SHORTEST_REST, REST * (now - began))
                raise _Unavailable from failed
        return answered


class Checker:
    """The workers that check, one for the operators of a module that have the same limits; they start when first needed
    and end with the process. Used by any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers: dict[tuple[str, Limits], _Worker] = {}
        self._lock = threading.Lock()
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._check)

    @property
    def children(self) -> int:
        """Workers started so far."""
        return sum(worker.sandbox.started for worker in self._workers.values())

    def close(self) -> None:
        with self._lock:
            for worker in self._workers.values():
                worker.sandbox.close()
            self._workers.clear()

    def objection(self, declared: Operator, arguments: tuple[str | None, ...]) -> str | None:
        """Return why a call with these bound arguments (None: a variable) can never be answered. None where it may be,
        and where the check itself fails or is unavailable: publications will show."""
        try:
            return self._remembered(declared, arguments)
        except _Unavailable:
            return None

    def _check(self, declared: Operator, arguments: tuple[str | None, ...]) -> str | None:
        answered = self._worker(declared).check(json.dumps([declared.module, declared.iri, arguments]).encode())
        objection: str | None = json.loads(answered) if isinstance(answered, bytes) else None
        return objection

    def _worker(self, declared: Operator) -> _Worker:
        seconds = min(declared.seconds, MOST_SECONDS)
        limits = Limits(seconds, declared.memory, _ANSWER_BYTES, trusted=True, start=START_SECONDS)
        with self._lock:
            found = self._workers.get((declared.source, limits))
            if found is None:
                sandbox = Sandbox("triplecast.operators.worker:check", limits, modules=(declared.source,))
                found = self._workers[declared.source, limits] = _Worker(sandbox, self._clock)
            return found


@cache
def shared_checker() -> Checker:
    """Return this process's own."""
    checker = Checker()
    atexit.register(checker.close)
    return checker
