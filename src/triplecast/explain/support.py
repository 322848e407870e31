"""The triples, conditions and operator results that a match rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyoxigraph import NamedNode

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.conjuncts import conjuncts
from triplecast.evaluate.graphs import ActiveGraph, Triple
from triplecast.evaluate.rows import Row
from triplecast.evaluate.scope import children
from triplecast.explain.evidence import Evidence, alternatives
from triplecast.explain.operator_answers import describe_operators
from triplecast.explain.wording import Wording
from triplecast.model import algebra
from triplecast.model.algebra import Call, Expression, PathPattern, Pattern, Term, TriplePattern, Variable
from triplecast.model.entailment import FUNCTION_MARKS, Mark
from triplecast.taxonomy import Classes

STEPS_SHOWN = 20
"""Steps shown of a way up the taxonomy."""
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


def find_support(pattern: Pattern, evidence: Evidence, first: Row) -> list[str]:
    """List the triples and conditions behind the row of `pattern` that gave the solution `first`.

    Where the trace did not keep that row, another row is explained. Of a UNION, only the alternative that gave the row
    is listed.
    """
    rows = evidence.trace.first_out.get(id(pattern), [])
    row = next((row for row in rows if first.items() <= row.items()), rows[0] if rows else {})
    chosen: list[str] = []
    triples: list[str] = []
    conditions: list[str] = []
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, algebra.Union):
            choices = list(alternatives(part))
            number = next((n for n, choice in enumerate(choices) if _gave(choice, row, evidence)), None)
            if number is not None:
                chosen.append(f"alternative {number + 1} of {len(choices)} of UNION")
                waiting.append(choices[number])
                continue
        if isinstance(part, algebra.BasicPattern):
            for triple in part.triples:
                triples.extend(_supporting(triple, row, evidence))
        elif isinstance(part, algebra.Filter | algebra.LeftJoin) and part.condition is not None:
            judged = (part.condition,) if isinstance(part, algebra.LeftJoin) else conjuncts(part.condition)
            for condition in judged:
                conditions.extend(evidence.describe_judgements(condition, evidence.first_true(condition, row)))
                conditions.extend(_function_steps(condition, row, evidence))
        elif isinstance(part, algebra.Produce | algebra.Extend):
            calling = part.expression if isinstance(part, algebra.Extend) else part
            conditions.extend(describe_operators(calling, row, evidence.answers, evidence.words))
        waiting.extend(reversed((part.left,) if isinstance(part, algebra.Minus) else children(part)))
    return list(dict.fromkeys((*chosen, *triples, *conditions)))


def _gave(choice: Pattern, row: Row, evidence: Evidence) -> bool:
    """Whether an alternative was recorded to give the row, or the alternative's own part of it."""
    return any(own.items() <= row.items() for own in evidence.trace.first_out.get(id(choice), ()))


def _supporting(pattern: TriplePattern | PathPattern, row: Row, evidence: Evidence) -> Iterator[str]:
    words = evidence.words
    own = evidence.trace.first_out.get(id(pattern), ())
    known = {**(own[0] if own else {}), **row}
    subject, end = (resolve(node, known)[0] for node in (pattern.subject, pattern.object))
    if isinstance(pattern, PathPattern):
        if own:
            start, goal = words.node(subject or pattern.subject), words.node(end or pattern.object)
            yield f"{start} reaches {goal} along {words.path(pattern.path)}"
        return
    terms = (subject, resolve(pattern.predicate, known)[0], end)
    graphs = (evidence.graphs.default, *evidence.graphs.named.values())
    if any(terms in graph.triples and terms not in graph.entailed for graph in graphs):
        yield words.stated(terms)  # type: ignore[arg-type]
    elif any(terms in graph.triples for graph in graphs):
        yield from _entailed(terms, graphs, words)  # type: ignore[arg-type]


def _entailed(triple: Triple, graphs: Sequence[ActiveGraph], words: Wording) -> Iterator[str]:
    """An entailed triple; for a type, also the steps from a published one."""
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
        if len(way) > 1:
            own = "is a class" if start == node else f"a {words.node(start)}"
            shown = [f", which is under {words.node(each)}" for each in (*way[1:STEPS_SHOWN], *way[STEPS_SHOWN:][-1:])]
            if len(way) > STEPS_SHOWN + 1:
                shown[-1] = f", which is {len(way) - STEPS_SHOWN:,} steps under {words.node(way[-1])}"
            yield f"{words.node(node)} {own}{''.join(shown)}"
        if way:
            return


def _function_steps(condition: Expression, row: Row, evidence: Evidence) -> Iterator[str]:
    """The steps that make a taxonomy function true."""
    match condition:
        case Call(function, (Variable(name), NamedNode() as other)) if function in FUNCTION_MARKS and name in row:
            classes = evidence.graphs.default.classes
            if classes is not None and FUNCTION_MARKS[function] is Mark.DESCENDANT:
                yield from _steps(row[name], other, classes, evidence.words)
