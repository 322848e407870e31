"""Canonical names for blank nodes: RDF Dataset Canonicalization (RDFC-1.0, W3C Recommendation), sections 4.4 to 4.8.

It works on canonical N-Triples or N-Quads lines, counts its steps and stops at a limit, since the algorithm is
exponential for graphs whose blank nodes are alike. The result, or that it stops, depends on the graph alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import permutations
from typing import NamedTuple, TypeAlias

_DEPTH = 200
"""Longest chain of blank nodes that is followed; a longer one counts as out of steps."""
_OBJECT = rb"(?:<[^<>]*>|_:[^ ]+|\"(?:[^\"\\]++|\\.)*+\"(?:@[^ ]+|\^\^<[^>]*>)?)"
_LINE = re.compile(rb"(<[^>]*>|_:[^ ]+) (<[^>]*>) (" + _OBJECT + rb")(?: (<[^>]*>|_:[^ ]+))? \.\n", re.DOTALL)


class OutOfSteps(Exception):
    """The limit of steps was reached."""


class _Quad(NamedTuple):
    """Terms in canonical form; `graph` is empty in the default graph. A blank node starts with ``_:``."""

    subject: bytes
    predicate: bytes
    object: bytes
    graph: bytes

    def written(self) -> bytes:
        graph = self.graph + b" " if self.graph else b""
        return b"%b %b %b %b.\n" % (self.subject, self.predicate, self.object, graph)


class _Issuer:
    """Gives each blank node a name at its first request, in order."""

    __slots__ = ("issued", "prefix")

    def __init__(self, prefix: bytes, issued: dict[bytes, bytes] | None = None) -> None:
        self.prefix = prefix
        self.issued: dict[bytes, bytes] = {} if issued is None else issued

    def issue(self, node: bytes) -> bytes:
        name = self.issued.get(node)
        if name is None:
            name = self.issued[node] = b"_:%b%d" % (self.prefix, len(self.issued))
        return name

    def copy(self) -> _Issuer:
        return _Issuer(self.prefix, dict(self.issued))


Known: TypeAlias = dict[tuple[object, ...], tuple[list[bytes], int] | None]
"""Nodes that are alike, by all that naming them depends on: in which order they were named, and the steps of that; None
where these did not suffice."""


def canonical_names(lines: Iterable[bytes], steps: int, known: Known | None = None) -> dict[bytes, bytes]:
    """Map every blank node of the lines, ``_:label``, to its name ``_:c14nN``. Raises OutOfSteps. `known`: of graphs
    with the same labels and `steps`, which name what they share once."""
    return _Canonicalisation(lines, steps).run(known)


def names_within(
    lines: Iterable[bytes], steps: int, known: Known | None = None
) -> tuple[dict[bytes, bytes] | None, int]:
    """`canonical_names`, or None where `steps` do not suffice, and how many steps that took."""
    naming = _Canonicalisation(lines, steps)
    try:
        return naming.run(known), naming.steps_taken
    except OutOfSteps:
        return None, steps


def rename(lines: Iterable[bytes], names: dict[bytes, bytes]) -> list[bytes]:
    """Return the lines with the blank nodes of `names` renamed, unsorted."""
    return [_Quad(*(names.get(term, term) for term in quad)).written() for quad in map(_quad, lines)]


def names_by_appearance(lines: Sequence[bytes]) -> dict[bytes, bytes]:
    """Name the blank nodes that a parser labelled at random: ``_:b0``, ``_:b1`` … in order of appearance. The
    publisher's own labels stay and are not used twice."""
    nodes = list(dict.fromkeys(term for line in lines for term in _quad(line) if term.startswith(b"_:")))
    given = {node for node in nodes if not _INVENTED.fullmatch(node)}
    names: dict[bytes, bytes] = {}
    number = 0
    for node in nodes:
        if node in given:
            continue
        while (name := b"_:b%d" % number) in given:
            number += 1
        names[node] = name
        number += 1
    return names


_INVENTED = re.compile(rb"_:[a-f][0-9a-f]{23,31}")
"""The label of 128 random bits that the parser gives a blank node without one."""


def split_line(line: bytes) -> _Quad | None:
    """Split a canonical line into its terms; None for a line with a triple term."""
    match = _LINE.fullmatch(line)
    return None if match is None else _Quad(match[1], match[2], match[3], match[4] or b"")


def _quad(line: bytes) -> _Quad:
    quad = split_line(line)
    if quad is None:
        raise ValueError(f"not a canonical line: {line[:200]!r}")
    return quad


class _Canonicalisation:
    """The state of one run (section 4.3)."""

    def __init__(self, lines: Iterable[bytes], steps: int) -> None:
        self._limit = self._steps = steps
        self._depth = 0
        self._quads: dict[bytes, list[_Quad]] = {}
        terms: dict[bytes, bytes] = {}
        for line in lines:
            quad = _Quad(*(terms.setdefault(term, term) if term[:1] != b'"' else term for term in _quad(line)))
            for node in dict.fromkeys((quad.subject, quad.object, quad.graph)):
                if node.startswith(b"_:"):
                    self._quads.setdefault(node, []).append(quad)
        self._hashes = {node: self._first_degree(node) for node in self._quads}
        self._canonical = _Issuer(b"c14n")

    @property
    def steps_taken(self) -> int:
        return self._limit - self._steps

    def run(self, known: Known | None = None) -> dict[bytes, bytes]:
        """Section 4.4."""
        alike: dict[bytes, list[bytes]] = {}
        for node, digest in self._hashes.items():
            alike.setdefault(digest, []).append(node)
        for digest in sorted(alike):
            if len(alike[digest]) == 1:
                self._canonical.issue(alike[digest][0])
        groups = [alike[digest] for digest in sorted(alike) if len(alike[digest]) > 1]
        if groups and known is not None:
            self._name_known(groups, known)
        else:
            for nodes in groups:
                self._name_alike(nodes)
        return self._canonical.issued

    def _name_known(self, groups: list[list[bytes]], known: Known) -> None:
        """Name nodes that are alike as where their quads and the names in these were the same."""
        issued = self._canonical.issued
        quads = tuple([quad for nodes in groups for node in nodes for quad in self._quads[node]])
        names = tuple([(term, issued[term]) for quad in quads for term in quad if term in issued])
        key = (names, tuple(map(len, groups)), quads)
        if key not in known:
            before = len(issued)
            try:
                for nodes in groups:
                    self._name_alike(nodes)
            except OutOfSteps:
                known[key] = None
                raise
            known[key] = [*issued][before:], self.steps_taken
            return
        found = known[key]
        if found is None:
            raise OutOfSteps
        for node in found[0]:
            self._canonical.issue(node)
        self._steps -= found[1]

    def _name_alike(self, nodes: list[bytes]) -> None:
        paths = []
        for node in nodes:
            if node not in self._canonical.issued:
                issuer = _Issuer(b"b")
                issuer.issue(node)
                paths.append(self._n_degree(node, issuer))
        for _, issuer in sorted(paths, key=lambda path: path[0]):
            for node in issuer.issued:
                self._canonical.issue(node)

    def _first_degree(self, node: bytes) -> bytes:
        """Section 4.6: hash the node's quads with itself as ``_:a`` and every other blank node as ``_:z``."""
        lines = [
            _Quad(
                *((b"_:a" if term == node else b"_:z") if term.startswith(b"_:") else term for term in quad)
            ).written()
            for quad in self._quads[node]
        ]
        lines.sort()
        return sha256(b"".join(lines)).hexdigest().encode()

    def _related(self, related: bytes, quad: _Quad, issuer: _Issuer, position: bytes) -> bytes:
        """Section 4.7."""
        self._spend()
        name = self._canonical.issued.get(related) or issuer.issued.get(related) or self._hashes[related]
        predicate = b"" if position == b"g" else quad.predicate
        return sha256(position + predicate + name).hexdigest().encode()

    def _n_degree(self, node: bytes, issuer: _Issuer) -> tuple[bytes, _Issuer]:
        """Section 4.8."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise OutOfSteps
        neighbours: dict[bytes, list[bytes]] = {}
        for quad in self._quads[node]:
            for position, term in ((b"s", quad.subject), (b"o", quad.object), (b"g", quad.graph)):
                if term != node and term.startswith(b"_:"):
                    neighbours.setdefault(self._related(term, quad, issuer, position), []).append(term)
        hashed: list[bytes] = []
        for digest in sorted(neighbours):
            path, issuer = self._shortest_path(neighbours[digest], issuer)
            hashed += (digest, path)
        self._depth -= 1
        return sha256(b"".join(hashed)).hexdigest().encode(), issuer

    def _shortest_path(self, related: list[bytes], issuer: _Issuer) -> tuple[bytes, _Issuer]:
        """Return the least path over all orders of `related` (section 4.8, step 5.4), and its issuer."""
        chosen: tuple[bytes, _Issuer] | None = None
        for order in permutations(related):
            found = self._path(order, issuer.copy(), None if chosen is None else chosen[0])
            if found is not None and (chosen is None or found[0] < chosen[0]):
                chosen = found
        assert chosen is not None
        return chosen

    def _path(self, order: tuple[bytes, ...], issuer: _Issuer, best: bytes | None) -> tuple[bytes, _Issuer] | None:
        """Return a path and its issuer; None as soon as it cannot be less than `best`."""
        self._spend()
        path = b""
        deeper = []
        for node in order:
            name = self._canonical.issued.get(node)
            if name is None:
                if node not in issuer.issued:
                    deeper.append(node)
                name = issuer.issue(node)
            path += name
            if best is not None and len(path) >= len(best) and path > best:
                return None
        for node in deeper:
            digest, after = self._n_degree(node, issuer)
            path += issuer.issue(node) + b"<" + digest + b">"
            issuer = after
            if best is not None and len(path) >= len(best) and path > best:
                return None
        return path, issuer

    def _spend(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise OutOfSteps
