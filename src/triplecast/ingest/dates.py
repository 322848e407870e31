"""Dates as feeds write them → ``xsd:dateTime`` with a zone."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?)?)?\Z", re.ASCII
)

_LONGEST = 100
"""Characters of a date."""


def date_time(text: str, parsed: time.struct_time | None = None) -> str | None:
    """The lexical form of an xsd:dateTime, or None for what is no date.

    A complete ISO 8601 (W3C-DTF) date and time keeps its digits and its zone; what it lacks is the start of the day,
    month or year, and UTC. RFC 822 and 2822 dates keep their zone (``-0000`` and unknown names are UTC). Anything else
    is `parsed`, in UTC: what the feed parser made of it.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    return _from_w3c(text) or _from_rfc(text) or _from_parsed(parsed)


def _from_w3c(text: str) -> str | None:
    match = _W3C.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    numbers = [int(part or start) for part, start in zip(match.groups()[:6], "111000", strict=True)]
    if not _exists(numbers):
        return None
    written = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{fraction or ''}"
    zone = (zone or "Z").upper()
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    return written + zone if zone == "Z" or (zone[1:] <= "14:00" and zone[4:] <= "59") else None


def _from_rfc(text: str) -> str | None:
    try:
        fields = parsedate_tz(text)
    except (ValueError, IndexError, TypeError):  # not every ill-formed date is foreseen there
        return None
    if fields is None or not _exists(fields[:6]):
        return None
    offset = fields[9] or 0
    if offset % 60 or abs(offset) > 14 * 3600:
        return None
    moment = datetime(*fields[:6], tzinfo=timezone(timedelta(seconds=offset)))
    return _written(moment)


def _from_parsed(parsed: time.struct_time | None) -> str | None:
    if parsed is None or not _exists(parsed[:6]):
        return None
    return _written(datetime(*parsed[:6], tzinfo=UTC))


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _exists(numbers: list[int] | tuple[int, ...]) -> bool:
    """Whether year … second name a moment that exists; leap seconds do not, in XSD."""
    try:
        datetime(*numbers)
    except (ValueError, OverflowError, TypeError):
        return False
    return numbers[0] > 0
