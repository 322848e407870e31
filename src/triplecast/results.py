"""Recorded answers, read: as terms, in the order of SELECT, and as SPARQL 1.1 Query Results JSON (W3C, 2013).

What matching records is a list of objects from variable to the N-Triples form of its term, by name
(`MatchedBatch.bindings`); the names in the order of SELECT, and the form, are in the query. Which of the rows were
added and which removed is in the change (`model.match.ChangeKind.word`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from pyoxigraph import BlankNode, NamedNode, Triple

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_query, parse_template
from triplecast.model.algebra import Term, from_ntriples
from triplecast.model.html import table_html
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Subscription

_STRING = "http://www.w3.org/2001/XMLSchema#string"
_ADDED, _REMOVED, _STAYED = "+", "-", "~"
_UNSIGNED = ("added", "present")
"""Changes whose rows are shown without a sign."""


class Head(NamedTuple):
    """What an answer's reader needs of the query."""

    form: str
    """``select``, ``ask`` or ``construct``."""
    variables: tuple[str, ...]
    """Those of SELECT in its order, those of WHERE for CONSTRUCT, none for ASK."""


def read_head(definition: Subscription, operators: OperatorSet) -> Head:
    """Raises `QuerySyntaxError` and `QueryRefused`, the latter for an operator that is not in `operators` too."""
    query = parse_template(definition.text, definition.language, definition.name, operators)[0].query
    return Head(query.form, tuple(variable.name for variable in query.variables))


def known_head(definition: Subscription | None, operators: OperatorSet) -> Head | None:
    """The query's head; None where there is no query that can be read here."""
    if definition is not None:
        try:
            return read_head(definition, operators)
        except (QuerySyntaxError, QueryRefused):
            pass
    return None


_kept_head = lru_cache(16_384)(known_head)


def head_of(definition: Subscription | None, operators: OperatorSet, solutions: Iterable[Mapping[str, object]]) -> Head:
    """The query's head; where there is no query that can be read here, the names that its `solutions` have, sorted."""
    return _kept_head(definition, operators) or seen_head(solutions)


def seen_head(solutions: Iterable[Mapping[str, object]]) -> Head:
    return Head("select", tuple(sorted({name for solution in solutions for name in solution})))


class RecordedRows(NamedTuple):
    """Recorded solutions, each list in canonical order: from variable to the N-Triples form of its term."""

    added: list[dict[str, str]]
    removed: list[dict[str, str]]
    updated: Sequence[tuple[dict[str, str], dict[str, str]]] = ()
    """Before and after."""
    changed: Sequence[dict[str, str]] = ()
    """Of a rule, those that stay and whose resource changed."""

    @classmethod
    def read(cls, recorded: str, change: str) -> RecordedRows:
        """Read what is recorded of a match: the rows that were ``added`` or ``removed``, for ``changed`` both, and
        those that were updated or whose resource changed; for ``present`` those that there are."""
        found = json.loads(recorded)
        if change == "changed":
            pairs = [(before, after) for before, after in found.get("updated", ())]
            return cls(found["added"], found["removed"], pairs, found.get("changed", ()))
        return cls([], found) if change == "removed" else cls(found, [])

    def shown(self, show: Callable[[str], str]) -> RecordedRows:
        """The same rows, with each term as `show` has it."""

        def row(solution: Mapping[str, str]) -> dict[str, str]:
            return {name: show(term) for name, term in solution.items()}

        updated = [(row(before), row(after)) for before, after in self.updated]
        return RecordedRows([*map(row, self.added)], [*map(row, self.removed)], updated, [*map(row, self.changed)])

    def answers(self, head: Head | None) -> dict[str, object]:
        """``answer``, of the rows added, and where rows were removed ``removed``, of these, likewise ``changed``, as
        `results_json` has them, and where some were updated ``updated``, pairs ``before`` and ``after``; without a head
        the names are those that the rows have."""
        head = head or seen_head(self.every)
        parts = {"removed": self.removed, "changed": self.changed}
        row: dict[str, object] = {"answer": results_json(head, self.added)}
        row |= {name: results_json(head, rows) for name, rows in parts.items() if rows}
        if self.updated:
            names = ("before", "after")
            pairs = ([binding_json(head, each) for each in pair] for pair in self.updated)
            row["updated"] = [dict(zip(names, pair, strict=True)) for pair in pairs]
        return row

    @property
    def signed(self) -> tuple[tuple[str, Sequence[dict[str, str]]], ...]:
        return (_ADDED, self.added), (_REMOVED, self.removed), (_STAYED, self.changed)

    @property
    def every(self) -> list[dict[str, str]]:
        return [*self.added, *self.removed, *chain.from_iterable(self.updated), *self.changed]


def read_terms(solutions: Iterable[Mapping[str, str]]) -> list[dict[str, Term]]:
    """The solutions as terms; an unbound variable is absent."""
    return [{name: from_ntriples(term) for name, term in solution.items()} for solution in solutions]


def results_json(head: Head, solutions: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """The object that SPARQL 1.1 Query Results JSON has for an answer: of an ASK a boolean, of a CONSTRUCT the
    solutions of its WHERE."""
    if head.form == "ask":
        return {"head": {}, "boolean": bool(solutions)}
    bindings = [binding_json(head, solution) for solution in solutions]
    return {"head": {"vars": list(head.variables)}, "results": {"bindings": bindings}}


def binding_json(head: Head, solution: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {name: term_json(from_ntriples(solution[name])) for name in head.variables if name in solution}


def term_json(term: Term) -> dict[str, str]:
    """A term as SPARQL 1.1 Query Results JSON writes it; ``xsd:string`` is the datatype that is left out."""
    if isinstance(term, NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if term.language:
        return {"type": "literal", "value": term.value, "xml:lang": term.language}
    if term.datatype.value == _STRING:
        return {"type": "literal", "value": term.value}
    return {"type": "literal", "value": term.value, "datatype": term.datatype.value}


class Recorded(NamedTuple):
    """A recorded answer and its query."""

    definition: Subscription | None
    operators: OperatorSet
    """Those that the query may call."""
    json: str
    id: str
    """The notification's, which labels the blank nodes of a CONSTRUCT's template (semantics 1.4)."""
    change: str = "added"
    """Whether the rows were ``added``, ``removed``, or some of each: ``changed``."""

    @property
    def rows(self) -> RecordedRows:
        return RecordedRows.read(self.json, self.change)

    @property
    def answer(self) -> dict[str, object]:
        """The rows added in SPARQL 1.1 Query Results JSON."""
        rows = self.rows
        return results_json(self._head(rows), rows.added)

    @property
    def graph(self) -> list[Triple]:
        """The triples that the rows added give a CONSTRUCT, sorted by their text, each once; none for another form and
        without a query. Those of rows removed are not told: rows that stay may give the same."""
        from triplecast.evaluate.solutions import construct

        if self.definition is None:
            return []
        query = parse_query(self.definition.text, self.definition.language, self.definition.name, self.operators)
        return construct(query.template, read_terms(self.rows.added), self.id)

    def row(self) -> dict[str, object]:
        """What JSON says of it: ``answer``, where there are such ``removed`` and ``changed``, and for a CONSTRUCT
        ``graph``, its triples as N-Triples."""
        rows = self.rows
        head = self._head(rows)
        row = rows.answers(head)
        return row | {"graph": graph_text(self.graph)} if head.form == "construct" else row

    def html(self, subscription: str, publication: str, show: Callable[[str], str] = str) -> str:
        """A table of the solutions below a title. Where rows were removed, the first column has their signs. `show`
        makes a cell of a term's N-Triples form."""
        rows = self.rows.shown(show)
        names = self._head(rows).variables
        if self.change in _UNSIGNED:
            cells = ([each.get(name, "") for name in names] for each in rows.added if names)
            return table_html(f"{subscription} matches {publication}", names, cells)
        signed = [(sign, each) for sign, some in rows.signed for each in some]
        signed += [(_STAYED, _between(names, *pair)) for pair in rows.updated]
        cells = ([sign, *(each.get(name, "") for name in names)] for sign, each in signed)
        return table_html(f"{subscription}: rows {self.change} by {publication}", ("", *names), cells)

    def firsts(self) -> list[tuple[str, int]]:
        """As `first_rows` has them, in the order of SELECT."""
        rows = self.rows
        some = RecordedRows(rows.added[:1], rows.removed[:1], rows.updated[:1], rows.changed[:1])
        return first_rows(rows, self._head(some).variables, self.change)

    def first(self) -> str:
        """What `firsts` shows, without the counts."""
        return " ".join(line for line, _ in self.firsts())

    def _head(self, rows: RecordedRows) -> Head:
        return head_of(self.definition, self.operators, rows.every)


def first_rows(rows: RecordedRows, names: Sequence[str], change: str) -> list[tuple[str, int]]:
    """The first row added, removed and changed, as far as there are such: each as a line in the order of the `names`,
    with a sign before it unless rows were added only, and how many more there are."""
    found = []
    if rows.updated:
        before, after = (_shown(names, each) for each in rows.updated[0])
        found.append((f"{_STAYED} {before} → {after}", len(rows.updated) - 1))
    for sign, solutions in rows.signed:
        if solutions:
            bound = _shown(names, solutions[0]) or "yes"
            found.append((bound if change in _UNSIGNED else f"{sign} {bound}", len(solutions) - 1))
    return found


def _between(names: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """What became of each variable."""
    terms = {name: (before.get(name, ""), after.get(name, "")) for name in names}
    return {name: then if then == now else f"{then} → {now}" for name, (then, now) in terms.items()}


def _shown(names: Iterable[str], solution: Mapping[str, str]) -> str:
    return " ".join(f"?{name}={solution[name]}" for name in names if name in solution)


class Answered:
    """What is read of a recorded answer, each time it is asked for: the rows that one event added to the answer and
    removed from it. A match of one publication has only rows added, which are its whole answer."""

    __slots__ = ()
    json: str

    @property
    def recorded(self) -> Recorded:
        """The answer with its query, as commands show it."""
        raise NotImplementedError

    @property
    def added(self) -> list[dict[str, Term]]:
        """The solutions added, in canonical order; an unbound variable is absent. None where `change` is
        ``removed``."""
        return read_terms(self.recorded.rows.added)

    @property
    def removed(self) -> list[dict[str, Term]]:
        """The solutions removed, likewise. None where `change` is ``added``."""
        return read_terms(self.recorded.rows.removed)

    @property
    def changed(self) -> list[dict[str, Term]]:
        """Of a rule in repository scope, the solutions that stay and whose resource changed: its own triples, or those
        of what strong references lead to."""
        return read_terms(self.recorded.rows.changed)

    @property
    def updated(self) -> list[tuple[dict[str, Term], dict[str, Term]]]:
        """The solutions before and after that have the subscription's key in common; they are in neither list."""
        return [(read_terms([before])[0], read_terms([after])[0]) for before, after in self.recorded.rows.updated]

    @property
    def bindings(self) -> list[dict[str, Term]]:
        """`added`, under the name that it has where rows are never removed."""
        return self.added

    @property
    def answer(self) -> dict[str, object]:
        """The solutions added in SPARQL 1.1 Query Results JSON."""
        return self.recorded.answer

    @property
    def graph(self) -> list[Triple]:
        """The triples of a ``CONSTRUCT`` from the solutions added, sorted by their text, each once; none for another
        form, and none without a query."""
        return self.recorded.graph


def graph_text(triples: Iterable[Triple]) -> str:
    """Triples as N-Triples."""
    return "".join(f"{triple} .\n" for triple in triples)
