"""Correction c2: whether tuples can be given triples that agree on their variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from experiments.rtf.publications import Statement
from experiments.rtf.queries import Places, Variable
from experiments.rtf.steps import TRIES

Bound = Mapping[str, str]
"""Variable's name → term."""


def needs_join(tuples: Sequence[Places]) -> bool:
    """Whether a variable stands at two places of the query."""
    names = [place.name for places in tuples for place in places if isinstance(place, Variable)]
    return len(set(names)) < len(names)


def bind(places: Places, statement: Statement, bound: Bound) -> Bound | None:
    """`bound` with a tuple's variables bound to the triple's terms; None where one has another term already."""
    grown = dict(bound)
    for place, term in zip(places, statement.places, strict=True):
        if isinstance(place, Variable) and grown.setdefault(place.name, term) != term:
            return None
    return grown


def agree(tuples: Sequence[Places], fitting: Sequence[Sequence[Statement]], steps: Counter[str]) -> bool:
    """`fitting` are the triples that each tuple matches by itself. Tuples with few of them go first."""
    order = sorted(range(len(tuples)), key=lambda number: len(fitting[number]))
    return _agree([tuples[number] for number in order], [fitting[number] for number in order], {}, steps)


def _agree(tuples: Sequence[Places], fitting: Sequence[Sequence[Statement]], bound: Bound, steps: Counter[str]) -> bool:
    if not tuples:
        return True
    for statement in fitting[0]:
        steps[TRIES] += 1
        grown = bind(tuples[0], statement, bound)
        if grown is not None and _agree(tuples[1:], fitting[1:], grown, steps):
            return True
    return False
