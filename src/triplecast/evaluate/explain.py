"""Why a query matches a publication, or where it fails: the evaluation itself, with a recorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from pyoxigraph import NamedNode

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.conditions import conjuncts
from triplecast.evaluate.entailed import NO_BACKGROUND, Background, entail_graphs
from triplecast.evaluate.evaluation import evaluate_opened, solutions_of
from triplecast.evaluate.explanation import Explanation
from triplecast.evaluate.failure import Evidence, alternatives, describe_judged, find_failure, first_true
from triplecast.evaluate.graphs import PublishedGraphs, Triple, TripleSet, open_publication
from triplecast.evaluate.rows import Row
from triplecast.evaluate.said import NOTHING_SAID, Said, describe_said
from triplecast.evaluate.scope import children
from triplecast.evaluate.solutions import TOO_LONG, Solutions, bounded_bindings
from triplecast.evaluate.trace import SHOWN, Trace
from triplecast.evaluate.unknown import Unanswered
from triplecast.evaluate.wording import Wording
from triplecast.languages import parse_query, prefixes_of
from triplecast.model.algebra import (
    BasicPattern,
    Call,
    Distinct,
    Expression,
    Extend,
    Filter,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Produce,
    Project,
    Query,
    Reduced,
    Slice,
    Term,
    TriplePattern,
    Union,
    Variable,
)
from triplecast.model.entailment import FUNCTION_MARKS, Mark
from triplecast.model.match import INDEX_SOLUTIONS
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import Classes, EntailmentTooLarge

STEPS_SHOWN = 20
"""Of a way up the taxonomy."""
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


def explain(
    subscription: Subscription,
    publication: Publication,
    steps: int = DEFAULT_STEPS,
    index_decides: bool = False,
    background: Background = NO_BACKGROUND,
    said: Said = NOTHING_SAID,
) -> Explanation:
    """Why the pair matches or where it fails, by evaluating it within `steps`, in this process.

    Undecided where the evaluator is (steps, length of the answer) and, if `index_decides` the query
    (`Admission.bounded`), beyond the index's bound on solutions; its bound on join steps is not looked at; where
    operators failed. Raises `QuerySyntaxError` and `QueryRefused`, and `Unanswered` where operators have to be asked.
    """
    query = parse_query(subscription.text, subscription.language, subscription.name, said.operators)
    words = Wording(prefixes_of(subscription.text, subscription.language), query, said.operators)
    published = open_publication(publication)
    trace = Trace()
    told = Explanation(subscription.name, publication.graph, publication.version, matched=False, undecided=None)
    try:
        graphs = entail_graphs(published, background)
        solutions = evaluate_opened(query, publication, graphs, Budget(steps), trace, said.answers)
    except Unanswered as unanswered:
        if unanswered.rows:
            raise
        return replace(told, undecided=unanswered.failures[0])
    except (BudgetExceeded, EntailmentTooLarge) as error:
        return replace(told, undecided=f"budget: {error}")
    beyond = _beyond_bounds(query, publication, graphs, solutions, steps, index_decides)
    if beyond is not None:
        return replace(told, undecided=beyond)
    evidence = Evidence(trace, graphs, words, said)
    if solutions.matched:
        support = tuple(_support(_core(query.pattern), evidence, _first_row(solutions)))
        shown, count = _shown(solutions), len(solutions.rows)
        return replace(told, matched=True, solutions=shown, solution_count=count, support=support)
    if query.form == "construct" and solutions.rows:
        return replace(told, failure="the template of CONSTRUCT: no solution makes a valid triple of it")
    failure = find_failure(query.pattern, evidence)
    return replace(told, failure=failure.part, instead=failure.instead)


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
    """Why the pair is undecided where it is matched, for all that its evaluation ended."""
    if not index_decides:
        return TOO_LONG if solutions.matched and bounded_bindings(solutions) is None else None
    if query.form == "ask":
        return None
    patterns = _core(query.pattern)
    while isinstance(patterns, Filter):
        patterns = patterns.pattern
    try:
        rows = solutions_of(query, patterns, publication, graphs, Budget(steps))
        counted = sum(1 for _ in islice(rows, INDEX_SOLUTIONS + 1))
    except BudgetExceeded:
        return None
    if counted <= INDEX_SOLUTIONS:
        return None
    return f"more than {INDEX_SOLUTIONS:,} solutions of its patterns in this publication"


def _core(pattern: Pattern) -> Pattern:
    """The pattern below the solution modifiers."""
    while isinstance(pattern, Slice | Distinct | Reduced | Project | OrderBy):
        pattern = pattern.pattern
    return pattern


def _first_row(solutions: Solutions) -> Row:
    if not solutions.rows:
        return {}
    first = zip(solutions.variables, solutions.rows[0], strict=True)
    return {name: term for name, term in first if term is not None}


def _support(pattern: Pattern, found: Evidence, first: Row) -> list[str]:
    """Triples and conditions of the row that came out of `pattern` for the solution `first`, wherever they stand in it;
    of another row, if that one was not kept. Of a UNION, the alternative that gave it."""
    rows = found.trace.first_out.get(id(pattern), [])
    row = next((row for row in rows if first.items() <= row.items()), rows[0] if rows else {})
    alternatives_met: list[str] = []
    triples: list[str] = []
    conditions: list[str] = []
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Union):
            choices = list(alternatives(part))
            number = next((n for n, choice in enumerate(choices) if _gave(choice, row, found)), None)
            if number is not None:
                alternatives_met.append(f"alternative {number + 1} of {len(choices)} of UNION")
                waiting.append(choices[number])
                continue
        if isinstance(part, BasicPattern):
            for triple in part.triples:
                triples.extend(_supporting(triple, row, found))
        elif isinstance(part, Filter | LeftJoin) and part.condition is not None:
            judged = (part.condition,) if isinstance(part, LeftJoin) else conjuncts(part.condition)
            for condition in judged:
                conditions.extend(describe_judged(condition, first_true(condition, row, found.trace), found))
                conditions.extend(_function_steps(condition, row, found))
        elif isinstance(part, Produce):
            conditions.extend(describe_said(part, row, found.said, found.words))
        elif isinstance(part, Extend):
            conditions.extend(describe_said(part.expression, row, found.said, found.words))
        waiting.extend(reversed((part.left,) if isinstance(part, Minus) else children(part)))
    return list(dict.fromkeys((*alternatives_met, *triples, *conditions)))


def _gave(choice: Pattern, row: Row, found: Evidence) -> bool:
    """Whether an alternative is seen to have given the row, or the part of it that is its own."""
    return any(own.items() <= row.items() for own in found.trace.first_out.get(id(choice), ()))


def _supporting(pattern: TriplePattern | PathPattern, row: Row, found: Evidence) -> list[str]:
    own = found.trace.first_out.get(id(pattern), ())
    known = {**(own[0] if own else {}), **row}
    if isinstance(pattern, PathPattern):
        ends = [found.words.node(resolve(node, known)[0] or node) for node in (pattern.subject, pattern.object)]
        return [f"{ends[0]} reaches {ends[1]} along {found.words.path(pattern.path)}"] if own else []
    terms = (
        resolve(pattern.subject, known)[0],
        resolve(pattern.predicate, known)[0],
        resolve(pattern.object, known)[0],
    )
    graphs = (found.graphs.default, *found.graphs.named.values())
    stored = (triple for graph in graphs for triple in graph.candidates(*terms))
    if not any(triple == terms for triple in stored):
        return []
    published = any(terms in graph.triples and terms not in graph.entailed for graph in graphs)
    return [found.words.stated(terms)] if published else list(_entailed(terms, graphs, found.words))  # type: ignore[arg-type]


def _entailed(triple: Triple, graphs: Sequence[TripleSet], words: Wording) -> Iterator[str]:
    """A triple that was not published, and for a type the steps from one that is stated."""
    subject, predicate, end = triple
    yield f"{words.stated(triple)} (by the taxonomy)"
    for graph in graphs:
        if graph.classes is not None and predicate == TYPE:
            yield from _steps(subject, end, graph.classes, words)
            return


def _steps(node: Term, goal: Term, classes: Classes[Term], words: Wording) -> Iterator[str]:
    """How the node comes to be under a class, if it is."""
    for start in classes.types(node):
        way = classes.way(start, goal)
        if way:
            own = "is a class" if start == node else f"a {words.node(start)}"
            shown = [f", which is under {words.node(each)}" for each in (*way[1:STEPS_SHOWN], *way[STEPS_SHOWN:][-1:])]
            if len(way) > STEPS_SHOWN + 1:
                shown[-1] = f", which is {len(way) - STEPS_SHOWN:,} steps under {words.node(way[-1])}"
            above = "".join(shown)
            if len(way) > 1:
                yield f"{words.node(node)} {own}{above}"
            return


def _function_steps(condition: Expression, row: Row, found: Evidence) -> Iterator[str]:
    """The steps that make a function of the taxonomy true."""
    match condition:
        case Call(function, (Variable(name), NamedNode() as other)) if function in FUNCTION_MARKS and name in row:
            classes = found.graphs.default.classes
            if classes is not None and FUNCTION_MARKS[function] is Mark.DESCENDANT:
                yield from _steps(row[name], other, classes, found.words)
