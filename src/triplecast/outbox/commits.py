"""What wakes those who wait for an outbox to record more."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CommitSignal:
    """Rung by an outbox after each commit, which may hold locks meanwhile: who is woken takes none that a writer needs
    before it has let go of the signal's."""

    def __init__(self) -> None:
        self._rung = threading.Condition()
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._is_over = False

    def ring(self) -> None:
        with self._rung:
            self._rung.notify_all()
        for each in self._listeners:
            each()

    def end(self) -> None:
        """Nothing more will be recorded: all who wait go on."""
        self._is_over = True
        self.ring()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` at each ring, on the thread that commits: it may neither raise nor wait. Return what stops
        that."""
        with self._rung:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._rung:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

        return stop

    def wait(self, has_more: Callable[[], bool], seconds: float | None = None) -> bool:
        """Return True as soon as `has_more`, False once nothing more will come or the `seconds` are over."""
        with self._rung:
            self._rung.wait_for(lambda: self._is_over or has_more(), seconds)
            return not self._is_over and has_more()
