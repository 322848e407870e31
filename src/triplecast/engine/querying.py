"""An engine's part of the repository, opened at the first query and saved when the engine is closed."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from pyoxigraph import Triple

from triplecast.errors import InputError
from triplecast.journal import Journal
from triplecast.model.algebra import Term
from triplecast.repository import Repository, query_store

Answer: TypeAlias = list[dict[str, Term]] | bool | list[Triple]
"""Solutions of SELECT, in which an unbound variable is absent; of ASK whether there is one; triples of CONSTRUCT."""


class Querying:
    """Answers queries over the current documents of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        path = Path(journal.where)
        self._folder = path.parent if path.is_absolute() else None
        self._repository: Repository | None = None

    def query(self, text: str, language: str, steps: int, now: str) -> Answer:
        """Raises what `query_store` raises, `InputError` for `steps` that are none, and `StorageFault`."""
        if not isinstance(steps, int) or steps < 1:
            raise InputError(f"a query cannot take {steps!r} steps", "give a number from 1")
        if self._repository is None:
            self._repository = Repository(self._journal, self._folder, self._journal.sole)
        answer = query_store(self._repository.follow(), text, language, steps, now)
        if answer.form == "ask":
            return answer.matched
        if answer.form == "construct":
            return [Triple(*terms) for terms in answer.graph]
        names = answer.variables
        return [{name: term for name, term in zip(names, row, strict=True) if term is not None} for row in answer.rows]

    def close(self) -> None:
        """Save the repository, while the journal is open."""
        if self._repository is not None:
            self._repository.save()
