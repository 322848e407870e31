"""How long a subscription lives: until a moment of the journal's time, or for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from triplecast.errors import InputError

DEFAULT_LEASE = timedelta(days=1)
FOREVER = timedelta.max
"""A lease without an end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_MEND = "give a timedelta, seconds, a datetime with a zone, or triplecast.FOREVER"


class Lease(NamedTuple):
    """An end in microseconds: since 1970, or, where it is `relative`, after the acceptance; None: no end."""

    microseconds: int | None
    relative: bool = False

    def end(self, at: int) -> int | None:
        """For one that is accepted `at`, in microseconds since 1970. Raises `InputError` for what is over by then, and
        for an end after the year 9999."""
        if self.microseconds is None:
            return None
        end = at + self.microseconds if self.relative else self.microseconds
        if end <= at:
            raise InputError("this lease would be over when it begins", "give a later end")
        if end > _LAST:
            raise InputError("this lease would end after the year 9999", "give triplecast.FOREVER for one without end")
        return end


NO_END = Lease(None)


def read_lease(given: object) -> Lease:
    """What a caller gave: a timedelta or seconds from the acceptance on, a datetime with a zone, `FOREVER`; None is
    `DEFAULT_LEASE`. Raises `InputError` for anything else."""
    if given is None:
        given = DEFAULT_LEASE
    if given == FOREVER or given == float("inf"):
        return NO_END
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InputError("the end of a lease has no zone", _MEND)
        return Lease((given - _EPOCH) // timedelta(microseconds=1))
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            given = timedelta(seconds=given)
        except (OverflowError, ValueError):
            raise InputError(f"a lease cannot be {given} seconds", _MEND) from None
    if not isinstance(given, timedelta):
        raise InputError(f"a lease is not {type(given).__name__}", _MEND)
    return Lease(given // timedelta(microseconds=1), relative=True)
