"""Taxonomies by journal position: the last one before a publication applies to it (semantics 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Publication
from triplecast.taxonomy.read import restore_taxonomy
from triplecast.taxonomy.taxonomy import NO_TAXONOMY, Taxonomy


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
        found: list[tuple[int, int, Taxonomy]] = []
        for number, publication in enumerate(publications):
            taxonomy = self.before(publication.position)
            if found and found[-1][2] is taxonomy:
                found[-1] = (found[-1][0], number + 1, taxonomy)
            else:
                found.append((number, number + 1, taxonomy))
        return found or [(0, 0, NO_TAXONOMY)]


NO_TAXONOMIES = Taxonomies()
