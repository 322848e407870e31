"""Kinds of counted steps: one for each thing that is touched; the writing of results is left out, as of the engine.
They do not depend on the machine."""

from __future__ import annotations

NODES = "trie nodes"
"""Examined, each once whichever of its list is asked for; or looked up in their stead (k1)."""
POSTINGS = "postings"
"""Tuple identifiers taken from trie nodes; entries of iBroker's lists examined."""
QUERIES = "queries looked at"
"""In the query table."""
TESTS = "marks looked at"
"""Of its tuples, up to one that is not marked."""
TRIES = "triples tried"
"""While the variables of a query are bound."""
CHECKS = "constraint checks"
"""Distances and negated words, and iBroker's lists of words, held against a text."""
