"""Taxonomies: the order of classes, properties and concepts beside the publications, and what it entails.

Pure values and functions over any kind of term; `triplecast.match.entailed` does the same for the index.
"""

from triplecast.taxonomy.classes import Classes
from triplecast.taxonomy.entail import TRIPLES_LIMIT, EntailmentTooLarge, entail
from triplecast.taxonomy.read import read_taxonomy, restore_taxonomy
from triplecast.taxonomy.schema import Schema, Words
from triplecast.taxonomy.taxonomy import NO_TAXONOMY, Taxonomy
from triplecast.taxonomy.versions import NO_TAXONOMIES, Taxonomies

__all__ = [
    "NO_TAXONOMIES",
    "NO_TAXONOMY",
    "TRIPLES_LIMIT",
    "Classes",
    "EntailmentTooLarge",
    "Schema",
    "Taxonomies",
    "Taxonomy",
    "Words",
    "entail",
    "read_taxonomy",
    "restore_taxonomy",
]
