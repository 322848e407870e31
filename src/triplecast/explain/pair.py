"""Explain one pair: evaluate it with a recorder, then read off what the result rests on or where it fails."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from triplecast.evaluate.background import NO_BACKGROUND, Background, entail_graphs
from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.evaluation import evaluate_opened, solutions_of
from triplecast.evaluate.graphs import PublishedGraphs, open_publication
from triplecast.evaluate.solutions import Solutions, bounded_bindings
from triplecast.evaluate.unknown import Unanswered
from triplecast.explain.evidence import Evidence
from triplecast.explain.explanation import Explanation
from triplecast.explain.failed_part import find_failed_part
from triplecast.explain.operator_answers import ExplainedAnswers
from triplecast.explain.support import find_support
from triplecast.explain.trace import SHOWN, Trace
from triplecast.explain.wording import Wording
from triplecast.languages import parse_query, prefixes_of, updates_of
from triplecast.model.algebra import Filter, Modifier, Pattern, Query, Term
from triplecast.model.match import INDEX_SOLUTIONS, TOO_LONG
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import EntailmentTooLarge

NO_EXPLAINED_ANSWERS = ExplainedAnswers()
_NOT_COMPARED = "the conditions with tc:before, which this does not look at"


def explain_pair(
    subscription: Subscription,
    publication: Publication,
    steps: int = DEFAULT_STEPS,
    index_decides: bool = False,
    background: Background = NO_BACKGROUND,
    explained: ExplainedAnswers = NO_EXPLAINED_ANSWERS,
) -> Explanation:
    """Explain why the pair matches or where it fails, by evaluating it in this process within `steps`.

    It is undecided where operators failed and where matching leaves it undecided: beyond `steps`, beyond the length of
    an answer and, if `index_decides` (`Admission.bounded`), beyond the index's bound on solutions; the index's bound on
    join steps is not checked. Raises `QuerySyntaxError`, `QueryRefused`, and `Unanswered` while operators have to be
    called.
    """
    query = parse_query(subscription.text, subscription.language, subscription.name, explained.operators)
    words = Wording(prefixes_of(subscription.text, subscription.language), query, explained.operators)
    trace = Trace()
    empty = Explanation(subscription.name, publication.graph, publication.version, matched=False, undecided=None)
    try:
        graphs = entail_graphs(open_publication(publication), background)
        solutions = evaluate_opened(query, publication, graphs, Budget(steps), trace, explained.answers)
    except Unanswered as unanswered:
        if unanswered.rows:
            raise
        return replace(empty, undecided=unanswered.failures[0])
    except (BudgetExceeded, EntailmentTooLarge) as error:
        return replace(empty, undecided=f"budget: {error}")
    beyond = _beyond_bounds(query, publication, graphs, solutions, steps, index_decides)
    if beyond is not None:
        return replace(empty, undecided=beyond)
    evidence = Evidence(trace, graphs, words, explained)
    if solutions.matched:
        support = tuple(find_support(_core(query.pattern), evidence, _first_row(solutions)))
        if updates_of(subscription.text, subscription.language, explained.operators):
            support += (_NOT_COMPARED,)
        shown, count = _shown(solutions), len(solutions.rows)
        return replace(empty, matched=True, solutions=shown, solution_count=count, support=support)
    if query.form == "construct" and solutions.rows:
        return replace(empty, failure="the template of CONSTRUCT: no solution makes a valid triple of it")
    failed = find_failed_part(query.pattern, evidence)
    return replace(empty, failure=failed.part, instead=failed.instead)


def _shown(solutions: Solutions) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple(
        tuple((name, str(term)) for name, term in zip(solutions.variables, row, strict=True) if term is not None)
        for row in solutions.rows[:SHOWN]
    )


def _beyond_bounds(
    query: Query,
    publication: Publication,
    graphs: PublishedGraphs,
    solutions: Solutions,
    steps: int,
    index_decides: bool,
) -> str | None:
    """Why matching leaves the pair undecided although its evaluation ended within `steps`."""
    if not index_decides:
        return TOO_LONG if solutions.matched and bounded_bindings(solutions) is None else None
    if query.form == "ask":
        return None
    pattern = _core(query.pattern)
    while isinstance(pattern, Filter):
        pattern = pattern.pattern
    try:
        rows = solutions_of(query, pattern, publication, graphs, Budget(steps))
        counted = sum(1 for _ in islice(rows, INDEX_SOLUTIONS + 1))
    except BudgetExceeded:
        return None
    if counted <= INDEX_SOLUTIONS:
        return None
    return f"more than {INDEX_SOLUTIONS:,} solutions of its patterns in this publication"


def _core(pattern: Pattern) -> Pattern:
    """The pattern below the solution modifiers."""
    while isinstance(pattern, Modifier):
        pattern = pattern.pattern
    return pattern


def _first_row(solutions: Solutions) -> dict[str, Term]:
    row = solutions.rows[0] if solutions.rows else (None,) * len(solutions.variables)
    return {name: term for name, term in zip(solutions.variables, row, strict=True) if term is not None}
