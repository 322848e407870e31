"""Logs as Linked Data Event Streams 1.0 (SEMIC, 2025), in pages of the TREE hypermedia specification.

A stream has one view: a root node without members, which leads to a chain of pages. A version of a document is a member
of its own, with its content in a graph that has the member's name, as DCAT-AP Feeds has it; the end of a document is an
``as:Delete``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, parse, serialize

from triplecast.model.algebra import Term
from triplecast.model.events import DocumentEvent, Removal
from triplecast.outbox import Notification
from triplecast.syndication.turtle import AS, DATE_TIME, PREFIXES, notification_iri, notification_quads, own

EVENT = "urn:triplecast:event:"
"""Before its position and its time, the IRI of what became of a document."""
_LDES, _TREE = "https://w3id.org/ldes#", "https://w3id.org/tree#"
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_PUBLISHED = NamedNode(AS + "published")
_Term = TypeVar("_Term")
_PREFIXES = {**PREFIXES, "ldes": _LDES, "tree": _TREE}


class StreamHead(NamedTuple):
    """What a stream says of itself."""

    address: str
    """Of its root node."""
    of_documents: bool
    starts: str | None = None
    """The time of the first member, where those before are gone."""

    @property
    def stream(self) -> NamedNode:
        return NamedNode(f"{self.address.partition('?')[0]}#stream")

    @property
    def order(self) -> NamedNode:
        """What relations compare. Notifications that waited for operators are late, so time does not order them."""
        return _PUBLISHED if self.of_documents else own("sequence")


class Relation(NamedTuple):
    """To a page all of whose members, and of those behind it, have a value of at least this."""

    address: str
    value: Literal


def root_node(head: StreamHead, first: Relation | None) -> Iterator[Quad]:
    root, stream = NamedNode(head.address), head.stream
    yield from _quads(stream, (_TYPE, _ldes("EventStream")), (_tree("view"), root))
    if head.of_documents:
        for name, value in (
            ("timestampPath", _PUBLISHED),
            ("sequencePath", own("position")),
            ("versionOfPath", NamedNode(AS + "object")),
            ("versionCreateObject", NamedNode(AS + "Create")),
            ("versionUpdateObject", NamedNode(AS + "Update")),
            ("versionDeleteObject", NamedNode(AS + "Delete")),
        ):
            yield Quad(stream, _ldes(name), value)
    else:
        yield Quad(stream, _ldes("sequencePath"), own("sequence"))
    yield Quad(root, _TYPE, _tree("Node"))
    if head.starts is not None:
        policy = NamedNode(f"{head.address.partition('?')[0]}#retention")
        starts = Literal(head.starts, datatype=DATE_TIME)
        yield Quad(root, _ldes("retentionPolicy"), policy)
        yield from _quads(policy, (_TYPE, _ldes("RetentionPolicy")), (_ldes("startingFrom"), starts))
    yield from _relation(head, root, first)


def member_page(
    head: StreamHead, address: str, events: Iterable[DocumentEvent | Notification], following: Relation | None
) -> Iterator[Quad]:
    """A page; with a page that follows it never changes. Its members are in the order of the log."""
    page = NamedNode(address)
    yield from _quads(head.stream, (_TYPE, _ldes("EventStream")), (_tree("view"), NamedNode(head.address)))
    yield Quad(page, _TYPE, _tree("Node"))
    if following is not None:
        yield Quad(page, _ldes("immutable"), Literal(True))
    yield from _relation(head, page, following)
    for event in events:
        if isinstance(event, Notification):
            yield Quad(head.stream, _tree("member"), notification_iri(event))
            yield from notification_quads(event)
        else:
            yield Quad(head.stream, _tree("member"), event_iri(event))
            yield from _document_quads(event)


def write_page(quads: Iterable[Quad], form: RdfFormat) -> bytes:
    """In a form without named graphs, what a CONSTRUCT gives is beside the notification."""
    if form.supports_datasets:
        return serialize(quads, format=form, prefixes=_PREFIXES) or b""
    return serialize((quad.triple for quad in quads), format=form, prefixes=_PREFIXES) or b""


def event_iri(event: DocumentEvent) -> NamedNode:
    """It tells a version from that of another folder that has the same position."""
    return NamedNode(f"{EVENT}{event.position}-{''.join(filter(str.isdigit, _time_of(event)))}")


def _time_of(event: DocumentEvent) -> str:
    return event.removed_at if isinstance(event, Removal) else event.accepted_at


def _document_quads(event: DocumentEvent) -> Iterator[Quad]:
    node = event_iri(event)
    kind = "Delete" if isinstance(event, Removal) else "Update" if event.former else "Create"
    yield from _quads(
        node,
        (_TYPE, NamedNode(AS + kind)),
        (NamedNode(AS + "object"), NamedNode(event.graph)),
        (_PUBLISHED, Literal(_time_of(event), datatype=DATE_TIME)),
        (own("position"), Literal(event.position)),
        (own("version"), Literal(event.version)),
    )
    if isinstance(event, Removal):
        return
    parts: dict[Term, NamedNode] = {}
    for quad in parse(event.quads, format=RdfFormat.N_QUADS):
        graph = node
        if not isinstance(quad.graph_name, DefaultGraph):
            name = _renamed(quad.graph_name, event.position)
            graph = parts.get(name) or NamedNode(f"{node.value}-{len(parts) + 1}")
            if name not in parts:
                parts[name] = graph
                yield from (Quad(node, own("part"), graph), Quad(graph, own("graph"), name))
        subject, value = _renamed(quad.subject, event.position), _renamed(quad.object, event.position)
        yield Quad(subject, quad.predicate, value, graph)


def _renamed(term: _Term, position: int) -> _Term | BlankNode:
    """Blank nodes of a version are its own."""
    return BlankNode(f"in{position}{term.value}") if isinstance(term, BlankNode) else term


def _relation(head: StreamHead, node: NamedNode, to: Relation | None) -> Iterator[Quad]:
    if to is not None:
        relation = BlankNode("relation")
        yield Quad(node, _tree("relation"), relation)
        yield from _quads(
            relation,
            (_TYPE, _tree("GreaterThanOrEqualToRelation")),
            (_tree("node"), NamedNode(to.address)),
            (_tree("path"), head.order),
            (_tree("value"), to.value),
        )


def _quads(subject: NamedNode | BlankNode, *said: tuple[NamedNode, Term]) -> Iterator[Quad]:
    return (Quad(subject, predicate, value) for predicate, value in said)


def _ldes(name: str) -> NamedNode:
    return NamedNode(_LDES + name)


def _tree(name: str) -> NamedNode:
    return NamedNode(_TREE + name)
