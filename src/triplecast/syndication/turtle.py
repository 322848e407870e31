"""Notifications as RDF: an activity of ActivityStreams 2.0 each, with its solutions as the W3C's result sets
(``http://www.w3.org/2001/sw/DataAccess/tests/result-set#``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from triplecast.model.algebra import Term, from_ntriples
from triplecast.model.subscription import REPOSITORY
from triplecast.outbox import Notification
from triplecast.results import head_of

MEDIA_TYPE = "text/turtle"
NOTIFICATION = "urn:triplecast:notification:"
"""Before its id, the IRI of a notification; and `SUBSCRIPTION` before the quoted id of one."""
SUBSCRIPTION = "urn:triplecast:subscription:"
VOCABULARY = "urn:triplecast:vocabulary:"
AS = "https://www.w3.org/ns/activitystreams#"
_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
DATE_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
PREFIXES = {"as": AS, "rs": _RS, "told": VOCABULARY, "xsd": "http://www.w3.org/2001/XMLSchema#"}


def notifications_turtle(told: Iterable[Notification]) -> bytes:
    """Of a CONSTRUCT, the triples that it gives are there too, as they are."""
    triples = (triple for each in told for triple in notification_triples(each))
    return serialize(triples, format=RdfFormat.TURTLE, prefixes=PREFIXES) or b""


def notification_iri(told: Notification) -> NamedNode:
    return NamedNode(NOTIFICATION + told.id)


def notification_triples(told: Notification) -> Iterator[Triple]:
    made = _Nodes(told)
    yield from _described(told, made)
    yield from map(made.renamed, told.graph)


def notification_quads(told: Notification) -> Iterator[Quad]:
    """The same, with what a CONSTRUCT gives in a graph that has the notification's name."""
    made, graph = _Nodes(told), notification_iri(told)
    yield from (Quad(*triple) for triple in _described(told, made))
    for triple in map(made.renamed, told.graph):
        yield Quad(triple.subject, triple.predicate, triple.object, graph)


def _described(told: Notification, made: _Nodes) -> Iterator[Triple]:
    node, rows = notification_iri(told), told.recorded.rows
    subscription = NamedNode(SUBSCRIPTION + quote(told.subscription, safe=""))
    for predicate, value in (
        (_TYPE, NamedNode(AS + "Announce")),
        (NamedNode(AS + "actor"), subscription),
        (NamedNode(AS + "object"), NamedNode(told.publication)),
        (NamedNode(AS + "published"), Literal(told.accepted_at, datatype=DATE_TIME)),
        (own("sequence"), Literal(told.sequence)),
        (own("version"), Literal(told.version)),
        (own("change"), Literal(told.change)),
    ):
        yield Triple(node, predicate, value)
    head = head_of(told.definition, told.operators, rows.every)
    added = "present" if told.change == "present" else "added"
    for name, some in ((added, rows.added), ("removed", rows.removed), ("changed", rows.changed)):
        if some and head.form == "ask":
            answer = made.fresh()
            yield Triple(node, own(name), answer)
            yield from (Triple(answer, _TYPE, _rs("ResultSet")), Triple(answer, _rs("boolean"), Literal(True)))
        elif some:
            answer = made.fresh()
            yield Triple(node, own(name), answer)
            yield Triple(answer, _TYPE, _rs("ResultSet"))
            yield from (Triple(answer, _rs("resultVariable"), Literal(each)) for each in head.variables)
            for row in some:
                yield from made.solution(answer, _rs("solution"), row)
    for before, after in rows.updated:
        update = made.fresh()
        yield Triple(node, own("updated"), update)
        yield from made.solution(update, own("before"), before)
        yield from made.solution(update, own("after"), after)


def own(name: str) -> NamedNode:
    return NamedNode(VOCABULARY + name)


def _rs(name: str) -> NamedNode:
    return NamedNode(_RS + name)


class _Nodes:
    """Blank nodes of one notification. Those of a publication are local to its version (semantics 2.6), so they are
    given labels that those of others do not have."""

    def __init__(self, told: Notification) -> None:
        self._numbers = count()
        self._sequence = told.sequence
        is_shared = told.definition is not None and told.definition.scope == REPOSITORY
        place = f"{told.version}\n{told.publication}".encode()
        self._scope = "" if is_shared else hashlib.blake2b(place, digest_size=8).hexdigest()

    def fresh(self) -> BlankNode:
        return BlankNode(f"told{self._sequence}n{next(self._numbers)}")

    def solution(self, subject: BlankNode, predicate: NamedNode, row: Mapping[str, str]) -> Iterator[Triple]:
        node = self.fresh()
        yield Triple(subject, predicate, node)
        for name, text in row.items():
            binding = self.fresh()
            yield Triple(node, _rs("binding"), binding)
            yield Triple(binding, _rs("variable"), Literal(name))
            yield Triple(binding, _rs("value"), self.term(from_ntriples(text)))

    def term(self, term: Term) -> Term:
        return BlankNode(f"in{self._scope}{term.value}") if isinstance(term, BlankNode) else term

    def renamed(self, triple: Triple) -> Triple:
        subject, value = triple.subject, triple.object
        if isinstance(subject, BlankNode):
            subject = BlankNode(f"in{self._scope}{subject.value}")
        if isinstance(value, BlankNode):
            value = BlankNode(f"in{self._scope}{value.value}")
        return Triple(subject, triple.predicate, value)
