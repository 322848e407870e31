"""Property paths (SPARQL 1.1, sections 9 and 18.4).

Sequences and alternatives keep duplicates; ``*``, ``+`` and ``?`` give none. A path of length zero joins a *written*
term (a constant of the query, or a variable that EXISTS replaced) to itself even where the graph lacks it; everything
else ranges over the graph's nodes (semantics 4.2), the inner nodes of a sequence too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.budget import ENTRIES_A_STEP, Budget
from triplecast.evaluate.graphs import ActiveGraph
from triplecast.model.algebra import Alternative, Inverse, NegatedSet, PathExpression, Repeat, Sequence, Slot, Term


class End(NamedTuple):
    """One end of a path: a term, or None for any."""

    term: Term | None
    written: bool


ANY = End(None, False)


def connect(
    graph: ActiveGraph, path: PathExpression, start: End, end: End, budget: Budget
) -> Iterator[tuple[Term, Term]]:
    """(start, end) of every way along `path`, with multiplicity."""
    if isinstance(path, NamedNode):
        budget.spend_noted(start.term, path, end.term)
        for subject, predicate, object_ in graph.candidates(start.term, path, end.term):
            budget.spend()
            if (
                predicate == path
                and (start.term is None or subject == start.term)
                and (end.term is None or object_ == end.term)
            ):
                yield subject, object_
    elif isinstance(path, Inverse):
        for last, first in connect(graph, path.path, end, start, budget):
            yield first, last
    elif isinstance(path, Alternative):
        for choice in path.choices:
            yield from connect(graph, choice, start, end, budget)
    elif isinstance(path, Sequence):
        yield from _follow(graph, path.steps, start, end, budget)
    elif isinstance(path, NegatedSet):
        yield from _avoid(graph, path, start, end, budget)
    elif isinstance(path, Repeat):
        yield from _repeat(graph, path, start, end, budget)
    else:
        raise unfilled(path)


def unfilled(slot: Slot) -> TypeError:
    """The error for a template that was not filled before evaluation."""
    return TypeError(f"the template's slot {slot.index} has no constant")


def _follow(
    graph: ActiveGraph, steps: tuple[PathExpression, ...], start: End, end: End, budget: Budget
) -> Iterator[tuple[Term, Term]]:
    """A sequence, walked from its bound end, one step for all ways at a time."""
    if start.term is None and end.term is not None:
        for last, first in _follow(graph, tuple(Inverse(step) for step in reversed(steps)), end, start, budget):
            yield first, last
        return
    ways: Iterable[tuple[Term, Term]] = connect(graph, steps[0], start, end if len(steps) == 1 else ANY, budget)
    for index, step in enumerate(steps[1:], start=2):
        ways = _lengthen(graph, ways, step, end if index == len(steps) else ANY, budget)
    yield from ways


def _lengthen(
    graph: ActiveGraph, ways: Iterable[tuple[Term, Term]], step: PathExpression, end: End, budget: Budget
) -> list[tuple[Term, Term]]:
    known: dict[Term, list[Term]] = {}
    longer: list[tuple[Term, Term]] = []
    for first, inner in ways:
        if inner not in known:
            known[inner] = [last for _, last in connect(graph, step, End(inner, False), end, budget)]
        budget.spend(1 + len(known[inner]))
        longer.extend((first, last) for last in known[inner])
    return longer


def _avoid(graph: ActiveGraph, path: NegatedSet, start: End, end: End, budget: Budget) -> Iterator[tuple[Term, Term]]:
    names = 1 + (len(path.forward) + len(path.inverse)) // ENTRIES_A_STEP
    if path.forward or not path.inverse:
        for subject, predicate, object_ in _fitting(graph, start.term, end.term, budget):
            budget.spend(names)
            budget.spend_noted(predicate)
            if predicate not in path.forward:
                yield subject, object_
    if path.inverse:
        for subject, predicate, object_ in _fitting(graph, end.term, start.term, budget):
            budget.spend(names)
            budget.spend_noted(predicate)
            if predicate not in path.inverse:
                yield object_, subject


def _fitting(
    graph: ActiveGraph, subject: Term | None, object_: Term | None, budget: Budget
) -> Iterator[tuple[Term, Term, Term]]:
    budget.spend_noted(subject, object_)
    for triple in graph.candidates(subject, None, object_):
        budget.spend()
        if (subject is None or triple[0] == subject) and (object_ is None or triple[2] == object_):
            yield triple


def _repeat(graph: ActiveGraph, path: Repeat, start: End, end: End, budget: Budget) -> Iterator[tuple[Term, Term]]:
    if start.term is None and end.term is not None:
        turned = Repeat(Inverse(path.path), path.at_least, path.many)
        for last, first in _repeat(graph, turned, end, start, budget):
            yield first, last
        return
    firsts: Iterable[Term] = graph.nodes if start.term is None else (start.term,)
    for first in firsts:
        budget.spend()
        for last in _reach(graph, path, first, start.written or end.written, budget):
            if end.term is None or last == end.term:
                yield first, last


def _reach(graph: ActiveGraph, path: Repeat, first: Term, written: bool, budget: Budget) -> Iterator[Term]:
    """Distinct nodes at the end of `path` from `first` (ALP in SPARQL 18.4)."""

    def steps_from(node: Term) -> Iterator[Term]:
        return (last for _, last in connect(graph, path.path, End(node, written and node == first), ANY, budget))

    met: dict[Term, None] = {}
    if path.at_least == 0 and (written or first in graph.nodes):
        met[first] = None
        yield first
    yield from _spread(steps_from, first, met, path.many)


def _spread(
    steps_from: Callable[[Term], Iterator[Term]], first: Term, met: dict[Term, None], many: bool
) -> Iterator[Term]:
    waiting = [first]
    while waiting:
        for last in steps_from(waiting.pop()):
            if last not in met:
                met[last] = None
                if many:
                    waiting.append(last)
                yield last
