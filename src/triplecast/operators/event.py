"""What an operator sees: one publication version with its attachments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyoxigraph import Dataset, NamedNode, RdfFormat, parse


@dataclass(frozen=True)
class Event:
    """A publication as an operator is given it. Calls of one publication may share one: its attachments cannot be
    changed, and who wants to change its graph copies it first."""

    publication: NamedNode
    """Its graph IRI."""
    version: int
    attachments: Mapping[str, bytes]
    """By IRI: pictures, sound, texts."""
    quads: bytes
    """Its canonical N-Triples lines (N-Quads where it is a dataset)."""
    dataset: bool = False

    @cached_property
    def graph(self) -> Dataset:
        """The publication's triples in the default graph; of a dataset, its graphs as published. Parsed when first
        asked for."""
        return Dataset(parse(self.quads, format=RdfFormat.N_QUADS if self.dataset else RdfFormat.N_TRIPLES))

    def attachment(self, term: object) -> bytes:
        """The bytes of the attachment that an IRI (a term or text) names. Raises KeyError, naming it and those that
        there are."""
        iri = term.value if isinstance(term, NamedNode) else str(term)
        if iri not in self.attachments:
            known = ", ".join(sorted(self.attachments)[:5]) or "none"
            raise KeyError(f"no attachment <{iri}>; the publication has {known}")
        return self.attachments[iri]
