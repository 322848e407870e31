"""Queries in an index like that of publications, and which of them have other rows after some events than before."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.compiled import CompiledSubscription, SubscriptionCompiler
from triplecast.index import IndexWriter
from triplecast.kernels.changed import TOO_MANY, UNSAID
from triplecast.kernels.differing import NONE, Rows, differing_answers
from triplecast.kernels.layout import I32, I64, U8
from triplecast.kernels.views import Views
from triplecast.match import Matcher
from triplecast.match.answer_limit import only_rows
from triplecast.match.matcher import join_rows
from triplecast.model.match import MatchedBatch, MatchRows, MatchStats
from triplecast.model.open_rows import NO_OPEN_ROWS
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.repository.store import Store

Key = TypeVar("Key", bound=Hashable)

_NOW = Position(1 << 61)
"""Beyond all numbers of queries: each is valid until it is removed."""
_ENDED = Position(_NOW - 1)
_ANY = Subscription("query", "ASK {}")
_UPDATED_AT_ONCE = 100_000
_LEAST = 64


class RowsChanged(NamedTuple):
    """What a query finds before an event and after it, as JSON lists of rows; empty for none."""

    before: bytes
    after: bytes


class AnswersChanged(NamedTuple, Generic[Key]):
    """Answers that differ, by event and query, as sheets: each says ``text[offsets[sheet]:offsets[sheet + 1]]``."""

    events: list[int]
    keys: list[Key]
    sheets: I32
    """[n, 2] the sheet before the event and that after it, `NONE` for none."""
    offsets: I64
    text: U8

    def at(self, place: int) -> RowsChanged:
        return RowsChanged(*map(self._text, self.sheets[place].tolist()))

    def _text(self, sheet: int) -> bytes:
        return b"" if sheet == NONE else self.text[self.offsets[sheet] : self.offsets[sheet + 1]].tobytes()


class PlainRows(NamedTuple):
    """Answers that gain rows or lose some, and are told as the index has them, by event and registration: in sheets as
    `AnswersChanged` has them, one of two."""

    events: I32
    registrations: I64
    sheets: I32
    offsets: I64
    text: U8

    def only(self, kept: NDArray[np.bool_]) -> PlainRows:
        return PlainRows(self.events[kept], self.registrations[kept], self.sheets[kept], self.offsets, self.text)

    def answers(self) -> AnswersChanged[int]:
        columns = self.events.tolist(), self.registrations.tolist()
        return AnswersChanged(*columns, self.sheets, self.offsets, self.text)


class QueriesChanged(NamedTuple, Generic[Key]):
    """Which queries events concern, in order of events."""

    plain: list[PlainRows]
    changed: list[AnswersChanged[Key]]
    """Others of which the rows differ."""
    beyond: list[tuple[int, Key]]
    """There are more rows than are told."""


class QueriesFound(NamedTuple, Generic[Key]):
    """What queries find after events, in order of events."""

    rows: list[tuple[int, Key, bytes]]
    """As JSON lists."""
    beyond: list[tuple[int, Key]]
    """There are more rows than are told."""


class DecidedIndex(Generic[Key]):
    """Queries that one join of the index decides, by key."""

    def __init__(self, matcher: Matcher) -> None:
        self._index = IndexWriter()
        self._matcher = matcher
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._last = 0
        self._coming: dict[int, CompiledSubscription] = {}
        self._written: dict[int, Subscription] = {}
        """Of those that are coming."""
        self._ended: list[int] = []
        self._plain: I64 = np.full(_LEAST, NONE, np.int64)
        """By number the registration of which the rows are told as they are; `NONE` for others."""

    def __contains__(self, key: Key) -> bool:
        return key in self._numbers

    def add(self, key: Key, compiled: CompiledSubscription, written: Subscription = _ANY, plain: int = NONE) -> None:
        """`written`: what a query was compiled of whose rows the index does not have as they are; `plain`: under which
        registration they are told as they are. Registrations come in order."""
        self._last += 1
        if self._last >= len(self._plain):
            self._plain = np.concatenate([self._plain, np.full(len(self._plain), NONE, np.int64)])
        self._plain[self._last] = plain
        self._numbers[key] = self._last
        self._keys[self._last] = key
        self._coming[self._last] = compiled
        if compiled.plan.combination is not None:
            self._written[self._last] = written
        if len(self._coming) >= _UPDATED_AT_ONCE:
            self._update()

    def remove(self, key: Key) -> None:
        number = self._numbers.pop(key)
        del self._keys[number]
        self._written.pop(number, None)
        self._plain[number] = NONE
        if self._coming.pop(number, None) is None:
            self._ended.append(number)

    def changed(self, store: Store, keys: I64, most: int) -> QueriesChanged[Key] | None:
        """The queries that differ between all triples of subjects before an event and after it, by `keys` as
        `Store.view` takes them; None where that gives None."""
        self._update()
        found = QueriesChanged[Key]([], [], [])
        if not self._keys:
            return found
        for segment in self._index.snapshot().segments:
            found_here = self._matcher.changed_at_once(segment, store.changed, keys, most)
            state, events, members, sheets, offsets, text = found_here
            if state == TOO_MANY:
                return None
            if state == UNSAID:
                return self._changed_in_pieces(store, keys, most)
            self._note(found, events, segment.tables.registrations[members], sheets, offsets, text)
        return found

    def _changed_in_pieces(self, store: Store, keys: I64, most: int) -> QueriesChanged[Key] | None:
        views = store.view(keys, most)
        if views is None:
            return None
        found = QueriesChanged[Key]([], [], [])
        before: MatchRows | None = None
        for first, matched in self._match(views):
            found.beyond.extend(
                ((first + each.publication) >> 1, self._keys[each.registration]) for each in matched.undecided
            )
            rows, last = matched.rows, matched.stats.publications - 1
            if before is not None:  # the piece ended between the states of an event
                first, last = first - 1, last + 1
                following = rows._replace(publication=rows.publication + np.int32(1))
                rows = join_rows([before, following], (), NO_OPEN_ROWS, MatchStats()).rows
            before = None
            if (first + last) % 2 == 0:
                before = only_rows(rows, rows.publication == last)
                before = before._replace(publication=np.zeros_like(before.publication))
                rows = only_rows(rows, rows.publication < last)
            self._note(found, *differing_answers(Rows(rows.publication + np.int32(first), *rows[1:])))
        return found

    def found_after(self, views: Views) -> QueriesFound[Key]:
        """What queries find in the view after each event."""
        self._update()
        found = QueriesFound[Key]([], [])
        for first, matched in self._match(views):
            states = (matched.publication + np.int32(first)).tolist()
            for row, (state, number) in enumerate(zip(states, matched.registration.tolist(), strict=True)):
                if state & 1:
                    found.rows.append((state >> 1, self._keys[number], matched.bindings_of(row)))
            for each in matched.undecided:
                if (first + each.publication) & 1:
                    found.beyond.append(((first + each.publication) >> 1, self._keys[each.registration]))
        return found

    def _match(self, views: Views) -> Iterator[tuple[int, MatchedBatch]]:
        if not self._keys or not len(views.publication):
            return iter(())
        many = int(views.publication[-1] | 1) + 1
        states = _states(1 << many.bit_length())[:many]
        return self._matcher.match_views(self._index.snapshot(), views, states)

    def _note(self, found: QueriesChanged[Key], events: I32, numbers: I64, sheets: I32, offsets: I64, text: U8) -> None:
        """Note answers that differ of the queries with some numbers, but for those that have ended."""
        plain = self._plain[numbers]
        told = (plain != NONE) & (sheets.min(axis=1) == NONE)
        if told.any():
            found.plain.append(PlainRows(events, plain, sheets, offsets, text).only(told))
            if told.all():
                return
            numbers, events, sheets = numbers[~told], events[~told], sheets[~told]
        known = [*map(self._keys.get, numbers.tolist())]
        keys = [key for key in known if key is not None]
        if len(keys) < len(known):
            lives = np.array([key is not None for key in known], np.bool_)
            events, sheets = events[lives], sheets[lives]
        if keys:
            found.changed.append(AnswersChanged(events.tolist(), keys, sheets, offsets, text))

    def _update(self) -> None:
        if self._coming or self._ended:
            added = [Registration(RegistrationId(number), self._written.get(number, _ANY)) for number in self._coming]
            removed = [(number, _ENDED) for number in self._ended]
            compiler = SubscriptionCompiler(compiled=self._coming)
            self._index.apply(added, removed, needed_from=_ENDED, compiler=compiler)
            self._coming, self._written, self._ended = {}, {}, []


@lru_cache(maxsize=32)
def _states(many: int) -> Sequence[Publication]:
    """What stands for the states of events; made once."""
    return [Publication(Position(_NOW + number), "urn:x-triplecast:subjects", 1, "", b"") for number in range(many)]


def rows_of(text: bytes) -> list[dict[str, str]]:
    """Rows as terms in N-Triples form by name."""
    found: list[dict[str, str]] = json.loads(text) if text else []
    return found
