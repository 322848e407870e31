"""The part of a query at which a pair fails to match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.conjuncts import conjuncts
from triplecast.evaluate.graphs import PublishedGraphs, Triple
from triplecast.evaluate.scope import children
from triplecast.explain.evidence import Evidence, alternatives
from triplecast.explain.near_misses import find_near_misses
from triplecast.explain.operator_answers import describe_operators
from triplecast.explain.trace import TRUE
from triplecast.model import algebra
from triplecast.model.algebra import PathExpression, PathPattern, Pattern, Term, TriplePattern, Variable

ALTERNATIVES_SHOWN = 6


class FailedPart(NamedTuple):
    """The part of a query that fails, in words."""

    part: str
    instead: tuple[str, ...] = ()
    """Lines on what the publication had there."""


def find_failed_part(pattern: Pattern, evidence: Evidence) -> FailedPart:
    """Find the first part of a pattern without solutions that rows come to and none leaves."""
    trace, words = evidence.trace, evidence.words
    if isinstance(pattern, algebra.Union):
        return _of_union(pattern, evidence)
    if isinstance(pattern, algebra.Filter):
        for condition in conjuncts(pattern.condition):
            if trace.starved(condition):
                lines = evidence.describe_judgements(condition, trace.of(condition))
                return FailedPart(words.filter(condition), tuple(lines))
    for part in children(pattern)[:1] if isinstance(pattern, algebra.LeftJoin | algebra.Minus) else children(pattern):
        if trace.starved(part):
            return find_failed_part(part, evidence)
    if isinstance(pattern, algebra.BasicPattern):
        for triple in pattern.triples:
            if trace.starved(triple):
                return _of_triple(triple, evidence)
    if isinstance(pattern, algebra.Filter):
        lines = []
        for condition in conjuncts(pattern.condition):
            untrue = [judgement for judgement in trace.of(condition) if judgement.outcome != TRUE]
            lines += evidence.describe_judgements(condition, untrue)
        return FailedPart(words.filter(pattern.condition), tuple(lines))
    if isinstance(pattern, algebra.Produce):
        rows = trace.first_out.get(id(pattern.pattern), [])
        shown = (line for row in rows for line in describe_operators(pattern, row, evidence.answers, words))
        return FailedPart(words.produced(pattern), tuple(dict.fromkeys(shown)))
    if isinstance(pattern, algebra.Minus):
        return FailedPart(f"MINUS {{ {words.pattern(pattern.right)} }}: it removes every solution")
    if isinstance(pattern, algebra.Join):
        both = f"{{ {words.pattern(pattern.left)} }} and {{ {words.pattern(pattern.right)} }}"
        return FailedPart(f"the join of {both}: each has solutions, but no two that agree")
    if isinstance(pattern, algebra.Graph):
        names = tuple(f"graph {words.node(name)}" for name in evidence.graphs.named)
        return FailedPart(f"GRAPH {words.node(pattern.name)}: no graph of the publication fits", names)
    if isinstance(pattern, algebra.Slice):
        return FailedPart(f"OFFSET {pattern.offset}: there are no more solutions than that")
    return FailedPart(words.pattern(pattern) or "the pattern")


def _of_union(pattern: algebra.Union, evidence: Evidence) -> FailedPart:
    """List each alternative with the part at which it fails."""
    lines: list[str] = []
    branches = list(alternatives(pattern))
    for number, branch in enumerate(branches[:ALTERNATIVES_SHOWN], 1):
        failed = find_failed_part(branch, evidence)
        lines.append(f"alternative {number} fails at {failed.part}")
        lines += [f"  {line}" for line in failed.instead]
    if len(branches) > ALTERNATIVES_SHOWN:
        lines.append(f"and {len(branches) - ALTERNATIVES_SHOWN} alternatives more")
    return FailedPart(f"UNION: none of its {len(branches)} alternatives has a solution", tuple(lines))


def _of_triple(pattern: TriplePattern | PathPattern, evidence: Evidence) -> FailedPart:
    row = evidence.trace.first_in[id(pattern)][0]
    bound = [
        f"{evidence.words.node(node)} = {evidence.words.node(row[node.name])}"
        for node in (pattern.subject, pattern.object)
        if isinstance(node, Variable) and node.name in row
    ]
    wording = evidence.words.triple(pattern) + (f" (with {', '.join(bound)})" if bound else "")
    subject, end = resolve(pattern.subject, row)[0], resolve(pattern.object, row)[0]
    triples = _triples(evidence.graphs)
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
            return FailedPart(wording)
    return FailedPart(wording, find_near_misses(subject, predicates, end, triples, evidence.words))


def _first_steps(path: PathExpression) -> tuple[tuple[Term, ...], bool]:
    """The predicates that a path may begin with and whether it follows them backwards; none where both ways occur."""
    if isinstance(path, NamedNode):
        return (path,), False
    if isinstance(path, algebra.Inverse):
        predicates, backwards = _first_steps(path.path)
        return (predicates, not backwards) if _is_single(path.path) else ((), False)
    if isinstance(path, algebra.Sequence):
        return _first_steps(path.steps[0])
    if isinstance(path, algebra.Repeat):
        return _first_steps(path.path)
    if isinstance(path, algebra.Alternative):
        steps = [_first_steps(choice) for choice in path.choices]
        if any(backwards or not predicates for predicates, backwards in steps):
            return (), False
        return tuple(dict.fromkeys(name for predicates, _ in steps for name in predicates)), False
    return (), False


def _is_single(path: PathExpression) -> bool:
    return isinstance(path, NamedNode) or (isinstance(path, algebra.Inverse) and isinstance(path.path, NamedNode))


def _triples(graphs: PublishedGraphs) -> Sequence[Triple]:
    return [triple for graph in (graphs.default, *graphs.named.values()) for triple in graph.triples]
