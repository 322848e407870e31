"""The values of RDF Patch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from triplecast.model.algebra import from_ntriples, to_ntriples


class PatchRow(NamedTuple):
    """A quad that comes or goes. To add one that is there, or remove one that is not, does nothing."""

    is_added: bool
    quad: bytes
    """A canonical N-Quads line, with its line feed; without a graph name, of the default graph."""


class Patch(NamedTuple):
    """A transaction, with the header before it."""

    header: Mapping[str, str]
    """The term of each name, in N-Triples form. Ours are ``id``, ``prev``, ``position`` and ``digest``, and others."""
    rows: tuple[PatchRow, ...]
    line: int = 0
    """Of its first row or header in the text that it was read from, from 1."""

    def apply(self, quads: Iterable[bytes]) -> set[bytes]:
        """Return quads as they are after the transaction."""
        found = {*quads}
        for row in self.rows:
            if row.is_added:
                found.add(row.quad)
            else:
                found.discard(row.quad)
        return found


def literal(text: str) -> str:
    """The term of a plain literal, for a header."""
    from pyoxigraph import Literal

    return to_ntriples(Literal(text))


def text_of(term: str) -> str:
    """The text of a header's term: a literal's lexical form, or an IRI."""
    return str(from_ntriples(term).value)
