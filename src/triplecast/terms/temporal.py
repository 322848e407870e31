"""Read the XSD date and time types as exact instants.

An `Instant` is whole milliseconds since 1970-01-01T00:00:00Z and the digits after them, without trailing zeros, so
instants order as tuples. Text without a zone is read as UTC and flagged. Source: XML Schema 1.1 Part 2, sections 3.3.7
to 3.3.15; year 0000 is 1 BC, and 24:00:00 is the start of the next day.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

MILLISECONDS_A_DAY = 86_400_000
MINUTE = 60_000
ZONE_SPAN = 14 * 60 * MINUTE
"""Milliseconds that a zone is from UTC at most: zoned and zoneless times closer than this have no order in XSD."""
LONGEST_YEAR = 18
"""Most digits of a year; a longer one is ill-typed."""

_ZONE = r"(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_YEAR = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
_TIME = r"(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]+))?|24:00:00(?:\.0+)?)"
_DATETIME = re.compile(rf"{_YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T{_TIME}{_ZONE}")
_DATE = re.compile(rf"{_YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]){_ZONE}")
_ONLY_TIME = re.compile(rf"{_TIME}{_ZONE}")
_GYEAR = re.compile(rf"{_YEAR}{_ZONE}")
_GYEARMONTH = re.compile(rf"{_YEAR}-(0[1-9]|1[0-2]){_ZONE}")


class Instant(NamedTuple):
    milliseconds: int
    """The instant in UTC, rounded down."""
    finer: str
    """Decimal digits below the millisecond, without trailing zeros."""

    def shifted(self, milliseconds: int) -> Instant:
        return Instant(self.milliseconds + milliseconds, self.finer)


class ClockTime(NamedTuple):
    """The fields of a dateTime as written, for YEAR(), HOURS() and the like."""

    year: int
    month: int
    day: int
    hours: int
    minutes: int
    seconds: str
    """As written, e.g. ``05.250``."""
    zone: str | None


def read_datetime(text: str) -> tuple[Instant, bool] | None:
    """Return (instant, zoned) of an xsd:dateTime; None outside its lexical space, as all readers here do."""
    match = _DATETIME.fullmatch(text)
    days = None if match is None else _days(match[1], int(match[2]), int(match[3]))
    if match is None or days is None:
        return None
    *time, zone = match.groups()[3:]
    return _instant(days + (time[0] is None), zone, *time)


def read_date(text: str) -> tuple[Instant, bool] | None:
    """Return (start of the day, zoned) of an xsd:date."""
    match = _DATE.fullmatch(text)
    return None if match is None else _start(_days(match[1], int(match[2]), int(match[3])), match[4])


def read_time(text: str) -> tuple[Instant, bool] | None:
    """Return (instant on 1970-01-01, zoned) of an xsd:time; 24:00:00 is 00:00:00."""
    match = _ONLY_TIME.fullmatch(text)
    if match is None:
        return None
    *time, zone = match.groups()
    return _instant(0, zone, *time)


def read_year(text: str) -> tuple[Instant, bool] | None:
    """Return (start of the year, zoned) of an xsd:gYear."""
    match = _GYEAR.fullmatch(text)
    return None if match is None else _start(_days(match[1], 1, 1), match[2])


def read_year_month(text: str) -> tuple[Instant, bool] | None:
    """Return (start of the month, zoned) of an xsd:gYearMonth."""
    match = _GYEARMONTH.fullmatch(text)
    return None if match is None else _start(_days(match[1], int(match[2]), 1), match[3])


def read_clock(text: str) -> ClockTime | None:
    """Return the fields of an xsd:dateTime, None if ill-typed. 24:00:00 is the start of the next day."""
    match = _DATETIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(year, int(month), int(day))
    if days is None:
        return None
    if hour is None:
        return ClockTime(*civil(days + 1), 0, 0, "00", zone)
    return ClockTime(
        int(year), int(month), int(day), int(hour), int(minute), second + (f".{fraction}" if fraction else ""), zone
    )


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 (Howard Hinnant, "chrono-compatible date algorithms")."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil(days: int) -> tuple[int, int, int]:
    """Return (year, month, day): the inverse of `days_since_epoch`."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + (3 if shifted_month < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day


def _days(year: str, month: int, day: int) -> int | None:
    if len(year) > LONGEST_YEAR:
        return None
    number = int(year)
    leap = number % 4 == 0 and (number % 100 != 0 or number % 400 == 0)
    longest = 28 + leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return days_since_epoch(number, month, day) if day <= longest else None


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return (minutes if zone[0] == "+" else -minutes) * MINUTE


def _start(days: int | None, zone: str | None) -> tuple[Instant, bool] | None:
    return None if days is None else _instant(days, zone)


def _instant(days: int, zone: str | None, *time: Any) -> tuple[Instant, bool]:
    """Return the start of a day, or its `time` (hour, minute, second, fraction), and whether it has a zone."""
    start = days * MILLISECONDS_A_DAY - _offset(zone)
    if not time or time[0] is None:
        return Instant(start, ""), zone is not None
    hour, minute, second, fraction = time
    digits = (fraction or "").ljust(3, "0")
    milliseconds = ((int(hour) * 60 + int(minute)) * 60 + int(second)) * 1000 + int(digits[:3])
    return Instant(start + milliseconds, digits[3:].rstrip("0")), zone is not None
