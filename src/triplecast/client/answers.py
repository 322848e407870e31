"""What a service answers, as values with terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    Triple,
    parse,
    parse_query_results,
)

Term: TypeAlias = NamedNode | BlankNode | Literal
Solution: TypeAlias = dict[str, Term]
RemoteAnswer: TypeAlias = list[Solution] | bool | list[Triple]
"""As `Engine.query` gives it."""


@dataclass(frozen=True, slots=True)
class RemoteReceipt:
    """What became of a document: durable, and `matched` unless that is done later, on Spark."""

    position: int | None
    """The last journal position of its publications; None where it brought none."""
    publications: tuple[Mapping[str, Any], ...]
    """Each with ``graph``, ``version``, ``position``, ``accepted_at`` and ``outcome``; the first thousand."""
    matched: bool
    matches: int
    rejects: tuple[Mapping[str, Any], ...]
    undecided: int
    pending: int
    removals: int
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RemoteReceipt:
        found: list[Any] = [row[each.name] for each in fields(cls)]
        values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in found]
        return cls(*values)


@dataclass(frozen=True, slots=True)
class RemoteSubscription:
    """A subscription as it was made, or as it is listed."""

    id: str
    expires: str | None
    warnings: tuple[str, ...]
    cost: str
    ticket: str = field(default="", repr=False)
    """The secret that renews and cancels it, as it was made; empty as it is listed."""
    row: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All that the service says of it."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RemoteSubscription:
        public = {name: value for name, value in row.items() if name != "ticket"}
        told = row["id"], row["expires"], tuple(row["warnings"]), row["cost"]
        return cls(*told, ticket=row.get("ticket", ""), row=public)


@dataclass(frozen=True, slots=True)
class RemoteNotification:
    """A notification, with the fields of `triplecast.Notification`."""

    row: Mapping[str, Any] = field(repr=False)
    """The line of JSON that it is."""
    sequence: int
    cursor: str
    """Where to go on from: `since` of the next call."""
    id: str
    """Permanent: whoever gets it twice got one notification."""
    change: str
    publication: str
    version: int
    subscription: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RemoteNotification:
        names = ("sequence", "cursor", "id", "change", "publication", "version", "subscription")
        return cls(row, *(row[name] for name in names))

    @property
    def added(self) -> list[Solution]:
        """The solutions added; an unbound variable is absent. Of an ASK that became true, one without variables."""
        return _solutions(self.row.get("answer"))

    @property
    def bindings(self) -> list[Solution]:
        return self.added

    @property
    def removed(self) -> list[Solution]:
        return _solutions(self.row.get("removed"))

    @property
    def changed(self) -> list[Solution]:
        """Of a rule, those that stay and whose resource changed."""
        return _solutions(self.row.get("changed"))

    @property
    def updated(self) -> list[tuple[Solution, Solution]]:
        """Before and after, of those that have the subscription's key in common."""
        return [(_solution(each["before"]), _solution(each["after"])) for each in self.row.get("updated", ())]

    @property
    def graph(self) -> list[Triple]:
        """The triples of a ``CONSTRUCT``."""
        return [*_triples(str(self.row.get("graph", "")).encode())]


def read_answer(content_type: str, body: bytes) -> RemoteAnswer:
    """The answer to a query, in SPARQL results JSON or as N-Triples."""
    if content_type.partition(";")[0].strip() == "application/n-triples":
        return [*_triples(body)]
    found = parse_query_results(body, format=QueryResultsFormat.JSON)
    if isinstance(found, QueryBoolean):
        return bool(found)
    assert isinstance(found, QuerySolutions)
    names = [variable.value for variable in found.variables]
    return [{name: term for name in names if (term := each[name]) is not None} for each in found]


def _triples(lines: bytes) -> Iterable[Triple]:
    return (quad.triple for quad in parse(lines, format=RdfFormat.N_TRIPLES))


def _solutions(answer: Mapping[str, Any] | None) -> list[Solution]:
    """What an object in SPARQL results JSON says."""
    if answer is None:
        return []
    if "boolean" in answer:
        return [{}] if answer["boolean"] else []
    return [*map(_solution, answer["results"]["bindings"])]


def _solution(bindings: Mapping[str, Mapping[str, str]]) -> Solution:
    return {name: term_of(told) for name, told in bindings.items()}


def term_of(told: Mapping[str, str]) -> Term:
    if told["type"] == "uri":
        return NamedNode(told["value"])
    if told["type"] == "bnode":
        return BlankNode(told["value"])
    if "xml:lang" in told:
        return Literal(told["value"], language=told["xml:lang"])
    datatype = told.get("datatype")
    return Literal(told["value"], datatype=NamedNode(datatype) if datatype else None)
