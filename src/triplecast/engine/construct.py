"""The graph of a ``CONSTRUCT``, made from its solutions by whoever reads them (decision 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial

from pyoxigraph import BlankNode, Triple

from triplecast.evaluate.construct import instances
from triplecast.model.algebra import Term, TriplePattern


def construct(template: Sequence[TriplePattern], solutions: Sequence[Mapping[str, Term]], seed: str) -> list[Triple]:
    """The template's triples for each solution (`instances`), sorted by their text, each once.

    Blank nodes of the template are others for each solution, and the same whenever `seed` and solutions are.
    """
    found: dict[str, Triple] = {}
    for number, solution in enumerate(solutions):
        for terms in instances(template, solution, partial(_blank_node, f"{seed}\n{number}")):
            triple = Triple(*terms)
            found[str(triple)] = triple
    return [found[text] for text in sorted(found)]


def _blank_node(seed: str, name: str) -> BlankNode:
    return BlankNode("g" + hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=16).hexdigest())
