"""Times in the header of an answer (RFC 9110, 5.6.7 and 10.2.3)."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def read_date(text: str | None) -> float | None:
    """Seconds since 1970; None for what is no date."""
    try:
        found = parsedate_to_datetime(text or "")
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def read_retry_after(value: str | None, now: int) -> float | None:
    """The seconds from `now`, in microseconds since 1970, that a `Retry-After` asks for; None for what is none."""
    said = (value or "").strip()
    if said.isascii() and said.isdecimal():
        return float(said[:12])
    at = read_date(said)
    return None if at is None else max(0.0, at - now / 1_000_000)
