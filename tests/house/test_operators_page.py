"""docs/operators.md: its first example runs, and its numbers are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from triplecast.ingest.attachments import LARGEST
from triplecast.operators.answers import MOST_ROWS
from triplecast.operators.declaration import MEMORY, SECONDS
from triplecast.operators.perform import BATCH_CALLS, COSTLY, PROBATION, QUARANTINE, REST

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operators.md").read_text("utf-8")


def test_its_example_runs(tmp_path: Path) -> None:
    module, program, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "boats.py").write_text(module)
    path = os.pathsep.join((str(tmp_path), *(each for each in sys.path if each)))
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": path}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert answer.stdout == "[3]\n", answer.stderr


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"({SECONDS:g} s; {MEMORY >> 30} GB above" in PAGE
    assert f"At most {MOST_ROWS:,} different results" in PAGE
    assert f"{LARGEST >> 20} MB a document" in PAGE
    assert f"up to {BATCH_CALLS} pictures at once" in PAGE
    assert f"After {QUARANTINE} failures in a row" in PAGE
    assert f"each counts as {COSTLY}" in PAGE
    assert f"one call in {PROBATION}" in PAGE
    assert f"not before {REST} times as long" in PAGE
