"""Why a query matches a publication, or where it fails: the evaluation itself, with a recorder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.entailed import NO_BACKGROUND, Background, entail_graphs
from triplecast.evaluate.evaluation import evaluate_opened
from triplecast.evaluate.graphs import PublishedGraphs, Triple, open_publication
from triplecast.evaluate.rows import Row
from triplecast.evaluate.scope import children, condition_names
from triplecast.evaluate.solutions import TOO_LONG, Solutions, bounded_bindings
from triplecast.evaluate.wording import word_aggregate, word_expression, word_node, word_pattern, word_triple
from triplecast.languages import parse_query
from triplecast.model.algebra import (
    BasicPattern,
    Distinct,
    Expression,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Query,
    Reduced,
    Slice,
    TriplePattern,
    Variable,
)
from triplecast.model.match import INDEX_SOLUTIONS
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import EntailmentTooLarge

SHOWN = 3
"""Solutions, verdicts and near misses that an explanation shows."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to "why?" for one pair; `str` is its readable form."""

    subscription: str
    graph: str
    version: int
    """0: of a document that was not accepted; the readable form leaves it out."""
    matched: bool
    undecided: str | None
    """Why the pair is undecided, None when it is decided."""
    solutions: tuple[tuple[tuple[str, str], ...], ...]
    """The first solutions: (variable, N-Triples form) of what they bind."""
    solution_count: int
    support: tuple[str, ...]
    """For a match: the triples and conditions that its first solution rests on."""
    failure: str | None
    """For no match: the first part of the query that nothing survives."""
    instead: tuple[str, ...]
    """For no match: what the publication had where that part failed."""

    def __str__(self) -> str:
        verdict = "is undecided" if self.undecided else "matches" if self.matched else "does not match"
        version = f" (version {self.version})" if self.version else ""
        lines = [f"{self.subscription} {verdict} {self.graph}{version}"]
        if self.undecided:
            lines.append(f"  {self.undecided}")
        if self.matched:
            lines.append(f"  {self.solution_count} solution{'' if self.solution_count == 1 else 's'}:")
            for solution in self.solutions:
                lines.append("    " + (", ".join(f"?{name} = {term}" for name, term in solution) or "(binds nothing)"))
        if self.support:
            lines.append("  because of:")
        if self.failure:
            lines.append(f"  nothing survives: {self.failure}")
        if self.instead:
            lines.append("  what was there instead:")
        lines += [f"    {line}" for line in (*self.support, *self.instead)]
        return "\n".join(lines)


class _Verdict(NamedTuple):
    row: Row
    text: str


@dataclass
class Trace:
    """Rows that came to and out of each part of a query, by the part's identity; the first few are kept."""

    came: dict[int, int] = field(default_factory=dict)
    left: dict[int, int] = field(default_factory=dict)
    first_in: dict[int, list[Row]] = field(default_factory=dict)
    first_out: dict[int, list[Row]] = field(default_factory=dict)
    verdicts: dict[int, list[_Verdict]] = field(default_factory=dict)

    def tried(self, item: object, row: Row) -> None:
        self._count(self.came, self.first_in, item, row)

    def kept(self, item: object, row: Row) -> None:
        self._count(self.left, self.first_out, item, row)

    def judged(self, condition: Expression, row: Row, verdict: str) -> None:
        kept = self.verdicts.setdefault(id(condition), [])
        if len(kept) < SHOWN:
            kept.append(_Verdict(dict(row), verdict))

    def starved(self, item: object) -> bool:
        """Whether rows came to a part and none left it."""
        return self.came.get(id(item), 0) > 0 and self.left.get(id(item), 0) == 0

    @staticmethod
    def _count(counts: dict[int, int], firsts: dict[int, list[Row]], item: object, row: Row) -> None:
        counts[id(item)] = counts.get(id(item), 0) + 1
        kept = firsts.setdefault(id(item), [])
        if len(kept) < SHOWN:
            kept.append(dict(row))


def explain(
    query: Query,
    publication: Publication,
    subscription_name: str,
    steps: int = DEFAULT_STEPS,
    index_decides: bool = False,
    background: Background = NO_BACKGROUND,
) -> Explanation:
    """Why the pair matches or where it fails, by evaluating it within `steps`, in this process.

    Undecided where the evaluator is (steps, length of the answer) and, if `index_decides` the query
    (`Admission.decided`), beyond the index's bound on solutions; its bound on join steps is not looked at.
    """
    published = open_publication(publication)
    trace = Trace()
    try:
        graphs = entail_graphs(published, background)
        solutions = evaluate_opened(query, publication, graphs, Budget(steps), trace)
    except (BudgetExceeded, EntailmentTooLarge) as error:
        return _explanation(subscription_name, publication, undecided=f"budget: {error}")
    beyond = _beyond_bounds(query, solutions, trace, index_decides)
    if beyond is not None:
        return _explanation(subscription_name, publication, undecided=beyond)
    if solutions.matched:
        support = tuple(_support(_core(query.pattern), trace, graphs))
        return _explanation(subscription_name, publication, solutions, support=support)
    failure, instead = _failure(query.pattern, trace, graphs)
    for name, words in _aggregate_words(query.pattern):
        failure, instead = failure.replace(name, words), tuple(line.replace(name, words) for line in instead)
    if query.form == "construct" and solutions.rows:
        failure, instead = "the template of CONSTRUCT: no solution makes a valid triple of it", ()
    return _explanation(subscription_name, publication, solutions, failure=failure, instead=instead)


def explain_subscription(subscription: Subscription, publications: Iterable[Publication]) -> tuple[Explanation, ...]:
    """`explain` for each publication, in order. Raises `QuerySyntaxError` and `QueryRefused`."""
    query = parse_query(subscription.text, subscription.language, subscription.name)
    return tuple(explain(query, publication, subscription.name) for publication in publications)


def _beyond_bounds(query: Query, solutions: Solutions, trace: Trace, index_decides: bool) -> str | None:
    """Why the pair is undecided where it is matched, for all that its evaluation ended."""
    if not index_decides:
        return TOO_LONG if solutions.matched and bounded_bindings(solutions) is None else None
    patterns = _core(query.pattern)
    while isinstance(patterns, Filter):
        patterns = patterns.pattern
    if query.form == "ask" or trace.left.get(id(patterns), 0) <= INDEX_SOLUTIONS:
        return None
    return f"more than {INDEX_SOLUTIONS:,} solutions of its patterns in this publication"


def _explanation(
    name: str,
    publication: Publication,
    solutions: Solutions | None = None,
    undecided: str | None = None,
    support: tuple[str, ...] = (),
    failure: str | None = None,
    instead: tuple[str, ...] = (),
) -> Explanation:
    rows = solutions.rows if solutions else ()
    names = solutions.variables if solutions else ()
    shown = tuple(
        tuple((name, str(term)) for name, term in zip(names, row, strict=True) if term is not None)
        for row in rows[:SHOWN]
    )
    matched = solutions is not None and solutions.matched
    return Explanation(
        name, publication.graph, publication.version, matched, undecided, shown, len(rows), support, failure, instead
    )


def _core(pattern: Pattern) -> Pattern:
    """The pattern below the solution modifiers."""
    while isinstance(pattern, Slice | Distinct | Reduced | Project | OrderBy):
        pattern = pattern.pattern
    return pattern


def _aggregate_words(pattern: Pattern) -> list[tuple[str, str]]:
    """(hidden name, the aggregate it stands for), longest names first."""
    found: list[tuple[str, str]] = []
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Group):
            found.extend((variable.name, word_aggregate(what)) for variable, what in part.aggregates if variable.hidden)
        waiting.extend(children(part))
    return sorted(found, key=lambda pair: -len(pair[0]))


def _support(pattern: Pattern, trace: Trace, graphs: PublishedGraphs) -> list[str]:
    """Triples and conditions of the first row that came out of `pattern`, wherever they stand in it."""
    rows = trace.first_out.get(id(pattern), ())
    row = rows[0] if rows else {}
    found: list[str] = []
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, BasicPattern):
            for triple in part.triples:
                found.extend(_supporting(triple, row, trace, graphs))
        elif isinstance(part, Filter | LeftJoin) and part.condition is not None:
            found.extend(_judgement(part.condition, trace, "true"))
        waiting.extend(reversed((part.left,) if isinstance(part, Minus) else children(part)))
    return list(dict.fromkeys(found))


def _supporting(pattern: TriplePattern | PathPattern, row: Row, trace: Trace, graphs: PublishedGraphs) -> list[str]:
    own = trace.first_out.get(id(pattern), ())
    known = {**(own[0] if own else {}), **row}
    if isinstance(pattern, PathPattern):
        ends = [word_node(resolve(node, known)[0] or node) for node in (pattern.subject, pattern.object)]
        return [f"{ends[0]} reaches {ends[1]} along {word_triple(pattern)}"] if own else []
    terms = (
        resolve(pattern.subject, known)[0],
        resolve(pattern.predicate, known)[0],
        resolve(pattern.object, known)[0],
    )
    stored = (triple for graph in (graphs.default, *graphs.named.values()) for triple in graph.candidates(*terms))
    return next(([" ".join(map(word_node, triple)) + " ."] for triple in stored if triple == terms), [])


def _failure(pattern: Pattern, trace: Trace, graphs: PublishedGraphs) -> tuple[str, tuple[str, ...]]:
    """The first part that nothing survives, and what was there instead."""
    for part in children(pattern)[:1] if isinstance(pattern, LeftJoin | Minus) else children(pattern):
        if trace.starved(part):
            return _failure(part, trace, graphs)
    if isinstance(pattern, BasicPattern):
        for triple in pattern.triples:
            if trace.starved(triple):
                return _failed_triple(triple, trace, graphs)
    if isinstance(pattern, Filter):
        judged = tuple(_judgement(pattern.condition, trace, None))
        return f"FILTER({word_expression(pattern.condition)})", judged
    if isinstance(pattern, Minus):
        return f"MINUS {{ {word_pattern(pattern.right)} }}: it removes every solution", ()
    if isinstance(pattern, Join):
        return f"the join of {{ {word_pattern(pattern.left)} }} and {{ {word_pattern(pattern.right)} }}", ()
    if isinstance(pattern, Graph):
        names = tuple(f"graph {name}" for name in graphs.named)
        return f"GRAPH {word_node(pattern.name)}: no graph of the publication fits", names
    if isinstance(pattern, Slice):
        return f"OFFSET {pattern.offset}: there are no more solutions than that", ()
    return word_pattern(pattern), ()


def _failed_triple(
    pattern: TriplePattern | PathPattern, trace: Trace, graphs: PublishedGraphs
) -> tuple[str, tuple[str, ...]]:
    row = trace.first_in[id(pattern)][0]
    bound = [
        f"?{node.name} = {word_node(row[node.name])}"
        for node in (pattern.subject, pattern.object)
        if isinstance(node, Variable) and node.name in row
    ]
    wording = word_triple(pattern) + (f" (with {', '.join(bound)})" if bound else "")
    if isinstance(pattern, PathPattern):
        return wording, ()
    wanted = [resolve(node, row)[0] for node in (pattern.subject, pattern.predicate, pattern.object)]
    triples = [triple for graph in (graphs.default, *graphs.named.values()) for triple in graph.triples]
    return wording, tuple(" ".join(map(word_node, triple)) + " ." for triple in nearest(wanted, triples))


def nearest(wanted: Sequence[object | None], triples: Sequence[Triple]) -> list[Triple]:
    """The triples that agree with most wanted positions, the predicate counting most; none that agrees with nothing."""

    def agreement(triple: Triple) -> int:
        weights = (2, 3, 1)
        return sum(
            weight
            for term, want, weight in zip(triple, wanted, weights, strict=True)
            if want is not None and term == want
        )

    distinct = list(dict.fromkeys(triples))
    ranked = sorted(distinct, key=lambda triple: (-agreement(triple), tuple(map(str, triple))))
    return [triple for triple in ranked[:SHOWN] if agreement(triple) > 0]


def _judgement(condition: Expression, trace: Trace, wanted: str | None) -> list[str]:
    """What a condition gave, with the values it saw; only verdicts equal to `wanted` if given."""
    lines = []
    for row, verdict in trace.verdicts.get(id(condition), ()):
        if wanted is None or verdict == wanted:
            names = [name for name in condition_names(condition) if name in row]
            seen = ", ".join(f"{word_node(Variable(name))} = {word_node(row[name])}" for name in names)
            outcome = verdict if verdict in ("true", "false") else f"error ({verdict})"
            lines.append(f"{word_expression(condition)} is {outcome}" + (f" for {seen}" if seen else ""))
        if lines and wanted is not None:
            break
    return lines
