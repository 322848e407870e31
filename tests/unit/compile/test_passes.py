"""Each pass of the compiler does to its example queries what its golden file shows."""

from __future__ import annotations

import pytest

from tests.golden.compile_passes import EXAMPLES, FOLDER, golden_texts
from triplecast.compile.passes import PASSES

TEXTS = dict(golden_texts())


@pytest.mark.parametrize("file", TEXTS)
def test_a_pass_does_what_its_golden_file_shows(file: str) -> None:
    """``make golden`` writes the files again."""
    assert TEXTS[file] == (FOLDER / file).read_text("utf-8")


def test_every_pass_has_a_golden_file_and_no_other_is_left() -> None:
    assert sorted(TEXTS) == sorted(path.name for path in FOLDER.iterdir())
    assert list(EXAMPLES) == [compiler_pass.__name__ for compiler_pass in PASSES]
    assert all(compiler_pass.__doc__ for compiler_pass in PASSES)
