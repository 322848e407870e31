"""Queries in an index like that of publications, and which of them have other rows in some subjects than before."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from triplecast.compile.compiled import CompiledSubscription, SubscriptionCompiler
from triplecast.index import IndexWriter
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

Key = TypeVar("Key", bound=Hashable)

_NOW = Position(1 << 61)
"""Beyond all numbers of queries: each is valid until it is removed."""
_ENDED = Position(_NOW - 1)
_ANY = Subscription("query", "ASK {}")
_UPDATED_AT_ONCE = 100_000


class Subjects(NamedTuple):
    """All triples of some subjects as canonical N-Triples lines, before an event and after it."""

    before: bytes
    after: bytes


class RowsChanged(NamedTuple):
    """What a query finds in them, as JSON lists of rows; empty for none."""

    before: bytes
    after: bytes


class DecidedIndex(Generic[Key]):
    """Queries that one join of the index decides, by key."""

    def __init__(self, matcher: Matcher) -> None:
        self._index = IndexWriter()
        self._matcher = matcher
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._last = 0
        self._coming: dict[int, CompiledSubscription] = {}
        self._ended: list[int] = []

    def __contains__(self, key: Key) -> bool:
        return key in self._numbers

    def add(self, key: Key, compiled: CompiledSubscription) -> None:
        self._last += 1
        self._numbers[key] = self._last
        self._keys[self._last] = key
        self._coming[self._last] = compiled
        if len(self._coming) >= _UPDATED_AT_ONCE:
            self._update()

    def remove(self, key: Key) -> None:
        number = self._numbers.pop(key)
        del self._keys[number]
        if self._coming.pop(number, None) is None:
            self._ended.append(number)

    def changed(self, subjects: Subjects) -> tuple[Mapping[Key, RowsChanged], Iterable[Key]]:
        """The queries whose rows differ, and those that have more rows than are told."""
        self._update()
        if not self._keys:
            return {}, ()
        beyond: dict[Key, None] = {}
        rows: dict[int, list[bytes]] = {}
        for place, lines in enumerate(subjects):
            if lines:  # without a triple there is no row
                found = self._match(lines)
                beyond.update((self._keys[each.registration], None) for each in found.undecided)
                for row, number in enumerate(found.registration.tolist()):
                    rows.setdefault(number, [b"", b""])[place] = found.bindings_of(row)
        changed = {self._keys[number]: RowsChanged(*texts) for number, texts in rows.items() if texts[0] != texts[1]}
        return changed, beyond

    def found_in(self, lines: bytes) -> tuple[Mapping[Key, bytes], Iterable[Key]]:
        """What each query finds in some triples, as a JSON list of rows, and those that find more than is told."""
        self._update()
        if not self._keys or not lines:
            return {}, ()
        found = self._match(lines)
        rows = {self._keys[number]: found.bindings_of(row) for row, number in enumerate(found.registration.tolist())}
        return rows, dict.fromkeys(self._keys[each.registration] for each in found.undecided)

    def _match(self, lines: bytes) -> MatchedBatch:
        subjects = Publication(_NOW, "urn:x-triplecast:subjects", 1, "", lines)
        return self._matcher.match(self._index.snapshot(), [subjects])

    def _update(self) -> None:
        if self._coming or self._ended:
            added = [Registration(RegistrationId(number), _ANY) for number in self._coming]
            removed = [(number, _ENDED) for number in self._ended]
            compiler = SubscriptionCompiler(compiled=self._coming)
            self._index.apply(added, removed, needed_from=_ENDED, compiler=compiler)
            self._coming, self._ended = {}, []


def rows_of(text: bytes) -> list[dict[str, str]]:
    """Rows as terms in N-Triples form by name."""
    found: list[dict[str, str]] = json.loads(text) if text else []
    return found
