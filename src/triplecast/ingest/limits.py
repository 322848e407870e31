"""The limits of a document and of a parser's child."""

from __future__ import annotations

from dataclasses import dataclass

from triplecast.sandbox import Limits

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of one document; one beyond them is rejected with the limit's name and value."""

    bytes: int = 16 * MEGABYTE
    """Bytes of the document as received."""
    expanded_bytes: int = 64 * MEGABYTE
    """Bytes of its canonical lines, with prefixes, bases and repeated terms written out."""
    nesting: int = 512
    """Nested brackets, XML elements or JSON values."""
    attributes: int = 1_000
    """Attributes of an XML element, with namespace declarations."""
    triples: int = 1_000_000
    term_bytes: int = MEGABYTE
    """Bytes of a term in canonical form."""
    feed_items: int = 10_000
    canonical_steps: int = 20_000
    """Permutations and hashes while blank nodes are named canonically; beyond, they keep their labels."""


GATE = GateLimits()

CHILD = Limits(seconds=30.0, memory=1024 * MEGABYTE, answer=192 * MEGABYTE)
"""The limits of a parser's child, beyond which the pre-parse checks do not reach."""
