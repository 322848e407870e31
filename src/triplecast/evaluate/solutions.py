"""The answer to a query, and its JSON form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from pyoxigraph import BlankNode, NamedNode

from triplecast.model.algebra import Term

AnswerTriple: TypeAlias = tuple[NamedNode | BlankNode, NamedNode, Term]

LONGEST_BINDINGS = 16 << 20
"""Bytes of one pair's bindings; beyond, the pair is undecided."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
TOO_LONG = f"answer: more than {LONGEST_BINDINGS} bytes of bindings"


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer to a query over one publication version."""

    variables: tuple[str, ...]
    """Projected variables of SELECT as written, visible variables of WHERE for CONSTRUCT, none for ASK."""
    rows: tuple[tuple[Term | None, ...], ...]
    """Aligned with `variables`; after all modifiers; ordered by ORDER BY, then canonically (semantics 1.4)."""
    graph: tuple[AnswerTriple, ...]
    """The triples of CONSTRUCT, distinct, ordered by their N-Triples text."""
    matched: bool
    """Semantics 1.1: a solution or more, true, or a triple or more."""


def bindings_json(solutions: Solutions) -> bytes:
    """Rows as `MatchedBatch.bindings` holds them: a JSON list of objects, keys sorted, unbound absent, no white
    space."""
    order = sorted(range(len(solutions.variables)), key=solutions.variables.__getitem__)
    rows = [
        {solutions.variables[index]: str(term) for index in order if (term := row[index]) is not None}
        for row in solutions.rows
    ]
    return _ENCODER.encode(rows).encode()


def bounded_bindings(solutions: Solutions) -> bytes | None:
    """`bindings_json`, None when it is longer than `LONGEST_BINDINGS`, which is found without writing much more."""
    least = 0
    for row in solutions.rows:
        for term in row:
            least += len(str(term)) if term is not None else 0
            if least > LONGEST_BINDINGS:
                return None
    bindings = bindings_json(solutions)
    return bindings if len(bindings) <= LONGEST_BINDINGS else None
