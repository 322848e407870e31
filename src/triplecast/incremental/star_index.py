"""The stars of all standing queries in one index, the publications' own: which have rows in changed subjects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from triplecast.compile.compiled import CompiledSubscription, SubscriptionCompiler
from triplecast.index import IndexWriter
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

_ALWAYS = Position(1 << 61)
"""Beyond all numbers of stars: each star is valid until it is removed."""
_ENDED = Position(_ALWAYS - 1)
_SUBSCRIPTION = Subscription("star", "ASK {}")


class StarOf(NamedTuple):
    """Whose star it is."""

    registration: int
    number: int
    """Among its stars."""


class StarRows(NamedTuple):
    """What a star has in changed subjects, as JSON lists of rows; empty for none."""

    before: bytes
    after: bytes


class StarIndex:
    """The stars of standing queries."""

    def __init__(self, matcher: Matcher) -> None:
        self._index = IndexWriter()
        self._matcher = matcher
        self._stars: list[StarOf] = []
        """By number less 1."""
        self._of: dict[int, range] = {}
        """The stars' numbers by registration."""
        self._coming: dict[int, CompiledSubscription] = {}
        self._ended: list[int] = []

    def add(self, registration: int, stars: Sequence[CompiledSubscription]) -> None:
        first = len(self._stars) + 1
        self._of[registration] = range(first, first + len(stars))
        self._stars += [StarOf(registration, number) for number in range(len(stars))]
        self._coming.update(zip(self._of[registration], stars, strict=True))

    def remove(self, registration: int) -> None:
        for number in self._of.pop(registration, ()):
            if self._coming.pop(number, None) is None:
                self._ended.append(number)

    def find(self, before: bytes, after: bytes) -> tuple[dict[StarOf, StarRows], set[int]]:
        """The stars whose rows differ between two states of some subjects, given as canonical N-Triples lines; and the
        registrations of stars that have more rows than are told."""
        self._update()
        matched = [self._match(before), self._match(after)]
        beyond = {self._stars[each.registration - 1].registration for found in matched for each in found.undecided}
        rows = [
            {number: found.bindings_of(row) for row, number in enumerate(found.registration.tolist())}
            for found in matched
        ]
        changed: dict[StarOf, StarRows] = {}
        for number in {**rows[0], **rows[1]}:
            found = StarRows(*(part.get(number, b"") for part in rows))
            if found.before != found.after:
                changed[self._stars[number - 1]] = found
        return changed, beyond

    def _match(self, lines: bytes) -> MatchedBatch:
        subjects = Publication(_ALWAYS, "urn:x-triplecast:stars", 1, "", lines)
        return self._matcher.match(self._index.snapshot(), [subjects])

    def _update(self) -> None:
        if self._coming or self._ended:
            added = [Registration(RegistrationId(number), _SUBSCRIPTION) for number in self._coming]
            removed = [(number, _ENDED) for number in self._ended]
            compiler = SubscriptionCompiler(compiled=self._coming)
            self._index.apply(added, removed, needed_from=_ENDED, compiler=compiler)
            self._coming, self._ended = {}, []


def rows_of(text: bytes) -> list[dict[str, str]]:
    """The rows of a star: terms in N-Triples form by name."""
    found: list[dict[str, str]] = json.loads(text) if text else []
    return found
