"""Records of subscriptions: columns of one call's, up to `LONGEST_SPAN` a record, compressed together."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triplecast.journal.record import LONGEST_SPAN, Kind, Row, checksum
from triplecast.model.publication import Position
from triplecast.model.subscription import (
    CHANGED,
    EVERY,
    UPDATES,
    NamedRegistrations,
    Registration,
    RegistrationId,
    Subscription,
    may_compare,
)

CHARACTERS = 1 << 16
"""Of the texts of one record, after which it ends."""
TICKET = 32
"""Bytes of a ticket's hash."""
_FIELDS = ("name", "text", "language", "scope", "entailment", "owner", "notify", "initial", "key")
_UNSAID: Mapping[str, Any] = {"notify": EVERY, "initial": None, "key": ""}
"""What the fields were before a record had them."""
_FAST = 1
"""Level of zlib: half a microsecond a subscription, and texts of one template take a fifth of their length."""


def subscription_rows(
    first: int, subscriptions: Sequence[Subscription], at: int, end: int | None, tickets: bytes, source: str
) -> Iterator[Row]:
    """The records that add `subscriptions` from position `first` on. `end` of their lease, `tickets`: the hashes of
    their tickets one after the other, empty for none."""
    for start, stop in _cut(subscriptions):
        some = subscriptions[start:stop]
        fields: dict[str, Any] = {name: _column([getattr(each, name) for each in some]) for name in _FIELDS[:-1]}
        fields["key"] = _column([" ".join(each.key) for each in some])
        body = zlib.compress(json.dumps({**fields, "source": source, "end": end}).encode(), _FAST)
        position, name, hashes = Position(first + stop - 1), some[0].name, tickets[TICKET * start : TICKET * stop]
        crc = checksum(name, (position, int(Kind.SUBSCRIPTION), 0, at, len(some)), hashes, body)
        yield Row(position, int(Kind.SUBSCRIPTION), name, 0, at, len(some), hashes, crc, body)


def _cut(subscriptions: Sequence[Subscription]) -> Iterator[tuple[int, int]]:
    start = size = 0
    for at, each in enumerate(subscriptions):
        if at - start == LONGEST_SPAN or size > CHARACTERS:
            yield start, at
            start, size = at, 0
        size += len(each.text)
    if subscriptions:
        yield start, len(subscriptions)


def _column(values: list[Any]) -> Any:
    """The value that all have, or the list."""
    return values[0] if values.count(values[0]) == len(values) else values


class SubscriptionBlock:
    """The subscriptions that one verified record added, by their numbers."""

    def __init__(self, row: Row) -> None:
        self._fields: dict[str, Any] = json.loads(zlib.decompress(row.body))
        self._columns = [self._fields.get(name, _UNSAID.get(name)) for name in _FIELDS]
        self._tickets = row.digest
        self.ids = ids_of(row)

    @property
    def end(self) -> int | None:
        """Of the lease that they were given."""
        end: int | None = self._fields["end"]
        return end

    def name(self, id: int) -> str:
        return str(self._field("name", id))

    def registration(self, id: int, removed: int | None = None) -> Registration:
        at = id - self.ids.start
        values: list[Any] = [each[at] if isinstance(each, list) else each for each in self._columns]
        values[-1] = tuple(values[-1].split())
        subscription = Subscription(*values)
        ended = None if removed is None else Position(removed)
        return Registration(RegistrationId(id), subscription, ended, self._fields["source"])

    def names(self) -> NamedRegistrations:
        """What their subscribers call all of them."""
        names, owners = (self._whole_column(field) for field in ("name", "owner"))
        return NamedRegistrations(self.ids.start, names, owners)

    def hears(self) -> list[str]:
        """`Subscription.hears` of all of them."""
        return [each or CHANGED for each in self._whole_column("notify")]

    def heard(self) -> set[str]:
        """As `heard_by` of all of them."""
        compare = any("before" in self._field("text", id) for id in self.keys())
        return {*self.hears()} | ({UPDATES} if compare else set())

    def keys(self) -> Mapping[int, tuple[str, ...]]:
        """`Subscription.key` by registration, of those that have one."""
        return {id: tuple(each.split()) for id, each in zip(self.ids, self._whole_column("key"), strict=True) if each}

    def ticket(self, id: int) -> bytes:
        """The hash of a subscription's ticket; empty where it has none."""
        place = id - self.ids.start
        return self._tickets[TICKET * place : TICKET * (place + 1)]

    def _whole_column(self, name: str) -> list[Any]:
        column = self._fields.get(name, _UNSAID.get(name))
        return column if isinstance(column, list) else [column] * len(self.ids)

    def _field(self, name: str, id: int) -> Any:
        column = self._fields[name]
        return column[id - self.ids.start] if isinstance(column, list) else column


def heard_by(subscriptions: Sequence[Subscription]) -> set[str]:
    """What is noted of what they want to hear."""
    compare = any(map(may_compare, subscriptions))
    return {each.hears for each in subscriptions} | ({UPDATES} if compare else set())


def hearing_setting(notify: str) -> str:
    """The setting of a folder where a subscription hears, or heard, this; nobody asks whether one hears `EVERY`."""
    return f"notify {notify}"


def ids_of(row: Row) -> range:
    """The numbers of the registrations that a record added."""
    return range(row.position - row.flags + 1, row.position + 1)
