"""What operators' functions are given, and what they raise: a read-only view of one publication version with its
attachments, which calls of one publication share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyoxigraph import BlankNode, Dataset, DefaultGraph, NamedNode, Quad, RdfFormat, Triple, parse

from triplecast.model.publication import DOCUMENTS


class Unanswerable(ValueError):
    """Raised by an operator, or returned in a batch's list for one of its calls, for what it cannot decide: text that
    is no geometry, a missing picture. The pair is undecided with its message, which says how to fix it; it does
    not count towards the operator's quarantine."""


class NoAttachment(Unanswerable, KeyError):
    """The publication has no attachment of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class GraphView:
    """A `pyoxigraph.Dataset` that can only be read; ``pyoxigraph.Dataset(graph)`` is a copy."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __iter__(self) -> Iterator[Quad]:
        return iter(self._dataset)

    def __contains__(self, quad: Quad) -> bool:
        return quad in self._dataset

    def quads_for_subject(self, subject: NamedNode | BlankNode | Triple) -> Iterator[Quad]:
        return self._dataset.quads_for_subject(subject)

    def quads_for_predicate(self, predicate: NamedNode) -> Iterator[Quad]:
        return self._dataset.quads_for_predicate(predicate)

    def quads_for_object(self, object: Any) -> Iterator[Quad]:
        return self._dataset.quads_for_object(object)

    def quads_for_graph_name(self, graph_name: NamedNode | BlankNode | DefaultGraph) -> Iterator[Quad]:
        return self._dataset.quads_for_graph_name(graph_name)


@dataclass(frozen=True)
class PublicationView:
    """A publication as operators see it."""

    publication: NamedNode
    """Its graph IRI."""
    version: int
    attachments: Mapping[str, bytes]
    """By IRI: pictures, sound, texts."""
    quads: bytes
    """Its canonical N-Triples lines (N-Quads where it is a dataset)."""
    dataset: bool = False

    @cached_property
    def graph(self) -> GraphView:
        """The publication's triples in the default graph; of a dataset, its graphs as published. Parsed at the
        first use."""
        return GraphView(Dataset(parse(self.quads, format=RdfFormat.N_QUADS if self.dataset else RdfFormat.N_TRIPLES)))

    def attachment(self, term: object) -> bytes:
        """Return the bytes of the attachment with this IRI (a term or text). Raises `NoAttachment`; an operator that
        lets it through leaves the pair undecided."""
        iri = term.value if isinstance(term, NamedNode) else str(term)
        if iri not in self.attachments:
            if self.publication.value == DOCUMENTS:
                raise NoAttachment(f"no attachment <{iri}>: in repository scope an operator sees its arguments alone")
            known = ", ".join(f"<{each}>" for each in sorted(self.attachments)[:5]) or "none"
            raise NoAttachment(f"no attachment <{iri}>; the publication has {known}; publish its bytes with it")
        return self.attachments[iri]
