"""Events: what happens to documents, taxonomies and schemas, in the one order of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from triplecast.model.publication import Position, Publication


@dataclass(frozen=True, slots=True)
class Removal:
    """The end of a graph's current document. In publication scope it matches nothing: what was told is removed."""

    position: Position
    graph: str
    version: int
    """The one that was the latest."""
    removed_at: str
    """xsd:dateTime in UTC, as `Publication.accepted_at`."""
    former: int = 0
    """The position of that version."""


class TaxonomyVersion(NamedTuple):
    """A taxonomy as the journal keeps it: publications at later positions are matched with it."""

    position: int
    lines: bytes
    """`Taxonomy.lines`."""
    broader: bool


class SchemaVersion(NamedTuple):
    """A schema as the journal keeps it: rules registered later are read with it, and its strong references hold."""

    position: int
    lines: bytes
    """`RdfSchema.lines`."""


DocumentEvent: TypeAlias = Publication | Removal
Event: TypeAlias = DocumentEvent | TaxonomyVersion | SchemaVersion
