"""Cut an RDF document at its roots: each, with its description, is a publication of its own (semantics 2.8).

A description is the Concise Bounded Description of the W3C member submission of 2005-06-03: the triples of the root,
those of the blank nodes that they lead to, and the reifications of all these with theirs. What no description holds,
with the blank nodes and reifications that this leads to, is the *rest*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pyoxigraph import BlankNode, NamedNode, QuerySolutions, RdfFormat, Store

from triplecast.errors import DocumentRejected
from triplecast.ingest.canonical import split_line
from triplecast.ingest.gate import GateLimits

_RDF = b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_TYPE = _RDF + b"type>"
_REIFIED = (_RDF + b"subject>", _RDF + b"predicate>", _RDF + b"object>")


class Roots(NamedTuple):
    """The nodes that a document is cut at, and those that would be if they had IRIs."""

    named: list[str]
    """IRIs, sorted."""
    blank: int

    def warnings(self) -> tuple[str, ...]:
        if self.blank:
            return (
                f"{self.blank} of the roots to cut it at are blank nodes: no later version could be told from another "
                "root, so they stay where they are referred to, or in the rest; name them by IRIs",
            )
        return () if self.named else ("it has no root to be cut at, so it is one publication",)


def find_roots(lines: Sequence[bytes], split: str, limits: GateLimits) -> Roots:
    """Return the roots in a document of these canonical lines: the instances of a class, ``<iri>``, or what a query
    gives. Raises DocumentRejected."""
    found = set(_instances(lines, split.encode()) if split.startswith("<") else _selected(lines, split))
    named = sorted(each[1:-1] for each in found if each.startswith("<"))
    if len(named) > limits.publications:
        reason = f"it has {len(named)} roots to be cut at, {limits.publications} are allowed"
        raise DocumentRejected("gate", reason, "split it into smaller documents")
    return Roots(named, len(found) - len(named))


def _instances(lines: Iterable[bytes], iri: bytes) -> Iterator[str]:
    end = iri + b" "
    for line in lines:
        if iri in line:
            subject, predicate, rest = line.split(b" ", 2)
            if predicate == _TYPE and rest.startswith(end):
                yield subject.decode()


def _selected(lines: Iterable[bytes], query: str) -> Iterator[str]:
    store = Store()
    store.load(b"".join(lines), RdfFormat.N_QUADS)
    try:
        solutions = store.query(query, use_default_graph_as_union=True)
        assert isinstance(solutions, QuerySolutions)
        for (node,) in solutions:
            if node is not None and not isinstance(node, NamedNode | BlankNode):
                raise _unusable(f"it gives {str(node)[:80]}, which is no IRI")
            if node is not None:
                yield str(node)
    except (RuntimeError, SyntaxError, ValueError) as error:
        raise _unusable(str(error)) from None


def _unusable(reason: str) -> DocumentRejected:
    hint = "give a SELECT query in plain SPARQL whose one variable is bound to the roots"
    return DocumentRejected("split", f"the query for its roots cannot be used: {reason}", hint)


class Descriptions:
    """The triples of a document by subject."""

    def __init__(self, lines: Iterable[bytes], room: int) -> None:
        """`room`: most bytes that all descriptions may have together."""
        self._lines: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for line in lines:
            self._lines[line.split(b" ", 1)[0]].append(line)
        self._statements = _reifications(self._lines)
        self._held: set[bytes] = set()
        """Those of descriptions."""
        self._room = room

    def of(self, root: str) -> list[bytes]:
        """Return the description of `root`, unsorted. Raises DocumentRejected where descriptions are too large."""
        found = self._closure([], [f"<{root}>".encode()])
        self._held.update(found)
        return found

    def rest(self) -> list[bytes]:
        """Return what no description so far holds."""
        left = [line for lines in self._lines.values() for line in lines if line not in self._held]
        return self._closure(left, [node for line in left for node in self._led_to(line)])

    def _closure(self, found: list[bytes], nodes: Sequence[bytes]) -> list[bytes]:
        """Add to `found` the lines of `nodes`, of the blank nodes that they lead to, and of reifications."""
        seen = dict.fromkeys(nodes)
        known = set(found)
        pending = list(seen)
        self._spend(found)
        while pending:
            lines = [line for line in self._lines.get(pending.pop(), ()) if line not in known]
            found += lines
            self._spend(lines)
            for node in (node for line in lines for node in self._led_to(line) if node not in seen):
                seen[node] = None
                pending.append(node)
        return found

    def _led_to(self, line: bytes) -> Iterator[bytes]:
        if node := _blank_object(line):
            yield node
        if self._statements:
            yield from self._statements.get(_statement(line), ())

    def _spend(self, lines: Sequence[bytes]) -> None:
        self._room -= sum(map(len, lines))
        if self._room < 0:
            reason = "the descriptions of its roots repeat so many blank nodes that they exceed the limit of bytes"
            raise DocumentRejected("gate", reason, "name by IRIs what many roots refer to, or split the document")


def _blank_object(line: bytes) -> bytes | None:
    if b" _:" not in line:  # much faster than the rest
        return None
    value = line.split(b" ", 2)[2]
    return value.split(b" ", 1)[0] if value.startswith(b"_:") else None


def _statement(line: bytes) -> tuple[bytes, bytes, bytes]:
    quad = split_line(line)
    assert quad is not None  # triple terms are rejected before
    return quad[:3]


def _reifications(lines: Mapping[bytes, Sequence[bytes]]) -> dict[tuple[bytes, bytes, bytes], list[bytes]]:
    """Map statements to the nodes that reify them: those with one subject, one predicate and one object."""
    found: dict[tuple[bytes, bytes, bytes], list[bytes]] = {}
    for node, own in lines.items():
        if not any(_REIFIED[0] in line for line in own):
            continue
        said = [_values(own, predicate) for predicate in _REIFIED]
        if all(len(values) == 1 for values in said):
            (subject,), (predicate,), (value,) = said
            found.setdefault((subject, predicate, value), []).append(node)
    return found


def _values(lines: Iterable[bytes], predicate: bytes) -> set[bytes]:
    return {_statement(line)[2] for line in lines if line.split(b" ", 2)[1] == predicate}
