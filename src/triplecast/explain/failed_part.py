"""The part of a query at which a pair fails to match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.basic import resolve
from triplecast.evaluate.conjuncts import conjuncts
from triplecast.evaluate.graphs import PublishedGraphs, Triple
from triplecast.evaluate.scope import children
from triplecast.explain.evidence import Evidence, alternatives
from triplecast.explain.operator_answers import describe_operators
from triplecast.explain.trace import SHOWN, TRUE
from triplecast.explain.wording import Wording
from triplecast.languages.refusals import HOW_TO_DECLARE, warn_undeclared
from triplecast.languages.vocabularies import KNOWN
from triplecast.model import algebra
from triplecast.model.algebra import PathExpression, PathPattern, Pattern, Term, TriplePattern, Variable
from triplecast.terms.nearness import likeness_of, nearest_names, split_name

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


LOOKED_AT = 20_000
"""The first triples of a publication, among which near misses are looked for."""
COMPARED = 2_000
"""How many triples with the predicate looked for are compared with the object looked for."""
PREDICATES_SHOWN = 12


def find_near_misses(
    subject: Term | None, predicates: Sequence[Term], object_: Term | None, triples: Iterable[Triple], words: Wording
) -> tuple[str, ...]:
    """Describe the triples nearest to one with these terms, the nearest first; None is any term, as is an empty
    `predicates`, and several predicates are alternatives.

    They are other values of the same predicate, else similar predicates, else the predicates of the subject or of the
    publication.
    """
    distinct = list(dict.fromkeys(triples))[:LOOKED_AT]
    if not distinct:
        return ("the publication is empty",)
    about = [triple for triple in distinct if triple[0] == subject] if subject is not None else distinct
    if subject is not None and not about:
        return _unknown_subject(subject, distinct, words)
    if not predicates:
        return tuple(words.stated(triple) for triple in _by_object(object_, about)[:SHOWN])
    stated = [triple for triple in about if triple[1] in predicates]
    if stated:
        return tuple(words.stated(triple) for triple in _by_object(object_, stated)[:SHOWN])
    return _other_predicates(subject, predicates, distinct, about, words)


def _other_predicates(
    subject: Term | None,
    predicates: Sequence[Term],
    distinct: Sequence[Triple],
    about: Sequence[Triple],
    words: Wording,
) -> tuple[str, ...]:
    elsewhere = [triple for triple in distinct if triple[1] in predicates]
    if elsewhere:
        whose = "on another subject" if subject is not None else "elsewhere"
        lines = [f"{words.stated(triple)} ({whose})" for triple in elsewhere[: SHOWN - 1]]
    else:
        lines = [_absent(predicate, distinct, words) for predicate in predicates[:SHOWN]]
    near = [
        triple
        for predicate in predicates
        for name in nearest_names(predicate.value, _predicates(about), SHOWN)
        for triple in about
        if triple[1].value == name
    ]
    if near:
        return (*lines, *(words.stated(triple) for triple in near[:SHOWN]))
    names = _predicates(about)
    listed = ", ".join(words.node(NamedNode(name)) for name in names[:PREDICATES_SHOWN])
    more = f" and {len(names) - PREDICATES_SHOWN} more" if len(names) > PREDICATES_SHOWN else ""
    whose = words.node(subject) if subject is not None else "the publication"
    return (*lines, f"predicates of {whose}: {listed}{more}")


def _absent(predicate: Term, distinct: Sequence[Triple], words: Wording) -> str:
    """Describe a predicate that no triple has, which may be an undeclared operator."""
    line = f"no triple has the predicate {words.node(predicate)}"
    namespace, _ = split_name(predicate.value)
    strange = namespace not in KNOWN.values() and all(
        split_name(each)[0] != namespace for each in _predicates(distinct)
    )
    if strange or warn_undeclared(predicate.value, words.operators) is not None:
        return f"{line}; if it is an operator, {HOW_TO_DECLARE}"
    return line


def _unknown_subject(subject: Term, distinct: Sequence[Triple], words: Wording) -> tuple[str, ...]:
    subjects = list(dict.fromkeys(triple[0] for triple in distinct))
    near = nearest_names(subject.value, [node.value for node in subjects if isinstance(node, NamedNode)], SHOWN)
    shown = [NamedNode(name) for name in near] or subjects[:SHOWN]
    more = f" and {len(subjects) - len(shown)} more" if len(subjects) > len(shown) else ""
    listed = ", ".join(words.node(node) for node in shown)
    return (f"no triple has the subject {words.node(subject)}", f"subjects of the publication: {listed}{more}")


def _predicates(triples: Iterable[Triple]) -> list[str]:
    return list(dict.fromkeys(triple[1].value for triple in triples))


def _by_object(wanted: Term | None, triples: Sequence[Triple]) -> Sequence[Triple]:
    """Nearest value first: the same text in another form, then like texts; ties by the triple's text."""
    if wanted is None:
        return triples
    text = wanted.value

    def distance(triple: Triple) -> tuple[float, tuple[str, ...]]:
        found = triple[2]
        likeness = likeness_of(text, found.value)
        if isinstance(found, Literal) is not isinstance(wanted, Literal):
            likeness /= 2
        return -likeness, tuple(map(str, triple))

    return sorted(triples[:COMPARED], key=distance)
