"""docs/operators.md: its modules answer, and its numbers are those of the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.house.pages import blocks_of
from tests.house.pages import run as run_command
from triplecast.ingest.attachments import LARGEST
from triplecast.operators.asking.availability import COSTLY, PROBATION, QUARANTINE, REST
from triplecast.operators.asking.workers import BATCH_CALLS
from triplecast.operators.declaration import MEMORY, SECONDS
from triplecast.operators.worker import MOST_ROWS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operators.md").read_text("utf-8")


SUBSCRIBED = """
import places
from triplecast import Engine, QueryRefused

asked = "PREFIX my: <https://example.org/op#> ASK {{ ?x <urn:at> ?p FILTER(my:inside(?p, {!r})) }}"
with Engine() as engine:
    try:
        engine.subscribe(asked.format("habour"))
    except QueryRefused as refused:
        print(refused.line, "known are harbour" in str(refused))
    engine.subscribe(asked.format("harbour"), id="h")
    for place in ("51.23 4.41", "52.37 4.90"):
        receipt = engine.publish(f'<urn:a> <urn:at> "{place}" .', "text/turtle")
        print([match.subscription for match in receipt.matches])
"""


def module_of(name: str) -> str:
    (module,) = (block.text for block in blocks_of(PAGE) if block.file == name)
    return module


def test_its_declaration_answers_and_checks(tmp_path: Path) -> None:
    (tmp_path / "places.py").write_text(module_of("places.py"))
    assert run(tmp_path, SUBSCRIBED).splitlines() == ["1 True", "['h']", "[]"]


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
    (tmp_path / "people.py").write_text(module_of("people.py"))
    (tmp_path / "onnxruntime.py").write_text(MODEL)
    assert run(tmp_path, PROGRAM).splitlines() == ["[] ()", "[] ()", "['3'] ()", "['77'] ()"]
    assert (tmp_path / "batches").read_text() == "4\n", "all at once"


def run(folder: Path, program: str) -> str:
    answer = run_command(folder, sys.executable, "-c", program)
    assert answer.returncode == 0, answer.stdout
    return answer.stdout


def test_its_numbers_are_those_of_the_code() -> None:
    prose = " ".join(PAGE.split())
    assert f"limits of one call or batch: {SECONDS:g} s, and {MEMORY >> 30} GB above" in prose
    assert f"At most {MOST_ROWS:,} different results" in prose
    assert f"{LARGEST >> 20} MB a document" in prose
    assert f"up to {BATCH_CALLS} pictures at once" in prose
    assert f"|{QUARANTINE} failures in a row" in prose
    assert f"crash counts as {COSTLY}|" in prose
    assert f"except one in {PROBATION} that" in prose
    assert f"at least {REST} times as long" in prose
