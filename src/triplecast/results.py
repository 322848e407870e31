"""Recorded answers, read: as terms, in the order of SELECT, and as SPARQL 1.1 Query Results JSON (W3C, 2013).

What matching records is a list of objects from variable to the N-Triples form of its term, by name
(`MatchedBatch.bindings`); the names in the order of SELECT, and the form, are in the query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pyoxigraph import BlankNode, NamedNode, Triple

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_query, parse_template
from triplecast.model.algebra import Term, from_ntriples
from triplecast.model.html import table_html
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Subscription

_STRING = "http://www.w3.org/2001/XMLSchema#string"


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


def read_bindings(recorded: str) -> list[dict[str, Term]]:
    """The solutions in canonical order; an unbound variable is absent."""
    return [{name: from_ntriples(term) for name, term in solution.items()} for solution in json.loads(recorded)]


def results_json(head: Head, solutions: Sequence[Mapping[str, str]]) -> dict[str, object]:
    """The object that SPARQL 1.1 Query Results JSON has for an answer: of an ASK a boolean, of a CONSTRUCT the
    solutions of its WHERE."""
    if head.form == "ask":
        return {"head": {}, "boolean": bool(solutions)}
    bindings = [
        {name: term_json(from_ntriples(solution[name])) for name in head.variables if name in solution}
        for solution in solutions
    ]
    return {"head": {"vars": list(head.variables)}, "results": {"bindings": bindings}}


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

    @property
    def answer(self) -> dict[str, object]:
        """The solutions in SPARQL 1.1 Query Results JSON."""
        solutions = json.loads(self.json)
        return results_json(head_of(self.definition, self.operators, solutions), solutions)

    @property
    def graph(self) -> list[Triple]:
        """The triples of a CONSTRUCT, sorted by their text, each once; none for another form and without a query."""
        from triplecast.evaluate.solutions import construct

        if self.definition is None:
            return []
        query = parse_query(self.definition.text, self.definition.language, self.definition.name, self.operators)
        return construct(query.template, read_bindings(self.json), self.id)

    def row(self) -> dict[str, object]:
        """What JSON says of it: ``answer``, and for a CONSTRUCT ``graph``, its triples as N-Triples."""
        solutions = json.loads(self.json)
        head = head_of(self.definition, self.operators, solutions)
        row: dict[str, object] = {"answer": results_json(head, solutions)}
        return row | {"graph": graph_text(self.graph)} if head.form == "construct" else row

    def html(self, title: str) -> str:
        """A table of the solutions below a title."""
        solutions = json.loads(self.json)
        names = head_of(self.definition, self.operators, solutions).variables
        return table_html(title, names, ([each.get(name, "") for name in names] for each in solutions if names))

    def first(self) -> tuple[str, int]:
        """The first solution as a line, in the order of SELECT, and how many more there are."""
        solutions = json.loads(self.json)
        head = head_of(self.definition, self.operators, solutions[:1])
        bound = [f"?{name}={solutions[0][name]}" for name in head.variables if name in solutions[0]]
        return " ".join(bound) or "yes", len(solutions) - 1


class Answered:
    """What is read of a recorded answer, each time it is asked for."""

    __slots__ = ()
    json: str

    @property
    def recorded(self) -> Recorded:
        """The answer with its query, as commands show it."""
        raise NotImplementedError

    @property
    def bindings(self) -> list[dict[str, Term]]:
        """The solutions in canonical order; an unbound variable is absent."""
        return read_bindings(self.json)

    @property
    def answer(self) -> dict[str, object]:
        """The solutions in SPARQL 1.1 Query Results JSON."""
        return self.recorded.answer

    @property
    def graph(self) -> list[Triple]:
        """The triples of a ``CONSTRUCT``, sorted by their text, each once; none for another form, and none without a
        query."""
        return self.recorded.graph


def graph_text(triples: Iterable[Triple]) -> str:
    """Triples as N-Triples."""
    return "".join(f"{triple} .\n" for triple in triples)
