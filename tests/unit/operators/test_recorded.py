"""Operators that a journal speaks of and no module here declares."""

from __future__ import annotations

from dataclasses import replace

import pytest
from triplecast.operators.registry import Registry

from triplecast.errors import InputError
from triplecast.operators.declaration import Operator

ONE = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "gone", "one")


def test_what_is_declared_takes_the_place_of_what_was_recorded() -> None:
    known = Registry(entry_points=False)
    known.record(ONE)
    assert known.find(ONE.iri) == ONE
    assert known.find_declared(ONE.iri) is None
    known.record(replace(ONE, version="2"))
    assert known.find(ONE.iri) == replace(ONE, version="2"), "what another journal says last"
    moved = replace(ONE, module="moved", name="other")
    known.add(moved)
    assert known.find_declared(ONE.iri) == moved
    known.record(ONE)
    assert known.find(ONE.iri) == moved
    with pytest.raises(InputError, match=r"is moved\.other already"):
        known.add(ONE)


def test_one_that_is_declared_as_it_was_recorded_is_declared() -> None:
    known = Registry(entry_points=False)
    known.record(ONE)
    generation = known.generation
    known.add(ONE)
    assert known.find_declared(ONE.iri) == ONE
    assert known.generation == generation, "no text parses otherwise"
