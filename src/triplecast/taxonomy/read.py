"""Read a `Taxonomy` from canonical N-Triples lines, find cycles, and find the version that applies to a publication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from triplecast.errors import InputError, TaxonomyCycle
from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Publication
from triplecast.taxonomy.classes import reach
from triplecast.taxonomy.taxonomy import (
    BROADER,
    NO_TAXONOMY,
    SUB_CLASS,
    SUB_PROPERTY,
    TYPE,
    Taxonomy,
    TermText,
    TextTriple,
)

REACH_LIMIT = 20_000_000
"""Most terms that the terms of a taxonomy reach upwards, summed: the index keeps them as lists, and those of a chain
grow with the square of its length."""
_KINDS = {SUB_CLASS: "classes", SUB_PROPERTY: "properties", BROADER: "concepts"}


def read_taxonomy(documents: Iterable[bytes], broader: bool = False) -> Taxonomy:
    """Return the taxonomy that documents of canonical N-Triples or N-Quads state; graph names do not matter.

    Only the triples that `Taxonomy` describes are read, and none with a blank node, which no publication can name.
    Raises `TaxonomyCycle`, and `InputError` beyond `REACH_LIMIT`.
    """
    wanted = {TYPE, SUB_CLASS, SUB_PROPERTY, *((BROADER,) if broader else ())}
    found = {triple for document in documents for triple in _iri_triples(document) if triple[1] in wanted}
    triples = tuple(sorted(found))
    for predicate, kind in _KINDS.items():
        cycle = find_cycle(_edges(triples, predicate))
        if cycle:
            raise TaxonomyCycle(kind, cycle)
    _check_reach(triples)
    return Taxonomy(triples, broader)


@lru_cache(maxsize=8)
def restore_taxonomy(lines: bytes, broader: bool) -> Taxonomy:
    """Return the taxonomy whose `Taxonomy.lines` are `lines`; the same object while it is cached."""
    return Taxonomy(tuple(_iri_triples(lines)), broader)


def _iri_triples(lines: bytes) -> Iterator[TextTriple]:
    for line in lines.decode().split("\n"):
        terms = line.split(" ", 3)
        if len(terms) == 4 and all(term[0] == "<" for term in terms[:3]):
            yield terms[0], terms[1], terms[2]


def _edges(triples: Sequence[TextTriple], predicate: TermText) -> Mapping[TermText, Sequence[TermText]]:
    edges: dict[TermText, list[TermText]] = {}
    for subject, own, end in triples:
        if own == predicate:
            edges.setdefault(subject, []).append(end)
    return edges


def _check_reach(triples: Sequence[TextTriple]) -> None:
    edges: dict[TermText, list[TermText]] = {}
    for subject, predicate, end in triples:
        edges.setdefault(subject, []).extend((predicate, end))
    left = REACH_LIMIT
    for start in edges:
        left -= len(reach(start, lambda here: edges.get(here, ())))
        if left < 0:
            raise InputError(
                f"the {len(edges):,} terms of the taxonomy have more than {REACH_LIMIT:,} terms above them in all",
                "shorten its chains, or leave out what no subscription needs",
            )


def find_cycle(edges: Mapping[TermText, Sequence[TermText]]) -> tuple[TermText, ...]:
    """Return the first cycle found in the order of `edges`, each term under the next and the last under the first;
    empty if there is none."""
    done: set[TermText] = set()
    for start in edges:
        way: dict[TermText, Iterator[TermText]] = {}
        if start not in done:
            way[start] = iter(edges[start])
        while way:
            last = next(reversed(way))
            following = next(way[last], None)
            if following is None:
                done.add(last)
                del way[last]
            elif following in way:
                terms = list(way)
                return tuple(terms[terms.index(following) :])
            elif following not in done:
                way[following] = iter(edges.get(following, ()))
    return ()


class Taxonomies(NamedTuple):
    """The taxonomy versions that apply to some publications, by position."""

    versions: tuple[TaxonomyVersion, ...] = ()

    def before(self, position: int) -> Taxonomy:
        """Return the taxonomy of a publication at `position`."""
        for version in reversed(self.versions):
            if version.position < position:
                return restore_taxonomy(version.lines, version.broader)
        return NO_TAXONOMY

    def runs(self, publications: Sequence[Publication]) -> list[tuple[int, int, Taxonomy]]:
        """Split publications where the taxonomy changes: (first, one past the last, taxonomy) of each run."""
        if not self.versions:
            return [(0, len(publications), NO_TAXONOMY)]
        found: list[tuple[int, int, Taxonomy]] = []
        for number, publication in enumerate(publications):
            taxonomy = self.before(publication.position)
            if found and found[-1][2] is taxonomy:
                found[-1] = (found[-1][0], number + 1, taxonomy)
            else:
                found.append((number, number + 1, taxonomy))
        return found or [(0, 0, NO_TAXONOMY)]


NO_TAXONOMIES = Taxonomies()
