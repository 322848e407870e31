"""What operators say of constant arguments before any publication does: asked once, when a query is subscribed, of the
`check` that a declaration carries, in a worker of the operator's module."""

from __future__ import annotations

import atexit
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from triplecast.errors import SandboxFailed
from triplecast.model.algebra import from_ntriples
from triplecast.model.answers import told_reason
from triplecast.model.operators import Operator
from triplecast.operators.absence import REST, SHORTEST_REST
from triplecast.operators.declaration import find_declaration, load
from triplecast.operators.perform import START_SECONDS
from triplecast.operators.results import Unanswerable
from triplecast.sandbox import Limits, RequestFailure, Sandbox

REMEMBERED = 20_000
"""Answers that a process remembers."""
MOST_SECONDS = 10.0
"""Of one check, unless the operator has less."""
_ANSWER_BYTES = 1 << 16
_FUNCTION = "triplecast.operators.checking:answer"


class _NotAsked(Exception):
    """The worker is not there, so another time the same arguments may be objected to."""


@dataclass(slots=True)
class _Worker:
    """One that does not start is started again only after `REST` times as long as that took, as where operators are
    asked (decision 14); whoever waits meanwhile is not asked."""

    sandbox: Sandbox
    clock: Callable[[], float]
    rests_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, request: bytes) -> bytes | RequestFailure:
        """Raises `_NotAsked`."""
        with self.lock:
            began = self.clock()
            if began < self.rests_until:
                raise _NotAsked
            try:
                (answered,) = self.sandbox.map([request], once=(0,))
            except SandboxFailed as failed:
                now = self.clock()
                self.rests_until = now + max(SHORTEST_REST, REST * (now - began))
                raise _NotAsked from failed
        return answered


class Checker:
    """The workers that check, one for the operators of a module that have the same limits; they start when first needed
    and end with the process. Used by any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers: dict[tuple[str, Limits], _Worker] = {}
        self._lock = threading.Lock()
        self._told = lru_cache(maxsize=REMEMBERED)(self._ask)

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
        """Why a call with these bound arguments (None: a variable) can never be answered; None where it may be, and
        where the check itself fails or cannot be asked: what is known of an operator then is what it says of
        publications."""
        try:
            return self._told(declared, arguments)
        except _NotAsked:
            return None

    def _ask(self, declared: Operator, arguments: tuple[str | None, ...]) -> str | None:
        answered = self._worker(declared).ask(json.dumps([declared.module, declared.iri, arguments]).encode())
        told: str | None = json.loads(answered) if isinstance(answered, bytes) else None
        return told

    def _worker(self, declared: Operator) -> _Worker:
        seconds = min(declared.seconds, MOST_SECONDS)
        limits = Limits(seconds, declared.memory, _ANSWER_BYTES, trusted=True, start=START_SECONDS)
        with self._lock:
            found = self._workers.get((declared.source, limits))
            if found is None:
                sandbox = Sandbox(_FUNCTION, limits, modules=(declared.source,))
                found = self._workers[declared.source, limits] = _Worker(sandbox, self._clock)
            return found


@cache
def shared_checker() -> Checker:
    """This process's own."""
    checker = Checker()
    atexit.register(checker.close)
    return checker


def answer(request: bytes) -> bytes:
    """In the worker. What a check raises but `Unanswerable`, the sandbox tells."""
    module, iri, arguments = json.loads(request)
    declared = find_declaration(module, iri)
    if declared is None or not declared.check:
        return b"null"
    try:
        load(declared, declared.check)(*(None if each is None else from_ntriples(each) for each in arguments))
    except Unanswerable as refused:
        return json.dumps(told_reason(str(refused))).encode()
    return b"null"
