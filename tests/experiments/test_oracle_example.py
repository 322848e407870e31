"""The example of `experiments/README.md` agrees with the engine; a matcher that is wrong would be told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

EXAMPLE = re.search(
    r"```python\n(.*?)```", (Path(__file__).resolve().parents[2] / "experiments" / "README.md").read_text("utf-8"), re.S
)


def test_the_readmes_matcher_agrees_with_the_engine_and_a_wrong_one_does_not() -> None:
    assert EXAMPLE is not None
    code = EXAMPLE[1]
    known: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), known)
    forgetful = code.replace("compares(row[star], how, value)", "True")
    assert forgetful != code
    with pytest.raises(ValueError, match=r"publication \d+, subscription \d+: the matcher has .*, the engine "):
        exec(compile(forgetful, "README.md", "exec"), {})
