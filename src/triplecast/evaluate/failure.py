"""Where a query that does not match fails: the first part that rows come to and none leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.conditions import conjuncts
from triplecast.evaluate.fulltext import describe_texts
from triplecast.evaluate.graphs import PublishedGraphs, Triple
from triplecast.evaluate.instead import instead_of
from triplecast.evaluate.rows import Row
from triplecast.evaluate.said import NOTHING_SAID, Said, describe_said
from triplecast.evaluate.scope import children, condition_names
from triplecast.evaluate.trace import FALSE, TRUE, Trace, Verdict
from triplecast.evaluate.wording import Wording
from triplecast.model.algebra import (
    Alternative,
    BasicPattern,
    Expression,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    PathExpression,
    PathPattern,
    Pattern,
    Produce,
    Repeat,
    Slice,
    Term,
    TriplePattern,
    Union,
    Variable,
)
from triplecast.model.algebra import (
    Sequence as PathSequence,
)

ALTERNATIVES_SHOWN = 6


class Failure(NamedTuple):
    part: str
    """In words."""
    instead: tuple[str, ...] = ()
    """What was there."""


class Evidence(NamedTuple):
    """What a failure is read from."""

    trace: Trace
    graphs: PublishedGraphs
    words: Wording
    said: Said = NOTHING_SAID


def find_failure(pattern: Pattern, found: Evidence) -> Failure:
    """Of a pattern without solutions."""
    trace, words = found.trace, found.words
    if isinstance(pattern, Union):
        return _of_union(pattern, found)
    if isinstance(pattern, Filter):
        for condition in conjuncts(pattern.condition):
            if trace.starved(condition):
                return Failure(words.filter(condition), tuple(describe_judged(condition, trace.of(condition), found)))
    for part in children(pattern)[:1] if isinstance(pattern, LeftJoin | Minus) else children(pattern):
        if trace.starved(part):
            return find_failure(part, found)
    if isinstance(pattern, BasicPattern):
        for triple in pattern.triples:
            if trace.starved(triple):
                return _of_triple(triple, found)
    if isinstance(pattern, Filter):
        lines: list[str] = []
        for condition in conjuncts(pattern.condition):
            untrue = [verdict for verdict in trace.of(condition) if verdict.text != TRUE]
            lines += describe_judged(condition, untrue, found)
        return Failure(words.filter(pattern.condition), tuple(lines))
    if isinstance(pattern, Produce):
        rows = trace.first_out.get(id(pattern.pattern), [])
        shown = (line for row in rows for line in describe_said(pattern, row, found.said, words))
        return Failure(words.produced(pattern), tuple(dict.fromkeys(shown)))
    if isinstance(pattern, Minus):
        return Failure(f"MINUS {{ {words.pattern(pattern.right)} }}: it removes every solution")
    if isinstance(pattern, Join):
        both = f"{{ {words.pattern(pattern.left)} }} and {{ {words.pattern(pattern.right)} }}"
        return Failure(f"the join of {both}: each has solutions, but no two that agree")
    if isinstance(pattern, Graph):
        names = tuple(f"graph {words.node(name)}" for name in found.graphs.named)
        return Failure(f"GRAPH {words.node(pattern.name)}: no graph of the publication fits", names)
    if isinstance(pattern, Slice):
        return Failure(f"OFFSET {pattern.offset}: there are no more solutions than that")
    return Failure(words.pattern(pattern) or "the pattern")


def describe_verdicts(condition: Expression, verdicts: Iterable[Verdict], words: Wording) -> list[str]:
    """What a condition gave, with the values it saw."""
    names = condition_names(condition)
    lines = []
    for row, verdict in verdicts:
        bound = [name for name in names if name in row]
        seen = ", ".join(f"{words.node(Variable(name))} = {words.node(row[name])}" for name in bound)
        outcome = verdict if verdict in (TRUE, FALSE) else f"an error ({verdict})"
        lines.append(f"{words.expression(condition)} is {outcome}" + (f" for {seen}" if seen else ""))
        lines += [f"  {line}" for line in describe_texts(condition, row)]
    return list(dict.fromkeys(lines))


def describe_judged(condition: Expression, verdicts: Sequence[Verdict], found: Evidence) -> list[str]:
    """The same, and what operators in it said."""
    lines = describe_verdicts(condition, verdicts, found.words)
    for row, _ in verdicts:
        lines += describe_said(condition, row, found.said, found.words)
    return list(dict.fromkeys(lines))


def first_true(condition: Expression, row: Row, trace: Trace) -> list[Verdict]:
    """The first time that a condition was true, on the values that it has in `row` if that was kept; none if never."""
    names = condition_names(condition)
    true = [verdict for verdict in trace.of(condition) if verdict.text == TRUE]
    own = [verdict for verdict in true if _agrees(verdict.row, row, names)]
    return (own or true)[:1]


def _agrees(left: Row, right: Row, names: Sequence[str]) -> bool:
    return all(left.get(name) == right.get(name) for name in names)


def _of_union(pattern: Union, found: Evidence) -> Failure:
    """Every alternative, with the place where it fails."""
    lines: list[str] = []
    branches = list(alternatives(pattern))
    for number, branch in enumerate(branches[:ALTERNATIVES_SHOWN], 1):
        failure = find_failure(branch, found)
        lines.append(f"alternative {number} fails at {failure.part}")
        lines += [f"  {line}" for line in failure.instead]
    if len(branches) > ALTERNATIVES_SHOWN:
        lines.append(f"and {len(branches) - ALTERNATIVES_SHOWN} alternatives more")
    return Failure(f"UNION: none of its {len(branches)} alternatives has a solution", tuple(lines))


def alternatives(pattern: Pattern) -> Iterator[Pattern]:
    """What a UNION of UNIONs is made of, from left to right."""
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Union):
            waiting += [part.right, part.left]
        else:
            yield part


def _of_triple(pattern: TriplePattern | PathPattern, found: Evidence) -> Failure:
    row = found.trace.first_in[id(pattern)][0]
    bound = [
        f"{found.words.node(node)} = {found.words.node(row[node.name])}"
        for node in (pattern.subject, pattern.object)
        if isinstance(node, Variable) and node.name in row
    ]
    wording = found.words.triple(pattern) + (f" (with {', '.join(bound)})" if bound else "")
    subject, end = resolve(pattern.subject, row)[0], resolve(pattern.object, row)[0]
    triples = _triples(found.graphs)
    if isinstance(pattern, TriplePattern):
        predicate = resolve(pattern.predicate, row)[0]
        predicates: tuple[Term, ...] = () if predicate is None else (predicate,)
    else:
        predicates, backwards = _first_steps(pattern.path)
        if backwards:
            subject, end = end, subject
        elif not _is_single(pattern.path):
            end = None
        if not predicates:
            return Failure(wording)
    return Failure(wording, instead_of(subject, predicates, end, triples, found.words))


def _first_steps(path: PathExpression) -> tuple[tuple[Term, ...], bool]:
    """The predicates that a path may begin with, and whether it goes against them; none where that is not one way."""
    if isinstance(path, NamedNode):
        return (path,), False
    if isinstance(path, Inverse):
        predicates, backwards = _first_steps(path.path)
        return (predicates, not backwards) if _is_single(path.path) else ((), False)
    if isinstance(path, PathSequence):
        return _first_steps(path.steps[0])
    if isinstance(path, Repeat):
        return _first_steps(path.path)
    if isinstance(path, Alternative):
        steps = [_first_steps(choice) for choice in path.choices]
        if any(backwards or not predicates for predicates, backwards in steps):
            return (), False
        return tuple(dict.fromkeys(name for predicates, _ in steps for name in predicates)), False
    return (), False


def _is_single(path: PathExpression) -> bool:
    return isinstance(path, NamedNode) or (isinstance(path, Inverse) and isinstance(path.path, NamedNode))


def _triples(graphs: PublishedGraphs) -> Sequence[Triple]:
    return [triple for graph in (graphs.default, *graphs.named.values()) for triple in graph.triples]
