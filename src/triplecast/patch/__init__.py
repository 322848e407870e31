"""RDF Patch: transactions of added and removed quads, as text (https://afs.github.io/rdf-delta/rdf-patch.html)."""

from triplecast.patch.graphs import GraphChange, changes_of, lines_of, quads_of, rows_between, rows_of
from triplecast.patch.patch import Patch, PatchRow, literal, text_of
from triplecast.patch.read import read_patches
from triplecast.patch.write import write_patch

__all__ = [
    "GraphChange",
    "Patch",
    "PatchRow",
    "changes_of",
    "lines_of",
    "literal",
    "quads_of",
    "read_patches",
    "rows_between",
    "rows_of",
    "text_of",
    "write_patch",
]
