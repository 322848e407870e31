"""docs/operators.md: its first example runs, and its numbers are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast.ingest.attachments import LARGEST
from triplecast.operators.answers import MOST_ROWS
from triplecast.operators.declaration import MEMORY, SECONDS
from triplecast.operators.perform import BATCH_CALLS, COSTLY, PROBATION, QUARANTINE, REST

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operators.md").read_text("utf-8")


def test_its_example_runs(tmp_path: Path) -> None:
    module, program, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "boats.py").write_text(module)
    assert run(tmp_path, program) == "[3]\n"


MODEL = """
import numpy as np


class InferenceSession:
    def __init__(self, path):
        assert path == "people.onnx"

    def run(self, wanted, given):
        images = given["images"]
        assert images.shape[1:] == (640, 640, 3)
        assert images.dtype == np.uint8
        with open("batches", "a") as batches:
            batches.write(f"{len(images)}\\n")
        boxes = np.zeros((len(images), 100, 5))
        for each, image in zip(boxes, images):
            each[: image[0, 0, 0], 4] = 0.9
        return [boxes]
"""
"""Sees as many people as the first pixel is red."""
PROGRAM = """
import io
import people
from PIL import Image
from triplecast import Engine
from triplecast.ingest.document import Document

def draw(red):
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20 + red), (red, 0, 0)).save(buffer, "PNG")
    return {"urn:pic": buffer.getvalue()}

engine = Engine()
engine.subscribe("SELECT ?n { ?p a <urn:Picture> ; <https://example.org/op#people> ?n FILTER(?n > 2) }")
text = b"<urn:pic> a <urn:Picture> ."
documents = [
    Document(f"{red}.ttl", text, graph=f"urn:{red}", attachments=draw(red)) for red in (0, 2, 3, 77)
]
for receipt in engine.publish_many(documents):
    print([row["n"].value for match in receipt.matches for row in match.bindings], receipt.undecided)
"""


def test_its_model_runs(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="pictures need the extra [operators]")
    (module,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if block.startswith("# people.py"))
    (tmp_path / "people.py").write_text(module)
    (tmp_path / "onnxruntime.py").write_text(MODEL)
    assert run(tmp_path, PROGRAM).splitlines() == ["[] ()", "[] ()", "['3'] ()", "['77'] ()"]
    assert (tmp_path / "batches").read_text() == "4\n", "all at once"


def run(folder: Path, program: str) -> str:
    path = os.pathsep.join((str(folder), *(each for each in sys.path if each)))
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"({SECONDS:g} s; {MEMORY >> 30} GB above" in PAGE
    assert f"At most {MOST_ROWS:,} different results" in PAGE
    assert f"{LARGEST >> 20} MB a document" in PAGE
    assert f"up to {BATCH_CALLS} pictures at once" in PAGE
    assert f"After {QUARANTINE} failures in a row" in PAGE
    assert f"each counts as {COSTLY}" in PAGE
    assert f"one call in {PROBATION}" in PAGE
    assert f"not before {REST} times as long" in PAGE


def test_its_walk_through_the_command_line_runs(tmp_path: Path) -> None:
    module, program, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (query,) = re.findall(r'"""(PREFIX .*?)"""', program, re.S)
    (line,) = re.findall(r'^\{"id": "urn:g:1".*\}$', PAGE, re.M)
    (tmp_path / "boats.py").write_text(module)
    (tmp_path / "fleet.rq").write_text(query)
    (tmp_path / "pictures.jsonl").write_text(line)
    commands = re.findall(r"^\$ triplecast ((?:operators|match|explain) .*?)(?: +#.*)?$", PAGE, re.M)
    told = ""
    for command in commands:
        told += run(tmp_path, f"import sys; from triplecast.cli import main; sys.exit(main({command.split()!r}))")
    assert len(commands) == 3
    assert "https://example.org/op#boats" in told
    assert "urn:g:1  fleet.rq" in told
    assert "my:boats(<urn:pic:1>) returns 3 (version 1)" in told
