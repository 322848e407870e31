"""A SPARQL query over the current documents."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.errors import QueryTooLarge
from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.evaluate.evaluation import evaluate_opened
from triplecast.evaluate.solutions import AnswerTriple
from triplecast.languages import parse_query
from triplecast.model.algebra import Term
from triplecast.model.publication import Position, Publication
from triplecast.repository.store import Store
from triplecast.repository.stored_graphs import open_store

QUERY_STEPS = 2_000_000
"""Steps that a query over the current documents may take: about six seconds of work and 500 MiB."""
_IDENTITY = "urn:x-triplecast:repository"


class QueryAnswer(NamedTuple):
    """The answer to a query."""

    form: str
    """``select``, ``ask`` or ``construct``."""
    variables: tuple[str, ...]
    """Those of SELECT as written."""
    rows: tuple[tuple[Term | None, ...], ...]
    """Aligned with `variables`, in canonical order unless the query orders them."""
    graph: tuple[AnswerTriple, ...]
    """The triples of CONSTRUCT, by their text."""
    matched: bool
    """Whether there is a solution; of CONSTRUCT, a triple."""


def query_store(store: Store, text: str, language: str, steps: int, now: str) -> QueryAnswer:
    """Evaluate a query at the time `now`, an xsd:dateTime.

    Raises `QuerySyntaxError`, `QueryRefused`, for a call of an operator too, and `QueryTooLarge` where it takes more
    than `steps`.
    """
    query = parse_query(text, language)
    budget = Budget(steps)
    moment = Publication(Position(store.position), _IDENTITY, store.position, now, b"")
    try:
        solutions = evaluate_opened(query, moment, open_store(store, budget), budget)
    except (BudgetExceeded, RecursionError, MemoryError) as error:
        found = str(error) if isinstance(error, BudgetExceeded) else "nested too deeply, or more than memory holds"
        raise QueryTooLarge(steps, found) from None
    return QueryAnswer(query.form, solutions.variables, solutions.rows, solutions.graph, solutions.matched)
