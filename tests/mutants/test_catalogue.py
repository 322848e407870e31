"""The planted faults still fit the sources; `make mutants` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant

SOURCES = Path(__file__).resolve().parents[2] / "src" / "triplecast"


def test_there_are_forty() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_text_occurs_once(mutant: Mutant) -> None:
    text = (SOURCES / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    assert mutant.new != mutant.old
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
