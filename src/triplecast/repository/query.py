"""A SPARQL query over the current documents."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.compile.compiled import entailment_of
from triplecast.errors import QueryRefused, QueryTooLarge
from triplecast.evaluate.background import Background
from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.evaluate.evaluation import evaluate_opened
from triplecast.evaluate.solutions import AnswerTriple
from triplecast.languages import parse_query, parse_template
from triplecast.model.algebra import Term
from triplecast.model.entailment import Entailment
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Subscription
from triplecast.repository.entailed import EntailedSource, EntailedStore
from triplecast.repository.store import Store
from triplecast.repository.stored_graphs import Source, open_store
from triplecast.taxonomy import NO_TAXONOMY, EntailmentTooLarge, Taxonomy

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


class EntailedCopies:
    """What the documents of a store entail, made when a query asks for it: one copy, as of the last event."""

    def __init__(self) -> None:
        self._last: tuple[Store, int, Background, EntailedStore] | None = None

    def of(self, store: Store, entailment: Entailment, taxonomy: Taxonomy) -> EntailedSource:
        """Raises `EntailmentTooLarge`."""
        last, background = self._last, Background.of(entailment, taxonomy)
        if last is None or last[0] is not store or last[1:3] != (store.position, background):
            self._last = None  # before another takes its memory
            made = EntailedStore(store, entailment, taxonomy)
            self._last = last = store, store.position, background, made
        if last[3].too_large:
            raise EntailmentTooLarge
        return last[3].after


def query_store(
    store: Store,
    text: str,
    language: str,
    steps: int,
    now: str,
    entailment: str | None = None,
    taxonomy: Taxonomy = NO_TAXONOMY,
    copies: EntailedCopies | None = None,
) -> QueryAnswer:
    """Evaluate a query at the time `now`, an xsd:dateTime, with the entailment of a subscription that has this text
    and `entailment`.

    Raises `QuerySyntaxError`, `QueryRefused`, for a call of an operator too, and `QueryTooLarge` where it takes more
    than `steps`.
    """
    query = parse_query(text, language)
    template, _ = parse_template(text, language)
    regime = entailment_of(Subscription("query", text, language, entailment=entailment), template)
    if template.updates:
        raise QueryRefused("tc:before", "a query has no earlier answer", "use it in a subscription with a key")
    budget = Budget(steps)
    moment = Publication(Position(store.position), _IDENTITY, store.position, now, b"")
    try:
        source: Source = store
        if regime is not Entailment.NONE:
            source = (copies or EntailedCopies()).of(store, regime, taxonomy)
        solutions = evaluate_opened(query, moment, open_store(source, budget), budget)
    except EntailmentTooLarge as error:
        raise QueryTooLarge(steps, f"of one resource {error}", "ask without entailment") from None
    except (BudgetExceeded, RecursionError, MemoryError) as error:
        found = str(error) if isinstance(error, BudgetExceeded) else "nested too deeply, or more than memory holds"
        raise QueryTooLarge(steps, found) from None
    return QueryAnswer(query.form, solutions.variables, solutions.rows, solutions.graph, solutions.matched)
