"""Which marks the keys of a segment ask for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from triplecast.index import Segment
from triplecast.model.entailment import Mark
from triplecast.taxonomy.taxonomy import TermText

Wanted: TypeAlias = frozenset[tuple[Mark, TermText]]
"""Marks with the classes they are asked with. What no key asks for is not put into a view."""

_MARKS = {str(mark.predicate).encode(): mark for mark in Mark}


def wanted_of(segment: Segment) -> Wanted:
    """Of all keys of a segment, in any order."""
    if not segment.reading.marked:
        return frozenset()
    dictionary, keys = segment.tables.dictionary, segment.tables.index.key_terms

    def text(id: int) -> bytes:
        return dictionary.text[dictionary.offsets[id] : dictionary.offsets[id + 1]].tobytes()

    predicates = np.unique(keys[:, 1])
    marks = {id: _MARKS[text(id)] for id in predicates[predicates >= 0].tolist() if text(id) in _MARKS}
    rows = keys[np.isin(keys[:, 1], np.array(list(marks), np.int32))]
    return frozenset((marks[predicate], text(end).decode()) for _, predicate, end in rows.tolist())
