"""By which rows an event changes an answer: R(n) - R(n-1) and R(n-1) - R(n) as multisets (semantics 10.1).

Before and after the event the query is evaluated over the stored documents, restricted to the solutions that the
changed stars tell (`stars`), or as a whole where they tell nothing. Unchanged solutions are met in both and cancel out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from triplecast.evaluate.budget import Budget
from triplecast.evaluate.evaluation import evaluate_opened, solutions_of
from triplecast.evaluate.rows import IDENTITY
from triplecast.evaluate.scope import certain_names
from triplecast.evaluate.solutions import Solutions, bounded_bindings
from triplecast.evaluate.unknown import NO_ANSWERS, Answers
from triplecast.incremental.flat_paths import flatten_paths
from triplecast.incremental.restriction import Seeds, restrict
from triplecast.model import algebra
from triplecast.model.algebra import Pattern, Query, Term
from triplecast.model.publication import DOCUMENTS, Position, Publication
from triplecast.repository.stored_graphs import Source, open_store

AnswerRow: TypeAlias = tuple[Term | None, ...]
"""Aligned with the query's variables."""
_Solution: TypeAlias = frozenset[tuple[str, Term]]

_MOMENT = Publication(Position(0), DOCUMENTS, 0, "1970-01-01T00:00:00.000000Z", b"")
"""What an evaluation takes for its publication: always the same, so that what it makes of it, such as blank nodes,
depends on the documents alone."""


class AnswerChange(NamedTuple):
    """Rows with how often each came and went."""

    added: Counter[AnswerRow]
    removed: Counter[AnswerRow]

    @classmethod
    def between(cls, before: Counter[AnswerRow], after: Counter[AnswerRow]) -> AnswerChange:
        return cls(after - before, before - after)


class Shape(NamedTuple):
    """A query's modifiers, taken off its pattern, whose plain paths are triples."""

    body: Pattern
    """Solutions of the query come from it one by one."""
    distinct: bool
    sliced: bool
    """Its answer may change by any row where one solution changes."""


def shape_of(query: Query) -> Shape:
    pattern, distinct, projected = flatten_paths(query.pattern), False, False
    while True:
        match pattern:
            case algebra.Slice():
                return Shape(pattern, distinct, True)
            case algebra.Distinct(inner) if not projected:
                pattern, distinct = inner, True
            case algebra.Reduced(inner) if not projected:
                pattern = inner
            case algebra.OrderBy(inner, _):
                pattern = inner
            case algebra.Project(inner, _) if not projected and query.form == "select":
                pattern, projected = inner, True
            case _:
                return Shape(pattern, distinct, False)


def whole_answer(query: Query, source: Source, budget: Budget, answers: Answers = NO_ANSWERS) -> Counter[AnswerRow]:
    """All rows; of ASK the one without names where there is a solution. Raises `BudgetExceeded`, and `Unanswered` where
    operators beyond `answers` are needed, as all here do."""
    return Counter(evaluate_opened(query, _MOMENT, open_store(source, budget), budget, None, answers).rows)


def change_of_answer(
    query: Query,
    seeds: Sequence[Seeds] | None,
    before: Source,
    after: Source,
    budget: Budget,
    answers: Answers = NO_ANSWERS,
) -> AnswerChange:
    """How the answer differs between two states. Each solution that changes agrees with one of `seeds`, each of which
    has one name or more; None where nothing is known of them. Raises `BudgetExceeded`."""
    shape = shape_of(query)
    changed: dict[_Solution, int] = {}
    if seeds is not None and not shape.sliced:
        for each in seeds:
            counts = _solutions(query, shape.body, each, after, budget, answers)
            counts.subtract(_solutions(query, shape.body, each, before, budget, answers))
            changed.update((solution, change) for solution, change in counts.items() if change)
        if query.form == "ask" and not changed:
            return AnswerChange(Counter(), Counter())
    if seeds is None or shape.sliced or query.form == "ask":
        then, now = (whole_answer(query, source, budget, answers) for source in (before, after))
        return AnswerChange.between(then, now)
    names = tuple(variable.name for variable in query.variables)
    rows: Counter[AnswerRow] = Counter()
    for solution, change in changed.items():
        bound = dict(solution)
        rows[tuple(map(bound.get, names))] += change
    if shape.distinct:
        rows = _of_distinct(query, shape.body, names, rows, after, budget, answers)
    return AnswerChange(+rows, -rows)


def change_of_rows(
    query: Query, rows: Sequence[AnswerRow], before: Source, after: Source, budget: Budget
) -> AnswerChange:
    """Which of some rows of a DISTINCT query appear and disappear. Raises `BudgetExceeded`."""
    body = shape_of(query).body
    names = tuple(variable.name for variable in query.variables)
    then, now = (_among(query, body, names, rows, source, budget) for source in (before, after))
    return AnswerChange.between(Counter(dict.fromkeys(then, 1)), Counter(dict.fromkeys(now, 1)))


def rows_among(query: Query, rows: Sequence[AnswerRow], source: Source, budget: Budget) -> set[AnswerRow]:
    """Those of some rows that a DISTINCT query has. Raises `BudgetExceeded`."""
    names = tuple(variable.name for variable in query.variables)
    return {*_among(query, shape_of(query).body, names, rows, source, budget)}


def change_text(variables: Sequence[str], change: AnswerChange) -> tuple[bytes | None, bytes | None]:
    """The rows that came, and those that went, as JSON (`bindings_json`), sorted by their texts; empty for none, None
    where they are longer than an answer may be."""
    return _text(variables, change.added), _text(variables, change.removed)


def _text(variables: Sequence[str], rows: Counter[AnswerRow]) -> bytes | None:
    if not rows:
        return b""
    ordered = sorted(rows.elements(), key=lambda row: ["" if term is None else str(term) for term in row])
    return bounded_bindings(Solutions(tuple(variables), tuple(ordered), (), True))


def _solutions(
    query: Query, body: Pattern, seeds: Seeds, source: Source, budget: Budget, answers: Answers
) -> Counter[_Solution]:
    """The solutions of the body that agree with a seed."""
    wanted = {*seeds.rows}
    return Counter(
        frozenset((name, term) for name, term in row.items() if name != IDENTITY)
        for row in _solve(query, restrict(body, seeds), source, budget, answers)
        if tuple(row[name] for name in seeds.names) in wanted
    )


def _of_distinct(
    query: Query,
    body: Pattern,
    names: tuple[str, ...],
    rows: Counter[AnswerRow],
    after: Source,
    budget: Budget,
    answers: Answers,
) -> Counter[AnswerRow]:
    """Of rows whose solutions became more or fewer, those that appear (1) and disappear (-1)."""
    changed = {row: change for row, change in rows.items() if change}
    now = _among(query, body, names, [*changed], after, budget, answers)
    return Counter({row: (now[row] > 0) - (now[row] > change) for row, change in changed.items()})


def _among(
    query: Query,
    body: Pattern,
    names: tuple[str, ...],
    rows: Sequence[AnswerRow],
    source: Source,
    budget: Budget,
    answers: Answers = NO_ANSWERS,
) -> Counter[AnswerRow]:
    """How many solutions of the body give each of some rows."""
    found: Counter[AnswerRow] = Counter()
    wanted = {*rows}
    known = tuple(name for name in names if name in certain_names(body))
    if known and rows:
        places = [names.index(name) for name in known]
        body = restrict(body, Seeds(known, [tuple(row[place] for place in places) for row in rows]))  # type: ignore[misc]
    for solution in _solve(query, body, source, budget, answers) if rows else ():
        row = tuple(map(solution.get, names))
        if row in wanted:
            found[row] += 1
    return found


def _solve(
    query: Query, pattern: Pattern, source: Source, budget: Budget, answers: Answers
) -> Iterator[dict[str, Term]]:
    return solutions_of(query, pattern, _MOMENT, open_store(source, budget), budget, answers)
