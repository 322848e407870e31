"""Which targets are to get a notification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from triplecast.delivery.live import Live, LiveGroups
from triplecast.delivery.target import Target
from triplecast.journal import JournalFile
from triplecast.model.subscription import FILES
from triplecast.outbox import Notification


class TargetIndex:
    """The targets that are delivered to, by registration, or by the id of a subscription file."""

    def __init__(self, journal: JournalFile, note: Callable[[Target], None]) -> None:
        """`note` is told of a target that goes over to the next registration of its file."""
        self._journal = journal
        self._note = note
        self._lives = LiveGroups()

    def __bool__(self) -> bool:
        return bool(self._lives)

    def add(self, live: Live) -> None:
        self._lives.add(live.heard_by, live)

    def drop(self, live: Live) -> None:
        self._lives.drop(live.heard_by, live)

    def of(self, notification: Notification) -> list[Live]:
        found = [*self._lives.group(notification.registration)]
        for live in self._lives.group(notification.subscription):
            if notification.registration > live.target.registration and self._is_from_file(notification.registration):
                live.target = replace(live.target, registration=notification.registration)
                self._note(live.target)
            if notification.registration == live.target.registration:
                found.append(live)
        return found

    def _is_from_file(self, registration: int) -> bool:
        found = self._journal.registration(registration)
        return found is not None and found.source == FILES
