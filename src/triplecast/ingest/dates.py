"""Convert the dates of feeds to ``xsd:dateTime`` with a time zone."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz

_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?)?)?\Z", re.ASCII
)

_LONGEST = 100
"""Most characters of a date."""


def date_time(text: str, parsed: time.struct_time | None = None) -> str | None:
    """Return the lexical form of an xsd:dateTime, or None for text that is no date.

    An ISO 8601 (W3C-DTF) date keeps its digits and zone; missing parts are the start of the year, month or day, and
    UTC. RFC 822 and 2822 dates keep their zone (``-0000`` and unknown names are UTC). Any other text is `parsed`, the
    feed parser's result, in UTC.
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
    except (ValueError, IndexError, TypeError):  # it fails on some ill-formed dates
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
    """Whether the numbers, year to second, are a moment; XSD has no leap seconds."""
    try:
        datetime(*numbers)
    except (ValueError, OverflowError, TypeError):
        return False
    return numbers[0] > 0
