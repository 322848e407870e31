"""What the gate lets through, and what a parser's child may use."""

from __future__ import annotations

from dataclasses import dataclass

from triplecast.sandbox import Limits

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class GateLimits:
    """Stated limits of one document. Whatever is beyond is rejected with the limit's name and value."""

    bytes: int = 16 * MEGABYTE
    """Of the document as received."""
    expanded_bytes: int = 64 * MEGABYTE
    """Of its canonical lines, once prefixes, bases and repeated terms are written out."""
    nesting: int = 512
    """Open brackets, XML elements or JSON values within one another."""
    attributes: int = 1_000
    """Of one XML element, namespace declarations included."""
    triples: int = 1_000_000
    term_bytes: int = MEGABYTE
    """Of one term in canonical form."""
    feed_items: int = 10_000
    canonical_steps: int = 20_000
    """Permutations tried and neighbours hashed while blank nodes are named canonically; beyond, input labels stay."""


GATE = GateLimits()

CHILD = Limits(seconds=30.0, memory=1024 * MEGABYTE, answer=192 * MEGABYTE)
"""The sandbox of a parser, the last resort behind the gate."""
