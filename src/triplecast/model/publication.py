"""Publications, as parsed and as recorded by the journal, rejects, and the files that they were read from."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, NewType, TypeAlias

Position = NewType("Position", int)
"""A place in the journal's one order of events, from 1; 0 is before the first."""

TAXONOMY = "urn:triplecast:taxonomy"
"""What notifications call a taxonomy; its version is its position."""
DOCUMENTS = "urn:triplecast:repository"
"""What notifications call the documents as a whole: where an answer is that of subscribing."""
HELD = "urn:triplecast:held:"
"""What the graph of a held resource is called: this and the resource's IRI, or its blank node's label."""

Attachments: TypeAlias = tuple[tuple[str, bytes], ...]
"""Bytes that came with a publication for operators (pictures, sound, texts), by IRI, in order."""


class Origin(NamedTuple):
    """The document that a publication was cut from (`split`)."""

    document: str
    """Its IRI."""
    parts: int
    """Publications that it was cut into, which follow each other."""


class Draft(NamedTuple):
    """A parsed publication, before the journal gives it a version (semantics 2)."""

    graph: str
    """Its identity, a graph IRI."""
    quads: bytes
    """Canonical N-Triples lines (N-Quads if `dataset`), sorted bytewise, unique, each ending in a newline; blank nodes
    have RDFC-1.0 labels, or input labels if `labels` is ``input``."""
    digest: bytes
    """SHA-256 of `quads`, or of the source if `labels` is ``input``, combined with that of the attachments, if any."""
    labels: str
    """``none`` (no blank nodes), ``canonical`` (RDFC-1.0) or ``input`` (the step limit was reached)."""
    dataset: bool = False
    """Whether it is a dataset with its graphs as published."""
    attachments: Attachments = ()
    origin: Origin | None = None

    def with_attachments(self, attachments: Attachments) -> Draft:
        """Return the same publication with attachments; other attachments are other content."""
        if not attachments:
            return self
        state = sha256(self.digest)
        for iri, content in attachments:
            state.update(sha256(iri.encode()).digest() + sha256(content).digest())
        return self._replace(digest=state.digest(), attachments=attachments)


class Publication(NamedTuple):
    """A version of a publication in the journal."""

    position: Position
    graph: str
    version: int
    accepted_at: str
    """xsd:dateTime in UTC with microseconds, e.g. ``2026-11-21T08:00:00.000000Z``; never decreases."""
    quads: bytes
    """As in `Draft`."""
    dataset: bool = False
    labels: str = "none"
    """As in `Draft`."""
    attachments: Attachments = ()
    former: int = 0
    """The position of the version that it took the place of; 0 where its graph had no document."""

    def __repr__(self) -> str:
        """Without the bytes that it holds."""
        return f"Publication(position={self.position}, graph={self.graph!r}, version={self.version})"


@dataclass(frozen=True, slots=True)
class Reject:
    """A document, or part of one, that was rejected."""

    source: str
    """The user's name for it: a path relative to the inbox, or an id."""
    stage: str
    """``gate``, ``parse``, ``feed``, ``split`` or ``sandbox``."""
    reason: str
    """The problem: what was found, and what was expected."""
    hint: str
    """The fix for the publisher."""
    line: int | None = None
    column: int | None = None


class FileState(NamedTuple):
    """An inbox file as it was when it was read; the journal stores it with the file's documents."""

    size: int
    mtime_ns: int
    digest: bytes
    """SHA-256 of the content, or of the part of a ``.jsonl`` file read so far; empty if none was read."""
    outcome: str
    """``accepted``, ``rejected``, or how far a ``.jsonl`` file was read."""
