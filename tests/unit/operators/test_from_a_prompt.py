"""Operators of a module in the current folder, where Python is started without a script: their worker finds it too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast.sandbox import search_path

MODULE = """
from triplecast.operators import operator

@operator("https://example.org/at-hand#twice", version="1", arguments=("bound", "free"))
def twice(event, number):
    return 2 * int(number.value)
"""
PROGRAM = """
import sys
{before}
import at_hand
{after}
from triplecast.model.publication import Publication
from triplecast.model.answers import GroundCall
from triplecast.operators.messages import PublicationCall
from triplecast.operators.operator_set import declared_operators
from triplecast.operators.asking.workers import Performer
publication = Publication(1, "urn:g", 1, "2026-01-01T00:00:00.000000Z", b"")
number = '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'
with Performer(declared_operators()) as performer:
    call = GroundCall("https://example.org/at-hand#twice", (number,))
    (done,) = performer.perform([PublicationCall(publication, call)])
print(done.answer)
"""


@pytest.mark.parametrize(
    ("arguments", "before", "after"),
    [
        pytest.param(["-c"], "", "", id="python -c"),
        pytest.param(["-"], "", "", id="stdin"),
        pytest.param(["-c"], "", "import os; os.mkdir('other'); os.chdir('other')", id="folder changed"),
        pytest.param(["-P", "-c"], "sys.path.append('.')", "sys.path.remove('.')", id="path at runtime"),
    ],
)
def test_a_module_in_the_current_folder(tmp_path: Path, arguments: list[str], before: str, after: str) -> None:
    (tmp_path / "at_hand.py").write_text(MODULE)
    program = PROGRAM.format(before=before, after=after)
    command = [sys.executable, *arguments, *([program] if "-c" in arguments else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search_path())}
    answer = subprocess.run(
        command, input=program, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert answer.stdout.startswith("Found(rows=((<Literal value=6 "), answer.stdout + answer.stderr
