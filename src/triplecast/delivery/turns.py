"""Which targets may be sent to at once: few of one host, none of a host that answers nobody, and not only slow ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from triplecast.delivery.target import WEBHOOK, WEBSUB, Target
from triplecast.egress import read_url

AT_ONCE = 32
"""Attempts under way."""
HOST_AT_ONCE = 8
"""Requests to one host; likewise mails, and commands."""
BREAKS_AFTER = 5
"""Requests in a row that a host does not answer."""
BREAK_SECONDS = 30
"""Until one more is tried."""


@dataclass(slots=True)
class Host:
    """One host, or all that is not sent by HTTP of one kind."""

    in_flight: int = 0
    unanswered: int = 0
    opens_at: int = 0
    """No request before, in microseconds since 1970: its circuit is broken."""
    waiting: dict[str, None] = field(default_factory=dict)
    """Targets that are due and wait for their turn, each once."""


class HostTurns:
    """Counts what is under way. Not thread-safe: `Deliveries` holds its lock."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._most = max(1, at_once // 2)
        """Attempts at targets that are unproven."""
        self._hosts: dict[str, Host] = {}
        self._in_flight = 0
        self._unproven = 0
        self._waiting: dict[str, None] = {}

    @property
    def is_free(self) -> bool:
        return self._in_flight < self._at_once

    def take(self, target: Target, now: int) -> int | None:
        """Begin an attempt: None. Or note that the target waits: 0, or until when."""
        host = self._hosts.setdefault(host_of(target), Host())
        if now < host.opens_at:
            return host.opens_at
        if host.in_flight >= (1 if host.unanswered >= BREAKS_AFTER else HOST_AT_ONCE):
            host.waiting[target.id] = None
            return 0
        if is_unproven(target) and self._unproven >= self._most:
            self._waiting[target.id] = None
            return 0
        self._leave(host, target)
        host.in_flight += 1
        self._in_flight += 1
        self._unproven += is_unproven(target)
        return None

    def forget(self, target: Target) -> None:
        """A target waits no more: its turn goes to the next."""
        if (host := self._hosts.get(host_of(target))) is not None:
            self._leave(host, target)

    def _leave(self, host: Host, target: Target) -> None:
        host.waiting.pop(target.id, None)
        self._waiting.pop(target.id, None)

    def give_back(self, target: Target, answered: bool, now: int) -> list[str]:
        """End an attempt of what was a `target` as it began; return those who have waited for that."""
        host = self._hosts[host_of(target)]
        host.in_flight -= 1
        self._in_flight -= 1
        self._unproven -= is_unproven(target)
        host.unanswered = 0 if answered else host.unanswered + 1
        if host.unanswered >= BREAKS_AFTER:
            host.opens_at = now + BREAK_SECONDS * 1_000_000
        waited = _pop(host.waiting, HOST_AT_ONCE - host.in_flight) + _pop(self._waiting, self._most - self._unproven)
        if host == Host():
            del self._hosts[host_of(target)]
        return waited


def _pop(waiting: dict[str, None], count: int) -> list[str]:
    found = [*islice(waiting, max(count, 0))]
    for id in found:
        del waiting[id]
    return found


def host_of(target: Target) -> str:
    return read_url(target.address).origin if target.kind in (WEBHOOK, WEBSUB) else target.kind


def is_unproven(target: Target) -> bool:
    """Whether nothing has been delivered to it since it failed. Half of all attempts are kept for the others."""
    return target.failing_since is not None or target.last_at is None
