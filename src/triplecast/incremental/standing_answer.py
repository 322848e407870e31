"""The answer of one standing query: what it is, and by what it differs between two states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from triplecast.compile.compiled import CompiledSubscription
from triplecast.evaluate.budget import Budget
from triplecast.evaluate.unknown import Answers
from triplecast.incremental.asked_graph import AskedGraph, States
from triplecast.incremental.compiled import StandingQuery
from triplecast.incremental.decided_index import RowsChanged, rows_of
from triplecast.incremental.difference import AnswerChange, change_of_answer, change_of_rows, whole_answer
from triplecast.incremental.event_answers import (
    BEYOND,
    TOO_LARGE,
    AnswerChanged,
    AnswerUndecided,
    Decided,
    reason_of,
    rows_text,
    told_of,
)
from triplecast.incremental.filed import Concerned, known_stars, lacks_constants, seeds_of
from triplecast.languages import fill
from triplecast.model.algebra import Query, from_ntriples

STEPS = 500_000
"""Steps that one event may take for one subscription, before and after it together; about a second."""
QUERIES_CACHED = 10_000


class StandingAnswer(NamedTuple):
    """A live subscription, and what its answer is asked of. What calls operators raises `Unanswered` where it needs
    more than some `answers`."""

    number: int
    """Its registration."""
    compiled: CompiledSubscription
    query: StandingQuery
    graph: AskedGraph
    key: tuple[str, ...]

    def hears(self, changed: AnswerChanged) -> AnswerChanged:
        return changed._replace(key=self.key, conditions=self.compiled.template.updates)

    @property
    def filled(self) -> Query:
        return _filled(self.compiled.template.query, self.compiled.constants)

    def undecided(self, reason: str) -> Decided:
        return [], [AnswerUndecided(self.number, reason)]

    def first(self, answers: Answers) -> Decided:
        """All rows as added."""
        if self.graph.too_large:
            return self.undecided(TOO_LARGE)
        if lacks_constants(self.compiled, self.query, self.graph.store):
            return [], []
        query, source = self.filled, self.graph.after
        return self._told(lambda: AnswerChange(whole_answer(query, source, event_budget(), answers), Counter()))

    def change(self, found: Concerned | None, states: States, answers: Answers) -> Decided:
        """By what it differs between two states, of which it is known whom the change concerns, or not."""
        if found is not None and self.number in found.rows and self.number not in found.unsure:
            return self._change_of_rows(found.rows[self.number], states)
        if found is not None and self.number not in found.stars and self.number not in found.unsure:
            return [], []
        stars = None if found is None else known_stars(self.query, self.number, found)
        seeds = None if stars is None else seeds_of(self.query, stars)
        query = self.filled
        return self._told(lambda: change_of_answer(query, seeds, states.before, states.after, event_budget(), answers))

    def _change_of_rows(self, changed: RowsChanged, states: States) -> Decided:
        """What was decided by the index, but for rows that may come from elsewhere too."""
        if not self.query.recounted and not (changed.before and changed.after):
            return [AnswerChanged(self.number, changed.after, changed.before)], []
        then, now = (Counter(tuple(row.items()) for row in rows_of(text)) for text in changed)
        if not self.query.recounted:
            return [AnswerChanged(self.number, rows_text(now - then), rows_text(then - now))], []
        query = self.filled
        names = [variable.name for variable in query.variables]
        rows = []
        for row in (now - then) | (then - now):
            terms = {name: from_ntriples(text) for name, text in row}
            rows.append(tuple(map(terms.get, names)))
        return self._told(lambda: change_of_rows(query, rows, states.before, states.after, event_budget()))

    def _told(self, change: Callable[[], AnswerChange]) -> Decided:
        try:
            return told_of(self.number, self.filled, change())
        except BEYOND as error:
            return self.undecided(reason_of(error))


def event_budget() -> Budget:
    return Budget(STEPS)


@lru_cache(maxsize=QUERIES_CACHED)
def _filled(query: Query, constants: tuple[str, ...]) -> Query:
    return fill(query, constants)
