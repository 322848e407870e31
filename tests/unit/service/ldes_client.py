"""A client of Linked Data Event Streams, written from the specifications of TREE and LDES alone: it walks relations,
gathers members, and asks again only for pages that may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat, Store, parse

LDES, TREE, AS = "https://w3id.org/ldes#", "https://w3id.org/tree#", "https://www.w3.org/ns/activitystreams#"
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
FORMS = {
    "text/turtle": RdfFormat.TURTLE,
    "application/trig": RdfFormat.TRIG,
    "application/n-quads": RdfFormat.N_QUADS,
    "application/ld+json": RdfFormat.JSON_LD,
}


class Fetched(NamedTuple):
    body: bytes
    media_type: str
    cache_control: str


class Member(NamedTuple):
    iri: str
    said: Store
    """The page that it is on."""

    def values(self, name: str, namespace: str = AS) -> list[object]:
        found = self.said.quads_for_pattern(NamedNode(self.iri), NamedNode(namespace + name), None, DefaultGraph())
        return [quad.object for quad in found]

    @property
    def kind(self) -> str:
        (found,) = self.said.quads_for_pattern(NamedNode(self.iri), TYPE, None, DefaultGraph())
        return str(found.object.value).removeprefix(AS)  # type: ignore[union-attr]

    def content(self) -> list[Quad]:
        """Of the graph that has its name."""
        return [*self.said.quads_for_pattern(None, None, None, NamedNode(self.iri))]


class EventStreamClient:
    """Members in the order in which pages have them. Raises AssertionError where the stream breaks a promise."""

    def __init__(self, root: str, fetch: Callable[[str], Fetched]) -> None:
        self._root, self._fetch = root, fetch
        self.members: dict[str, Member] = {}
        self.context = Store()
        """Of the root node."""
        self.immutable: dict[str, Fetched] = {}
        self._place: dict[str, str] = {}
        self._following: dict[str, list[tuple[str, object]]] = {}
        self.fetched = 0

    def synchronize(self) -> Sequence[Member]:
        """The members that are new since the last time."""
        before = len(self.members)
        queue, walked = [self._root], set[str]()
        while queue:
            address = queue.pop(0)
            assert address not in walked, "two relations lead to one page"
            walked.add(address)
            if address not in self.immutable:
                self._read(address)
            queue += [node for node, _ in self._following[address]]
        return [*self.members.values()][before:]

    def begin_again(self) -> None:
        """As after an answer 410: members that it has are not new."""
        self.immutable.clear()
        self._place.clear()
        self._following.clear()

    def _read(self, address: str) -> None:
        fetched = self._fetch(address)
        self.fetched += 1
        page, said = Store(), [*parse(fetched.body, format=FORMS[fetched.media_type.partition(";")[0]])]
        page.extend(said)
        here, stream = NamedNode(address), self._stream(page)
        if address == self._root:
            self.context = page
        self._following[address] = [*self._relations(page, here)]
        for quad in (each for each in said if (each.subject, each.predicate) == (stream, NamedNode(TREE + "member"))):
            assert isinstance(quad.object, NamedNode)
            iri = quad.object.value
            assert self._place.setdefault(iri, address) == address, f"{iri} is on two pages"
            self.members.setdefault(iri, Member(iri, page))
        is_immutable = any(page.quads_for_pattern(here, NamedNode(LDES + "immutable"), None, DefaultGraph()))
        assert is_immutable == ("immutable" in fetched.cache_control)
        if is_immutable:
            self.immutable[address] = fetched

    def _stream(self, page: Store) -> NamedNode:
        (found,) = page.quads_for_pattern(None, TYPE, NamedNode(LDES + "EventStream"), DefaultGraph())
        assert isinstance(found.subject, NamedNode)
        (view,) = page.quads_for_pattern(found.subject, NamedNode(TREE + "view"), None, DefaultGraph())
        assert view.object == NamedNode(self._root)
        return found.subject

    def _relations(self, page: Store, here: NamedNode) -> list[tuple[str, object]]:
        found = []
        for relation in page.quads_for_pattern(here, NamedNode(TREE + "relation"), None, DefaultGraph()):
            said = {
                quad.predicate.value: quad.object
                for quad in page.quads_for_pattern(relation.object, None, None, DefaultGraph())  # type: ignore[arg-type]
            }
            assert said[TYPE.value] == NamedNode(TREE + "GreaterThanOrEqualToRelation")
            node = said[TREE + "node"]
            assert isinstance(node, NamedNode)
            assert isinstance(said[TREE + "path"], NamedNode)
            found.append((node.value, said[TREE + "value"]))
        return found
