"""What an engine has open: closed with it, or when it is collected; and what each of its calls checks first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from threading import RLock
from typing import Protocol
from weakref import finalize

from triplecast.errors import InputError
from triplecast.journal import Journal

_MAY_BE_NONE = frozenset(("subscription", "owner"))
_OF_SUBSCRIPTIONS = ("subscription", "id", "name")
"""Fields that have the id of a subscription: of what matched, of `Subscribed`, of `Subscription`."""


class _Part(Protocol):
    def close(self) -> None: ...


class Opened:
    """The parts of one engine, which refer to nothing that has it: so whoever drops an engine frees its folder."""

    def __init__(self, engine: object, lock: RLock, journal: Journal, parts: Sequence[_Part]) -> None:
        """`parts` are closed in this order, the journal, which has the lock, after them."""
        self._lock = lock
        self._journal = journal
        self._closing = finalize(engine, _close, (*parts, journal))
        self._closing.atexit = False

    @property
    def is_open(self) -> bool:
        return self._closing.alive

    def check(self) -> None:
        """Raises `InputError` where the engine is closed, `FolderLocked` where another has its folder now."""
        self.check_open()
        self._journal.check_writer()

    def check_open(self) -> None:
        """The same for a call that is about to write, which sees for itself who has the folder: to ask before would
        wait for the journal's lock."""
        if not self._closing.alive:
            raise InputError("the engine is closed", "open its folder again, or begin with a new one")

    def check_names(self, **given: object) -> None:
        """Raises TypeError for what was `given` and is no text, and what `check` raises."""
        for name, value in given.items():
            if not isinstance(value, str) and not (value is None and name in _MAY_BE_NONE):
                raise TypeError(f"{name} is text, not {type(value).__name__}{_hint(name, value)}")
        self.check()

    def locked(self, **given: object) -> RLock:
        """The lock of calls that write, after `check_names`."""
        self.check_names(**given)
        return self._lock

    def close(self) -> None:
        self._closing()


def _hint(name: str, value: object) -> str:
    """Which field of `value` is meant, where it has one."""
    fields = (name,) if name in ("owner", "graph") else _OF_SUBSCRIPTIONS
    return next((f"; give its `{each}`" for each in fields if isinstance(getattr(value, each, None), str)), "")


def _close(parts: Sequence[_Part]) -> None:
    """Close all, also where one of them raises."""
    with ExitStack() as closing:
        for part in reversed(parts):
            closing.callback(part.close)
