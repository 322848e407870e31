"""docs/built-in-operators.md: its example runs, and its numbers are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from triplecast.operators import declared_operators
from triplecast.operators.box.likeness import shipped_vocabulary
from triplecast.operators.box.pictures import FORMATS, LEAST, LONGEST_SIDE, MOST_MEASURED, MOST_PIXELS, TOLERANCE
from triplecast.operators.box.texts import LONGEST, SHIPPED

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "built-in-operators.md").read_text("utf-8")
PROGRAM = """
import news
from triplecast import Engine

engine = Engine()
engine.subscribe(
    'SELECT ?n { ?item rss:title ?title BIND(<https://example.org/op#alike>(?title, "night train to Porto") AS ?n) }'
)
for title in ("The NIGHT train, to Porto", "a train", "nothing of the kind"):
    text = f'@prefix rss: <http://purl.org/rss/1.0/> . <urn:item> rss:title "{title}" .'
    receipt = engine.publish(text, "text/turtle")
    print([round(float(row["n"].value), 3) for match in receipt.matches for row in match.bindings])
"""


def test_a_vocabulary_of_ones_own(tmp_path: Path) -> None:
    (module,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if block.startswith("# news.py"))
    (command,) = re.findall(r"\$ python -m (triplecast.operators.box.vocabulary \S+)", PAGE)
    (tmp_path / "news.py").write_text(module)
    (tmp_path / "corpus.txt").write_text("the train to Porto\n\nthe museum\n\nthe night in Ghent\n")
    path = os.pathsep.join((str(tmp_path), *(each for each in sys.path if each)))
    environment = {**os.environ, "PYTHONPATH": path}
    made = [sys.executable, "-m", *command.split(), "corpus.txt", "--least", "1"]
    with (tmp_path / "news-2026.vocabulary").open("wb") as written:
        subprocess.run(made, stdout=written, check=True, cwd=tmp_path, env=environment)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert answer.stdout.split("\n") == ["[0.959]", "[0.289]", "[0.0]", ""], answer.stderr


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"by at most {TOLERANCE} of 255" in PAGE
    assert f"at most {TOLERANCE} in each" in PAGE
    assert f"Fewer than {LEAST} pixels is a speck" in PAGE
    formats = f"{', '.join(FORMATS[:-1])} and {FORMATS[-1]}".replace("WEBP", "WebP")
    assert f"Formats are {formats} of at most {MOST_PIXELS:,} pixels and {LONGEST_SIDE:,} a side" in PAGE
    assert f"at most {LONGEST:,} characters" in PAGE
    assert f"at most {MOST_MEASURED:,} objects)" in PAGE
    vocabulary = shipped_vocabulary(SHIPPED)
    told = f"`{SHIPPED}`, has {len(vocabulary.frequencies):,} words of {vocabulary.documents} paragraphs"
    assert told in PAGE
    for name in ("width", "height", "colour", "objects", "objectsOfColour"):
        declared = declared_operators().find(f"urn:triplecast:op:{name}")
        assert declared is not None
        assert f"A call may take {declared.seconds:g} s and {declared.memory >> 30} GB." in PAGE
        assert f"op:{name}(" in PAGE
