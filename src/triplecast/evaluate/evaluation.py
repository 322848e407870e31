"""A query over one publication version, exactly (semantics 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triplecast.evaluate.background import NO_BACKGROUND, Background, entail_graphs
from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.expressions import holds
from triplecast.evaluate.graphs import PublishedGraphs, open_publication
from triplecast.evaluate.patterns import arrange, solve
from triplecast.evaluate.rows import Row, aligned
from triplecast.evaluate.solutions import AnswerTriple, Solutions, instances
from triplecast.evaluate.state import Evaluation, Place, Recorder
from triplecast.evaluate.unknown import NO_ANSWERS, Answers, Unanswered, Unknown
from triplecast.model.algebra import BasicPattern, Expression, Pattern, Query
from triplecast.model.publication import Position, Publication

EMPTY = Publication(
    position=Position(0),
    graph="urn:x-triplecast:empty",
    version=1,
    accepted_at="1970-01-01T00:00:00.000000Z",
    quads=b"",
)
"""The version that `result_on_empty` evaluates."""
_NOTHING = Query("ask", BasicPattern(()), ())


def evaluate(
    query: Query, publication: Publication, budget: Budget, background: Background = NO_BACKGROUND
) -> Solutions:
    """Evaluate a filled query; raises `BudgetExceeded`, `EntailmentTooLarge`, and TypeError for a `Slot`."""
    graphs = entail_graphs(open_publication(publication), background)
    return evaluate_opened(query, publication, graphs, budget)


def evaluate_opened(
    query: Query,
    publication: Publication,
    graphs: PublishedGraphs,
    budget: Budget,
    recorder: Recorder | None = None,
    answers: Answers = NO_ANSWERS,
) -> Solutions:
    """Evaluate a query over an opened publication, with `recorder` notified. Raises what `evaluate` raises, and
    `Unanswered` where operators beyond `answers` are needed."""
    run = Evaluation(query, publication, graphs, budget, solve, recorder, answers)
    place = Place(graphs.default, {}, [])
    if query.form == "ask":
        matched = next(solve(run, query.pattern, place, {}), None) is not None
        if place.unknown and not matched:
            raise Unanswered(place.unknown)
        return Solutions((), ((),) if matched else (), (), matched)
    try:
        rows = arrange(run, query.pattern, place)
    except Unknown as met:
        raise Unanswered([met, *place.unknown]) from None
    if place.unknown:
        raise Unanswered(place.unknown)
    names = tuple(variable.name for variable in query.variables)
    graph = construct(run, rows) if query.form == "construct" else ()
    aligned_rows = tuple(aligned(row, names) for row in rows)
    return Solutions(names, aligned_rows, graph, bool(graph) if query.form == "construct" else bool(aligned_rows))


def solutions_of(
    query: Query,
    pattern: Pattern,
    publication: Publication,
    graphs: PublishedGraphs,
    budget: Budget,
    answers: Answers = NO_ANSWERS,
) -> Iterator[Row]:
    """Yield the rows of a part of the query outside GRAPH and EXISTS; raises `BudgetExceeded`, and in the end
    `Unanswered` where operators beyond `answers` are needed."""
    run = Evaluation(query, publication, graphs, budget, solve, None, answers)
    place = Place(run.graphs.default, {}, [])
    try:
        yield from solve(run, pattern, place, {})
    except Unknown as met:
        raise Unanswered([met, *place.unknown]) from None
    if place.unknown:
        raise Unanswered(place.unknown)


def hold_for(conditions: Sequence[Expression], rows: Iterable[Row], budget: Budget) -> Iterator[bool]:
    """Of each row whether all conditions hold, which look at nothing else; raises `BudgetExceeded`."""
    run = Evaluation(_NOTHING, EMPTY, open_publication(EMPTY), budget, solve)
    place = Place(run.graphs.default, {}, [])
    return (all(holds(run, condition, row, place) for condition in conditions) for row in rows)


def result_on_empty(query: Query, steps: int = DEFAULT_STEPS) -> bool:
    """Whether the query has a result on the empty graph, which makes its subscription broad (semantics 1.2).

    Stops at the first result. True, the safe answer, where `steps` do not suffice or operators are needed.
    """
    run = Evaluation(query, EMPTY, open_publication(EMPTY), Budget(steps), solve)
    place = Place(run.graphs.default, {}, [])
    rows = solve(run, query.pattern, place, {})
    try:
        if query.form == "construct":
            found = any(True for row in rows for _ in _instances(run, row))
        else:
            found = next(rows, None) is not None
    except (BudgetExceeded, Unknown):
        return True
    return found or bool(place.unknown)


def construct(run: Evaluation, rows: list[Row]) -> tuple[AnswerTriple, ...]:
    """List the template's triples for every row, with new blank nodes for each."""
    found: dict[tuple[int, ...], AnswerTriple] = {}
    for row in rows:
        run.budget.spend(1 + len(run.query.template))
        for triple in _instances(run, row):
            found[tuple([run.numbering.number(term) for term in triple])] = triple
    ranks = run.numbering.ranks({number for key in found for number in key})
    return tuple(found[key] for key in sorted(found, key=lambda key: [ranks[number] for number in key]))


def _instances(run: Evaluation, row: Row) -> Iterator[AnswerTriple]:
    return instances(run.query.template, row, lambda name: run.fresh_node(run.query, row, f"template {name}"))
