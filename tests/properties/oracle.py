"""The expected answer of a pair: the slow reader's, and pyoxigraph's beside it where nothing stands against it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.properties.constructs import constants_of, constructs_of
from tests.properties.generate import Asked, Published, dataset_of
from tests.properties.oxigraph import Row, Store, doubts_of, families, objection_to_terms, objection_to_values
from tests.reference.solve import NotDetermined, answer
from tests.reference.terms import Term, write


@dataclass(frozen=True, slots=True)
class Expected:
    rows: list[Row] | None
    """A sorted multiset; None where the specification leaves the answer open."""
    voices: tuple[str, ...]
    """Who said so."""
    quarrel: list[Row] | None = None
    """pyoxigraph's rows where it was to be believed and says otherwise than the slow reader."""


class Question:
    """A subscription with all that is the same for every publication."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.text, self.entailment = asked, asked.text, asked.entailment
        self.constants = constants_of(asked.query)
        stated = {f"entailment {asked.entailment}"} if asked.entailment else set()
        self.constructs = constructs_of(asked.query) | stated
        self.doubts = doubts_of(asked.query, self.constructs, self.constants)
        self._families = families(self.constants)

    def families_with(self, families_of_publication: frozenset[str]) -> frozenset[str]:
        return families_of_publication | self._families


class Oracle:
    """All that one publication is asked by subscriptions with one entailment."""

    def __init__(self, stated: Published, entailment: str | None = None) -> None:
        published = self.published = stated.entailed(entailment)
        names = {published.graph} if published.named is None else {name for name, _ in published.named}
        self.terms = frozenset(term for triple in published.all_triples for term in triple) | names
        self._dataset = dataset_of(stated, entailment)
        self._objection = objection_to_terms(published)
        self._families = families(self.terms)
        self._store: Store | None = None

    def believe(self, question: Question) -> list[Row] | None:
        """The rows by one voice: pyoxigraph where nothing stands against it, else the slow reader. None: left open."""
        if self.objection(question) is None:
            return self._ask_store(question)
        try:
            return rows_of(answer(question.asked.query, self._dataset))
        except NotDetermined:
            return None

    def expect(self, question: Question) -> Expected:
        try:
            slow = rows_of(answer(question.asked.query, self._dataset))
        except NotDetermined:
            return Expected(None, ())
        if self.objection(question) is not None:
            return Expected(slow, ("slow reader",))
        fast = self._ask_store(question)
        return Expected(slow, ("slow reader", "pyoxigraph"), None if fast == slow else fast)

    def _ask_store(self, question: Question) -> list[Row]:
        if self._store is None:
            self._store = Store(self.published)
        return self._store.answer(question.asked, question.text)

    def objection(self, question: Question) -> str | None:
        """Why pyoxigraph's answer does not count for this pair."""
        if self._objection or question.doubts.objection:
            return self._objection or question.doubts.objection
        return objection_to_values(question.doubts, question.families_with(self._families))


def rows_of(solutions: list[dict[str, Term]]) -> list[Row]:
    return sorted(tuple(sorted((name, write(term)) for name, term in row.items())) for row in solutions)
