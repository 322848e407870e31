"""A function in a killable child process, and the requests that it does not survive."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Container, Sequence

from triplecast.errors import SandboxFailed
from triplecast.sandbox.process import Answer, Child, ChildLost, Limits, RequestFailure, Stopwatch


class Sandbox:
    """A function bytes → bytes (``package.module:name``) in one child process; used by any thread, one at a time.

    The child starts at the first request and stays. `map` raises SandboxFailed if it does not start or cannot import
    the function.
    """

    def __init__(
        self, function: str, limits: Limits, clock: Stopwatch = time.monotonic, modules: Sequence[str] = ()
    ) -> None:
        """`modules`, names or the path of a script, are imported by the child before its limits hold."""
        self.function = function
        self._modules = tuple(modules)
        self.limits = limits
        self.started = 0
        """Children started so far."""
        self._clock = clock
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, requests: Sequence[bytes], once: Container[int] = ()) -> list[bytes | RequestFailure]:
        """Return one outcome per request, in order.

        A request that the child did not survive (death, time, memory) may be a victim of its neighbours: it is
        repeated once, alone, in a fresh child, and that outcome counts. Answered requests are never repeated; those
        behind it continue in the next child. An exception or too long an answer harms no child and is final.
        Requests whose index is in `once` are not repeated: their caller sends them in another form.
        """
        outcomes: list[Answer] = []
        with self._lock:
            try:
                while len(outcomes) < len(requests):
                    failure = self._send(requests[len(outcomes) :] if outcomes else requests, outcomes)
                    if failure is not None and len(outcomes) in once:
                        outcomes.append(failure)
                    elif failure is not None:
                        self._send_alone(requests[len(outcomes)], outcomes)
            except BaseException:  # interrupted midway: what is in the pipes is unknown
                self._discard()
                raise
        return outcomes

    def start(self) -> None:
        """Start the child, so that the first `map` need not. Raises SandboxFailed."""
        with self._lock:
            self._living_child()

    def close(self) -> None:
        """End the child. A later `map` starts another."""
        with self._lock:
            self._discard()

    def _send_alone(self, request: bytes, outcomes: list[Answer]) -> None:
        failure = self._send([request], outcomes)
        if failure is not None:
            outcomes.append(failure)

    def _send(self, requests: Sequence[bytes], outcomes: list[Answer]) -> RequestFailure | None:
        """Append outcomes; return the failure of the first request that lost the child, if one did. If the child sent
        an extra answer, the last outcome is dropped."""
        child = self._living_child()
        wanted = len(outcomes) + len(requests)
        try:
            child.ask(requests, outcomes.append)
        except ChildLost as error:
            self._discard()
            del outcomes[wanted - 1 :]
            return error.failure
        return None

    def _living_child(self) -> Child:
        if self._owner != os.getpid():  # forked: the child belongs to the other process
            self._owner, self._child = os.getpid(), None
        if self._child is not None and not (self._child.alive and self._child.quiet):
            self._discard()
        if self._child is None:
            self._child = self._start()
        return self._child

    def _start(self) -> Child:
        """Start a child; one that was killed while it started (for its memory, say) is started once more."""
        self.started += 1
        try:
            return Child(self.function, self.limits, self._clock, self._modules)
        except SandboxFailed as failed:
            if not (isinstance(failed.__cause__, ChildLost) and failed.__cause__.failure.kind == "crash"):
                raise
        self.started += 1
        return Child(self.function, self.limits, self._clock, self._modules)

    def _discard(self) -> None:
        if self._child is not None and self._owner == os.getpid():
            self._child.kill()
        self._child = None
