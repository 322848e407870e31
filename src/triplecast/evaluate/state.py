"""The state of one evaluation: its data, its budget and its caches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from pyoxigraph import BlankNode

from triplecast.evaluate.budget import Budget
from triplecast.evaluate.conjuncts import Conjuncts, Split, split
from triplecast.evaluate.graphs import ActiveGraph, PublishedGraphs
from triplecast.evaluate.rows import IDENTITY, Numbering, Row, hidden
from triplecast.evaluate.scope import certain_names
from triplecast.evaluate.unknown import Answers, Unknown
from triplecast.model.algebra import Expression, Filter, PathPattern, Pattern, Query, TriplePattern
from triplecast.model.publication import Publication


class Place(NamedTuple):
    """Where a pattern is evaluated."""

    graph: ActiveGraph
    """The active graph."""
    replaced: Row
    """The bindings that EXISTS substitutes for variables of the pattern. Empty outside EXISTS."""
    unknown: list[Unknown]
    """Notes on the omitted rows and the operator results they need (`evaluate.unknown`)."""

    def aside(self) -> Place:
        """The same with notes of its own, for what does not give a row for each of its rows."""
        return self._replace(unknown=[])


class Level(NamedTuple):
    """A triple or path of a basic pattern in its join order."""

    pattern: TriplePattern | PathPattern
    conditions: Conjuncts
    """What rows must fulfil as soon as it is joined."""


class Recorder(Protocol):
    """Notified of the rows that survive, for explanations. Evaluation does the same work with and without it."""

    def tried(self, item: object, row: Row) -> None:
        """`row` came to a pattern or to a conjunct of a condition."""

    def kept(self, item: object, row: Row) -> None:
        """`row` came out of it."""

    def judged(self, condition: Expression, row: Row, outcome: str) -> None:
        """A conjunct gave ``true``, ``false`` or the text of a type error for `row`."""


Solver = Callable[["Evaluation", Pattern, Place, Row], Iterator[Row]]


@dataclass
class Evaluation:
    """One query over one publication."""

    query: Query
    publication: Publication
    graphs: PublishedGraphs
    budget: Budget
    solve: Solver
    """`patterns.solve`: expressions need it for EXISTS, patterns need expressions."""
    recorder: Recorder | None = None
    answers: Answers = field(default_factory=dict)
    """Of operators, of this publication."""
    orders: dict[tuple[int, frozenset[str], tuple[int, ...]], tuple[Level, ...]] = field(default_factory=dict)
    """Join orders by (identity of the basic pattern, names bound before it, identities of the conditions on it)."""
    numbering: Numbering = field(init=False)
    _certain: dict[int, frozenset[str]] = field(default_factory=dict)
    _splits: dict[int, Split] = field(default_factory=dict)
    _met: dict[str, int] = field(default_factory=dict)
    """Solutions with a label of their own, by digest."""
    _sites: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbering = Numbering(self.budget)
        if self.graphs.long:
            self.budget.long.update(self.graphs.long)

    def certain(self, pattern: Pattern) -> frozenset[str]:
        """`certain_names` of a part of the query."""
        found = self._certain.get(id(pattern))
        if found is None:
            found = self._certain[id(pattern)] = certain_names(pattern)
        return found

    def conjuncts(self, pattern: Filter) -> Split:
        """The `split` of a filter of the query."""
        found = self._splits.get(id(pattern))
        if found is None:
            found = self._splits[id(pattern)] = split(pattern.condition)
        return found

    def fresh_node(self, site: object, row: Row, label: str | None) -> BlankNode:
        """``BNODE()`` (label None: new at each call) or ``BNODE(label)`` (one node for a label in a solution).

        The name is a function of publication version, query and solution (semantics 1.4); among equal solutions their
        number counts.
        """
        identity = row.get(IDENTITY)
        if not isinstance(identity, BlankNode):
            identity = row[IDENTITY] = self._identify(row)
        call = f"call {self._sites.setdefault(id(site), len(self._sites))}" if label is None else f"label {label}"
        return BlankNode("q" + _digest(f"{identity.value}\n{call}"))

    def _identify(self, row: Row) -> BlankNode:
        names = sorted(name for name in row if not hidden(name))
        self.budget.spend_row(names)
        self.budget.spend_terms([row[name] for name in names])
        text = "\n".join(f"{name} {row[name]}" for name in names)
        digest = _digest(text)
        self._met[digest] = number = self._met.get(digest, 0) + 1
        origin = f"{self.publication.graph}\n{self.publication.version}\n{self._query_digest}"
        return BlankNode("s" + _digest(f"{origin}\n{number}\n{text}"))

    @cached_property
    def _query_digest(self) -> str:
        return _digest(repr(self.query))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
