"""Notifications as lines of JSON, many at a time: what rows have in common is written once, and lines are joined of
such pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import NamedTuple

import numpy as np

from triplecast.kernels.layout import I32, I64
from triplecast.model.match import CHANGES, pair_id, publication_key
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.printable import json_line, printable
from triplecast.model.subscription import Subscription
from triplecast.outbox.batch import PublicationName
from triplecast.outbox.chunk import Chunk
from triplecast.outbox.distinct import distinct
from triplecast.outbox.notification import Cursor, Definitions
from triplecast.outbox.read_names import ReadNames
from triplecast.outbox.selected import Selected
from triplecast.results import Head, Recorded, RecordedRows, known_head

_AT_ONCE = 32_768
"""Rows whose lines are made together, at most;"""
_BYTES_AT_ONCE = 4 << 20
"""and of their solutions, as recorded."""
_SHORT = 1_000
_KEPT = 100_000
"""Registrations whose pieces are kept for later rows."""


class NotificationLine(NamedTuple):
    """A notification as a line of JSON, and what decides who reads it."""

    cursor: Cursor
    registration: int
    subscription: str
    owner: str | None
    line: str
    """Without its end."""


class JsonLines:
    """Writes rows of an outbox, one after the other; `definitions` give the queries."""

    def __init__(self, definitions: Definitions | None) -> None:
        self._registrations = definitions.registrations if definitions else lambda _: ()
        self._operators = definitions.operators if definitions else NO_OPERATORS
        self._named: dict[int, str] = {}
        self._heads: dict[Head | None, int] = {}
        self._head: dict[int, int] = {}
        """Of a registration's query, its number among `_heads`."""
        self._graphs: dict[int, Subscription] = {}
        """Queries that construct graphs."""
        self._ends: dict[tuple[Head | None, str, str], str] = {}
        """Short ends of lines, by head, change and solutions."""

    def write(self, selected: Selected) -> Iterator[tuple[Cursor, str]]:
        """Yield lines, each ended, with the cursor of the last one."""
        for piece in self._pieces(selected):
            yield Cursor(piece.epoch, piece.first + int(piece.rows[-1])), self._write(piece)

    def write_each(self, selected: Selected) -> Iterator[NotificationLine]:
        """Yield each line by itself."""
        for piece in self._pieces(selected):
            named, numbers = piece.names.of(piece.numbers), piece.numbers.tolist()
            lines = self._write(piece).split("\n")[:-1]
            for row, place, line in zip(piece.rows.tolist(), piece.place.tolist(), lines, strict=True):
                cursor, (name, owner) = Cursor(piece.epoch, piece.first + row), named[place]
                yield NotificationLine(cursor, numbers[place], name, owner, line)

    def _pieces(self, selected: Selected) -> Iterator[Selected]:
        """Rows that are written at once."""
        content, rows = selected.content, selected.rows
        ends = np.cumsum(np.diff(content.offsets)[content.sheet[rows]])
        first = 0
        while first < len(rows):
            room = (ends[first - 1] if first else 0) + _BYTES_AT_ONCE
            last = min(first + _AT_ONCE, max(first + 1, int(np.searchsorted(ends, room, side="right"))))
            yield Selected.of(selected.epoch, selected.first, content, rows[first:last], selected.names)
            first = last

    def _write(self, selected: Selected) -> str:
        epoch, first, content, rows, names, numbers, of = selected
        registrations = numbers.tolist()
        self._learn(registrations, names)
        publications, place = distinct(selected.publication)
        named = [content.publications[each] for each in publications.tolist()]
        before = [f'","id":"{publication_key(each.graph, each.version)}-' for each in named]
        change = content.change[rows]
        changes = int(change.max(initial=0)) + 1
        middle = [_middle(each, number) for each in named for number in range(changes)]
        after = [f',"accepted_at":{_text(each.accepted_at)},' for each in named]
        of_registration = [self._named[each] for each in registrations]
        ends, end, alone = self._answers(selected, registrations, of)
        for row in alone:
            end[row] = len(ends)
            ends.append(self._own_end(content, int(rows[row]), named[place[row]]))
        middles = place * np.int32(changes) + change
        columns = (before, place), ([*map(str, registrations)], of), (middle, middles), (of_registration, of)
        sequences = [*map(str, (first + rows).tolist())]
        parts = ['{"sequence":', "", f',"cursor":"{epoch}:', *[""] * 7] * len(rows)
        parts[1::10] = parts[3::10] = sequences
        for number, (texts, of_row) in enumerate((*columns, (after, place), (ends, end)), 4):
            parts[number::10] = map(texts.__getitem__, of_row.tolist())
        return "".join(parts)

    def _learn(self, registrations: Sequence[int], names: ReadNames) -> None:
        new = [each for each in registrations if each not in self._named]
        if not new:
            return
        if len(self._named) + len(new) > _KEPT:
            for kept in (self._named, self._heads, self._head, self._graphs):
                kept.clear()
            new = [*registrations]
        queries = {int(each.id): each.subscription for each in self._registrations(new)}
        for number, (name, owner) in zip(new, names.of(np.array(new, np.int64)), strict=True):
            self._named[number] = f'{number},"subscription":{_text(name)},"owner":{_text(owner)}'
            head = known_head(queries.get(number), self._operators)
            self._head[number] = self._heads.setdefault(head, len(self._heads))
            if head is not None and head.form == "construct":
                self._graphs[number] = queries[number]

    def _answers(self, selected: Selected, numbers: Sequence[int], of: I32) -> tuple[list[str], I32, list[int]]:
        """The ends of lines, and for each row the place of its own; and the rows that have none among these, as their
        graphs are made for them alone."""
        content, sheets = selected.content, len(selected.content.offsets) - 1
        change = content.change[selected.rows]
        changes = int(change.max(initial=0)) + 1
        kind = np.array([*map(self._head.__getitem__, numbers)], np.int64)[of] * changes + change
        pairs, place = distinct(kind * sheets + content.sheet[selected.rows])
        by_kind, ends = [*self._heads], []
        kind, sheet = np.divmod(pairs, sheets)
        for number, solutions in zip(kind.tolist(), _solutions(content, sheet), strict=True):
            head, word = by_kind[number // changes], CHANGES[number % changes].word
            is_shared = head is None or head.form != "construct"
            ends.append(self._shared_end(head, word, solutions) if is_shared else "")
        alone = np.array([not end for end in ends], np.bool_)[place] if "" in ends else place[:0]
        return ends, place, np.flatnonzero(alone).tolist()

    def _shared_end(self, head: Head | None, change: str, recorded: str) -> str:
        """What sheets of many publications, or of one, may say alike."""
        end = self._ends.get((head, change, recorded))
        if end is None:
            end = _rest(RecordedRows.read(recorded, change).answers(head))
            if len(self._ends) >= _AT_ONCE:
                self._ends.clear()
            if len(end) < _SHORT:
                self._ends[head, change, recorded] = end
        return end

    def _own_end(self, content: Chunk, row: int, publication: PublicationName) -> str:
        registration, change = int(content.registration[row]), int(content.change[row])
        id = pair_id(publication_key(publication.graph, publication.version), registration, change)
        (solutions,) = _solutions(content, content.sheet[row : row + 1])
        return _rest(Recorded(self._graphs[registration], self._operators, solutions, id, CHANGES[change].word).row())


def _middle(publication: PublicationName, change: int) -> str:
    kind, graph = CHANGES[change], _text(publication.graph)
    said = f'{kind.suffix}","change":"{kind.word}","publication":{graph},"version":{publication.version}'
    return f'{said},"position":{publication.position},"registration":'


def _solutions(content: Chunk, sheets: I64 | I32) -> Iterator[str]:
    text = content.bindings.data
    for first, last in zip(content.offsets[sheets].tolist(), content.offsets[sheets + 1].tolist(), strict=True):
        yield str(text[first:last], "utf-8")


def _rest(row: Mapping[str, object]) -> str:
    """The end of a line whose last fields are these."""
    return json_line(row)[1:] + "\n"


def _text(text: str | None) -> str:
    return "null" if text is None else printable(encode_basestring(text))
