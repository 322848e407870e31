"""Publications: as parsed (no version yet) and as accepted by the journal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NewType, TypeAlias

Position = NewType("Position", int)
"""A place in the journal's one order of events, from 1; 0 is before the first."""

Attachments: TypeAlias = tuple[tuple[str, bytes], ...]
"""What came with a publication, by IRI, in the order of the IRIs: pictures, sound, texts, for operators to look at."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One publication as the gate and parser made it, before the journal gives it a version (semantics 2)."""

    graph: str
    """Identity: a graph IRI."""
    quads: bytes
    """Canonical N-Triples lines (N-Quads when `dataset`), sorted bytewise, unique, each ended by a newline; blank nodes
    carry RDFC-1.0 labels, or input labels when `labels` is ``input``."""
    digest: bytes
    """32 bytes: SHA-256 of `quads`, or of the source bytes when `labels` is ``input``; where there are attachments, of
    that and of theirs (`with_attachments`)."""
    labels: str
    """``none`` (no blank nodes), ``canonical`` (RDFC-1.0) or ``input`` (the work bound was hit)."""
    dataset: bool = False
    """True when the unit is a dataset whose graphs stay as published."""
    attachments: Attachments = ()

    def with_attachments(self, attachments: Attachments) -> Draft:
        """The same publication with what came with it; other attachments are other content."""
        if not attachments:
            return self
        state = sha256(self.digest)
        for iri, content in attachments:
            state.update(sha256(iri.encode()).digest() + sha256(content).digest())
        return replace(self, digest=state.digest(), attachments=attachments)


@dataclass(frozen=True, slots=True)
class Publication:
    """A version of a document in the journal."""

    position: Position
    graph: str
    version: int
    accepted_at: str
    """xsd:dateTime in UTC with microseconds, e.g. ``2026-11-21T08:00:00.000000Z``; never runs back."""
    quads: bytes
    """As in `Draft`."""
    dataset: bool = False
    labels: str = "none"
    """As in `Draft`."""
    attachments: Attachments = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Reject:
    """A document, or a part of one, that was not accepted."""

    source: str
    """What the user calls it: a path relative to the inbox, or an id."""
    stage: str
    """``gate``, ``parse``, ``feed`` or ``sandbox``."""
    reason: str
    """What was found and what was expected."""
    hint: str
    """What the publisher can do about it."""
    line: int | None = None
    column: int | None = None
