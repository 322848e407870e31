"""Read an `RdfSchema` from canonical N-Triples lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from triplecast.errors import InputError
from triplecast.schema.schema import CLASS, DOMAIN, PROPERTY, RANGE, SET_VALUED, STRONG, TRUE, RdfSchema
from triplecast.taxonomy.taxonomy import SUB_CLASS, TYPE, TextTriple

_ORDERS = frozenset((DOMAIN, RANGE, SUB_CLASS))
_MARKS = frozenset((SET_VALUED, STRONG))
_BOOLEANS = {TRUE: True, TRUE.replace("true", "1"): True, TRUE.replace("true", "false"): False,
             TRUE.replace("true", "0"): False}  # fmt: skip


def read_schema(documents: Iterable[bytes]) -> RdfSchema:
    """Return the schema that documents of canonical N-Triples or N-Quads state; graph names do not matter.

    Only the triples that `RdfSchema` describes are read. Raises `InputError` for a mark that is neither true nor false.
    """
    return RdfSchema(tuple(sorted({triple for document in documents for triple in _taken(document)})))


@lru_cache(maxsize=8)
def restore_schema(lines: bytes) -> RdfSchema:
    """Return the schema whose `RdfSchema.lines` are `lines`; the same object while it is cached."""
    return RdfSchema(tuple(_taken(lines)))


def _taken(lines: bytes) -> Iterator[TextTriple]:
    for line in lines.decode().split("\n"):
        terms = line.split(" ", 2)
        if len(terms) < 3 or not terms[0][0] == terms[1][0] == "<":
            continue
        subject, predicate, rest = terms
        end = rest.split(" ", 1)[0]
        is_declared = predicate == TYPE and end in (CLASS, PROPERTY)
        if is_declared or (predicate in _ORDERS and end[0] == "<"):
            yield subject, predicate, end
        elif predicate in _MARKS:
            if end not in _BOOLEANS:
                raise InputError(f"the schema says {subject} {predicate} {end}", "say true or false, without quotes")
            if _BOOLEANS[end]:
                yield subject, predicate, TRUE
