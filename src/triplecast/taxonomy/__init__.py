"""Taxonomies: the order of classes, properties and concepts beside the publications, and what it entails.

Pure values and functions over any kind of term; `triplecast.match.entailed` does the same for the index.
"""

from triplecast.taxonomy.classes import Classes, Statements, holders
from triplecast.taxonomy.entail import TRIPLES_LIMIT, EntailmentTooLarge, entail
from triplecast.taxonomy.read import NO_TAXONOMIES, Taxonomies, read_taxonomy, restore_taxonomy
from triplecast.taxonomy.taxonomy import NO_TAXONOMY, Schema, Taxonomy, Words

__all__ = [
    "NO_TAXONOMIES", "NO_TAXONOMY", "TRIPLES_LIMIT", "Classes", "EntailmentTooLarge", "Schema", "Statements",
    "Taxonomies", "Taxonomy", "Words", "entail", "holders", "read_taxonomy", "restore_taxonomy",
]  # fmt: skip
