"""An engine's part of the repository: queries over the current documents, and what events change in standing answers.

The repository is opened when it is first needed and saved when the engine is closed. Where an event was interrupted,
both are read again, the answers as of what was told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyoxigraph import Triple

from triplecast.compile.compiled import NOTHING_COMPILED, CompiledSubscription
from triplecast.errors import InputError
from triplecast.incremental import OWED, EventAnswers, OperatorAnswers, OwedAnswers, RowsTold, StandingQueries
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.algebra import Term
from triplecast.model.match import MatchStats
from triplecast.repository import EntailedCopies, QueryAnswer, Repository, query_store

Answer: TypeAlias = list[dict[str, Term]] | bool | list[Triple]
"""Solutions of SELECT, in which an unbound variable is absent; of ASK whether there is one; triples of CONSTRUCT."""


class Querying:
    """Answers queries over the current documents of a journal. For one thread at a time."""

    def __init__(
        self,
        journal: Journal,
        matcher: Matcher,
        operators: OperatorAnswers,
        compiled: Mapping[int, CompiledSubscription] = NOTHING_COMPILED,
    ) -> None:
        """`compiled`: as `StandingQueries` takes it."""
        self._compiled = compiled
        self._journal = journal
        self._matcher = matcher
        self._asked = operators
        self._repository: Repository | None = None
        self._standing: StandingQueries | None = None
        self._copies = EntailedCopies()

    def answer(self, text: str, language: str, steps: int, now: str, entailment: str | None = None) -> QueryAnswer:
        """Raises what `query_store` raises, `InputError` for `steps` that are none, and `StorageFault`. What the
        journal has was told before."""
        if not isinstance(steps, int) or steps < 1:
            raise InputError(f"a query cannot take {steps!r} steps", "give a number from 1")
        if self._repository is None:
            self._repository = Repository(self._journal, self._journal.folder, self._journal.sole)
        store, taxonomy = self._repository.follow(), self._repository.taxonomy
        return query_store(store, text, language, steps, now, entailment, taxonomy, self._copies)

    def query(self, text: str, language: str, steps: int, now: str, entailment: str | None) -> Answer:
        """What `answer` gives, as `Engine.query` shows it."""
        answer = self.answer(text, language, steps, now, entailment)
        if answer.form == "ask":
            return answer.matched
        if answer.form == "construct":
            return [Triple(*terms) for terms in answer.graph]
        names = answer.variables
        return [{name: term for name, term in zip(names, row, strict=True) if term is not None} for row in answer.rows]

    @property
    def work(self) -> MatchStats:
        """The calls of operators since this was made."""
        return self._asked.work

    def changes(self, after: int, upto: int) -> Sequence[EventAnswers | RowsTold]:
        """What events at positions in (`after`, `upto`] change in the answers of subscriptions of repository scope.
        Raises `StorageFault`."""
        if not self._journal.has_repository_scope:
            return ()
        standing = self._follower(after)
        self._standing = None
        found = [*standing.follow(upto)]
        if standing.owed.is_changed:
            self._journal.set_setting(OWED, standing.owed.text())
        self._standing = standing
        return found

    def _follower(self, after: int) -> StandingQueries:
        """That which has told the answers up to a position."""
        if self._standing is not None and self._standing.told == after and self._standing.reads_alike():
            return self._standing
        owed = OwedAnswers(self._journal.settings().get(OWED), after)
        start = owed.start(after)
        if self._repository is None or self._repository.reached > start:
            self._repository = Repository(self._journal, self._journal.folder, self._journal.sole, start)
        self._repository.follow(start)
        return StandingQueries(self._journal, self._repository, self._matcher, after, owed, self._asked, self._compiled)

    def close(self) -> None:
        """Save the repository, while the journal is open."""
        if self._repository is not None:
            self._repository.save()
