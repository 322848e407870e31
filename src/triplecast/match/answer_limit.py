"""How much the answers of one publication may take (decision 15): in the order of registration, and the rest is
undecided. So which pairs are undecided depends on publication and position alone."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64
from triplecast.model.match import ANSWER_LIMITS, MatchRows, Undecided, order_pairs

NO_ROOM = f"answers: {ANSWER_LIMITS.publication >> 20} MiB of one publication are taken by earlier subscriptions"
NO_ROOM_TO_WAIT = f"operators: {ANSWER_LIMITS.waiting >> 20} MiB of waiting rows are taken by earlier subscriptions"
_NONE = 1 << 62


class AnswerLimit:
    """The answers of a batch, in any order: some are made and added, some measured, and each moves the *cut* of its
    publication forward, the first registration whose answer does not fit. What is behind a cut is dropped at once."""

    def __init__(self, limit: int) -> None:
        self.cuts: dict[int, int] = {}
        """By publication."""
        self.bytes = 0
        """Of the answers that were added and not dropped."""
        self.measured: list[tuple[I32, I64, I64]] = []
        """Publication, registration and bytes of answers, or parts of answers, that are not added."""
        self.dropped: list[tuple[int, int]] = []
        """Publication and registration."""
        self.limit = limit
        self._added: dict[int, list[tuple[int, bytes]]] = {}
        """By publication a heap, the last registration first."""
        self._sizes: dict[int, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added, measured or dropped."""
        return not (self._added or self.measured or self.dropped)

    def add(self, publication: int, registration: int, bindings: bytes) -> None:
        """Keep an answer, or drop it and those behind it."""
        added = self._added.setdefault(publication, [])
        heappush(added, (-registration, bindings))
        self._grow(publication, len(bindings))
        while added and self._has_too_much(publication, -added[0][0]):
            last, dropped = heappop(added)
            self._grow(publication, -len(dropped))
            self._cut(publication, -last)
            self.dropped.append((publication, -last))

    def note(self, publication: int, registration: int) -> None:
        """Note an answer that another limit dropped: no answer from there on fits here."""
        self._cut(publication, registration)
        self.dropped.append((publication, registration))

    def absorb(self, other: AnswerLimit) -> None:
        """Add what another has."""
        for publication, cut in other.cuts.items():
            self._cut(publication, cut)
        self.dropped += other.dropped
        for publication, added in other._added.items():
            for last, bindings in added:
                self.add(publication, -last, bindings)

    def find_cuts(self) -> None:
        """Find the cuts of all that is measured or added."""
        parts = [*self.measured, *(self._added_columns(publication) for publication in self._added)]
        if not parts or sum(int(sizes.sum()) for _, _, sizes in parts) <= self.limit:
            return
        taken = np.zeros(max(int(publication.max(initial=0)) for publication, _, _ in parts) + 1)
        for publication, _, size in parts:
            taken += np.bincount(publication, size, len(taken))
        much = taken > self.limit
        if not much.any():
            return
        publication, registration, size = (np.concatenate(column) for column in zip(*parts, strict=True))
        those = much[publication]
        publication, registration, size = publication[those], registration[those], size[those]
        order = order_pairs(publication, registration)
        publication, registration = publication[order], registration[order]
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(size[order])])
        starts = np.flatnonzero(np.diff(publication, prepend=-1))
        spent = before[1:] - np.repeat(before[starts], np.diff(np.append(starts, len(publication))))
        beyond = np.flatnonzero(spent > self.limit)
        for row in beyond[np.unique(publication[beyond], return_index=True)[1]].tolist():
            self._cut(int(publication[row]), int(registration[row]))

    def behind(self, publication: I32, registration: I64) -> NDArray[np.bool_]:
        """Of each pair whether it is behind a cut."""
        behind = np.zeros(len(publication), np.bool_)
        for cut, first in self.cuts.items():
            behind |= (publication == cut) & (registration >= first)
        return behind

    def drop(self, publication: I32, registration: I64) -> None:
        """Note pairs behind a cut whose answers are not made."""
        self.dropped += zip(publication.tolist(), registration.tolist(), strict=True)

    def close(self, parts: Iterable[MatchRows], upto: int) -> list[MatchRows]:
        """The answers that fit, of the publications before `upto`: of `parts`, and what was added."""
        parts = [only_rows(part, part.publication < upto) for part in parts]
        if self.is_empty and sum(map(_most_of_one, parts)) <= self.limit:
            return [*parts, self._added_rows()]
        self.measured = [(part.publication, part.registration, part.length) for part in parts]
        self.find_cuts()
        rows = [*parts, self._added_rows()]
        if self.cuts:
            for number, part in enumerate(rows):
                behind = self.behind(part.publication, part.registration)
                self.drop(part.publication[behind], part.registration[behind])
                rows[number] = only_rows(part, ~behind)
        return [only_rows(part, part.publication < upto) for part in rows]

    def undecided(self, upto: int = _NONE, reason: str = NO_ROOM) -> list[Undecided]:
        """The pairs that were dropped of the publications before `upto`."""
        return [Undecided(*pair, reason) for pair in dict.fromkeys(self.dropped) if pair[0] < upto]

    def _has_too_much(self, publication: int, last: int) -> bool:
        return self._sizes[publication] > self.limit or last >= self.cuts.get(publication, _NONE)

    def _cut(self, publication: int, registration: int) -> None:
        self.cuts[publication] = min(registration, self.cuts.get(publication, _NONE))

    def _grow(self, publication: int, size: int) -> None:
        self._sizes[publication] = self._sizes.get(publication, 0) + size
        self.bytes += size

    def _added_columns(self, publication: int) -> tuple[I32, I64, I64]:
        added = self._added[publication]
        registration = np.array([-last for last, _ in added], np.int64)
        sizes = np.array([len(bindings) for _, bindings in added], np.int64)
        return np.full(len(added), publication, np.int32), registration, sizes

    def _added_rows(self) -> MatchRows:
        found = [
            (publication, -last, bindings)
            for publication, added in self._added.items()
            for last, bindings in sorted(added, reverse=True)
        ]
        return MatchRows.of(*(zip(*found, strict=True) if found else ((), (), ())))


def _most_of_one(part: MatchRows) -> int:
    """No fewer bytes than the rows of any one publication say, which follow one another."""
    ends = np.flatnonzero(part.publication[1:] != part.publication[:-1])
    most = np.diff(ends, prepend=-1, append=len(part.publication) - 1).max()
    return int(most) * int(np.diff(part.offsets).max(initial=0))


def only_rows(part: MatchRows, kept: NDArray[np.bool_]) -> MatchRows:
    """Some of the rows; their text stays as it is."""
    if kept.all():
        return part
    return MatchRows(part.publication[kept], part.registration[kept], part.sheet[kept], part.offsets, part.text)
