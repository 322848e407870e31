"""Queries that the index decides: one basic graph pattern whose filters are comparisons of a variable with a constant.

`SELECT` (plain, `DISTINCT`, `REDUCED`), `ASK`, and `CONSTRUCT` when every solution makes a triple. Paths of single
steps, `^` and `/` are patterns with variables of their own, which keeps SPARQL's multiplicities (18.4: a sequence is a
join).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.compile.conditions import NamedClause, read_conditions
from triplecast.compile.marks import is_mark, path_mark
from triplecast.compile.necessary import Conjunction, FreshNames, find_words
from triplecast.compile.plan import PATTERNS_LIMIT
from triplecast.model.algebra import (
    BasicPattern,
    Distinct,
    Filter,
    Inverse,
    Join,
    Node,
    PathExpression,
    Pattern,
    Project,
    Query,
    Reduced,
    Sequence,
    Slot,
    TriplePattern,
    Variable,
)


class Decided(NamedTuple):
    """The query's solutions are the conjunction's, restricted to `variables` (sorted by name), deduplicated if
    `distinct`."""

    conjunction: Conjunction
    variables: tuple[Variable, ...]
    distinct: bool
    ask: bool


class Undecidable(Exception):
    """Why the evaluator has to decide, in the words of the language."""


def decide_query(query: Query, constants: tuple[str, ...], entailed: bool = False) -> Decided:
    """`entailed`: publications are read with a taxonomy. Raises `Undecidable`."""
    pattern, distinct = query.pattern, False
    if isinstance(pattern, Distinct | Reduced):
        distinct = isinstance(pattern, Distinct)
        pattern = pattern.pattern
    if isinstance(pattern, Project):
        pattern = pattern.pattern
    conjunction = _flatten(pattern, constants, FreshNames(entailed))
    bound = set(conjunction.variables())
    for clause in conjunction.clauses:
        for atom in clause:
            if atom.variable not in bound:
                raise Undecidable(f"FILTER on ?{atom.variable.name}, which no triple pattern binds")
    _check_marks(conjunction)
    if len(conjunction.patterns) + len(conjunction.words) > PATTERNS_LIMIT:
        raise Undecidable(f"more than {PATTERNS_LIMIT} triple patterns and words")
    if query.form == "construct" and not any(_always_made(triple, conjunction) for triple in query.template):
        raise Undecidable("CONSTRUCT whose triples may be left out")
    shown = {variable for variable in query.variables if variable in bound}
    return Decided(conjunction, tuple(sorted(shown, key=lambda variable: variable.name)), distinct, query.form == "ask")


def _flatten(pattern: Pattern, constants: tuple[str, ...], names: FreshNames) -> Conjunction:
    match pattern:
        case BasicPattern(triples):
            patterns: list[TriplePattern] = []
            for triple in triples:
                if isinstance(triple, TriplePattern):
                    patterns.append(triple)
                else:
                    patterns.extend(_flatten_path(triple.subject, triple.path, triple.object, names))
            return Conjunction(tuple(dict.fromkeys(patterns)))
        case Join(left, right):
            return _joined(_flatten(left, constants, names), _flatten(right, constants, names))
        case Filter(condition, inner):
            conjunction = _flatten(inner, constants, names)
            found = read_conditions(condition, constants)
            if not found.whole or found.exists:
                raise Undecidable("FILTER with more than comparisons of a variable with constants, and words of it")
            bound = set(conjunction.variables())
            if not bound.issuperset(text.variable for text in found.texts):
                raise Undecidable("full text of a variable that no triple pattern of its group binds")
            words = tuple(
                word for text in found.texts for word in find_words(text, 0, text.needed(constants).alternatives)
            )
            asked = {*found.bound, *_variables(found.clauses), *(mark.subject for mark in found.marks)}
            if not bound.issuperset(asked):
                raise Undecidable("FILTER on a variable that no triple pattern of its group binds")
            return Conjunction(
                tuple(dict.fromkeys((*conjunction.patterns, *found.marks))),
                conjunction.clauses + found.clauses,
                tuple(dict.fromkeys(conjunction.words + words)),
            )
    raise Undecidable(_name(pattern))


def _joined(left: Conjunction, right: Conjunction) -> Conjunction:
    return Conjunction(
        tuple(dict.fromkeys((*left.patterns, *right.patterns))),
        left.clauses + right.clauses,
        tuple(dict.fromkeys(left.words + right.words)),
    )


def _variables(clauses: Iterable[NamedClause]) -> set[Variable]:
    return {atom.variable for clause in clauses for atom in clause}


def _check_marks(conjunction: Conjunction) -> None:
    """A path along the taxonomy may have no step at all, so its start has to be a node of the graph by another pattern;
    and a mark is no triple that a variable predicate may meet."""
    marks = [pattern for pattern in conjunction.patterns if is_mark(pattern)]
    if not marks:
        return
    others = [pattern for pattern in conjunction.patterns if not is_mark(pattern)]
    nodes = {node for pattern in others for node in (pattern.subject, pattern.object)}
    if any(mark.subject not in nodes for mark in marks):
        raise Undecidable("a path or function of the taxonomy whose variable stands in no other pattern as a node")
    if any(isinstance(pattern.predicate, Variable) for pattern in others):
        raise Undecidable("a variable predicate beside a path or function of the taxonomy")


def _flatten_path(start: Node, path: PathExpression, end: Node, names: FreshNames) -> list[TriplePattern]:
    mark = path_mark(start, path, end) if names.entailed else None
    if mark is not None:
        return [mark]
    match path:
        case NamedNode() | Slot():
            return [TriplePattern(start, path, end)]
        case Inverse(inner):
            return _flatten_path(end, inner, start, names)
        case Sequence(steps):
            stops = [start, *(names.make() for _ in steps[1:]), end]
            return [
                triple for i, step in enumerate(steps) for triple in _flatten_path(stops[i], step, stops[i + 1], names)
            ]
    raise Undecidable("a property path beyond single steps, ^ and /")


def _always_made(triple: TriplePattern, conjunction: Conjunction) -> bool:
    """Whether every solution makes this triple of a CONSTRUCT template: no place can be unbound or of a wrong kind."""
    subjects = {pattern.subject for pattern in conjunction.patterns if not is_mark(pattern)}
    predicates = {pattern.predicate for pattern in conjunction.patterns}
    bound = set(conjunction.variables())
    subject, predicate, end = triple.subject, triple.predicate, triple.object
    return (
        (not isinstance(subject, Variable | Literal) or subject in subjects or _is_new_blank(subject, bound))
        and (not isinstance(predicate, Variable | Literal) or predicate in predicates)
        and (not isinstance(end, Variable) or end in bound or end.hidden)
    )


def _is_new_blank(node: Node, bound: set[Variable]) -> bool:
    return isinstance(node, Variable) and node.hidden and node not in bound


_NAMES = {
    "LeftJoin": "OPTIONAL",
    "Union": "UNION",
    "Graph": "GRAPH",
    "Extend": "BIND or an expression in SELECT",
    "Minus": "MINUS",
    "Values": "VALUES",
    "Group": "GROUP BY or an aggregate",
    "OrderBy": "ORDER BY",
    "Slice": "LIMIT or OFFSET",
    "Project": "a sub-select",
    "Distinct": "a sub-select",
    "Reduced": "a sub-select",
}


def _name(pattern: Pattern) -> str:
    return _NAMES[type(pattern).__name__]
