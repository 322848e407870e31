"""Leases: how long subscriptions stay live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from triplecast.errors import InputError

DEFAULT_LEASE = timedelta(days=1)
FOREVER = timedelta.max
"""A lease without an end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_HINT = "give a timedelta, seconds, a datetime with a zone, or triplecast.FOREVER"


class Lease(NamedTuple):
    """The end of a lease in microseconds since 1970, or since acceptance if `relative`; None means no end."""

    microseconds: int | None
    relative: bool = False

    def end(self, at: int) -> int | None:
        """Return the end in microseconds since 1970 of a lease accepted `at` that time.

        Raises `InputError` for an end that has passed or lies after the year 9999."""
        if self.microseconds is None:
            return None
        end = at + self.microseconds if self.relative else self.microseconds
        if end <= at:
            raise InputError("the lease ends before it begins", "give a later end")
        if end > _LAST:
            raise InputError("the lease ends after the year 9999", "give triplecast.FOREVER for a lease without end")
        return end


NO_END = Lease(None)


def read_lease(given: object) -> Lease:
    """Read a lease: a timedelta or seconds after acceptance, a datetime with a zone, or `FOREVER`. None is
    `DEFAULT_LEASE`. Raises `InputError` for anything else."""
    if given is None:
        given = DEFAULT_LEASE
    if given == FOREVER or given == float("inf"):
        return NO_END
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InputError("the end of a lease has no time zone", _HINT)
        return Lease((given - _EPOCH) // timedelta(microseconds=1))
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            given = timedelta(seconds=given)
        except (OverflowError, ValueError):
            raise InputError(f"a lease cannot be {given} seconds", _HINT) from None
    if not isinstance(given, timedelta):
        raise InputError(f"a lease is not {type(given).__name__}", _HINT)
    return Lease(given // timedelta(microseconds=1), relative=True)
