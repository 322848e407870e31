"""The examples run, and the README's snippet is one that runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PRINTS = {
    "first_subscription.py": ["80 items, 10 matches"],
    "full_text.py": ["calmly: as written", "hearing 17; figures 32; calmly 23; cost 24; rtf 32"],
    "taxonomy.py": ["environment: []", "health: ['living', 'society']", "transport: ['society']"],
    "durable.py": ["280 pages: 0 matches", "320 pages: 1 matches", "320 pages: 0 matches", "350 pages: 1 matches"],
}


@pytest.mark.parametrize("name", sorted(PRINTS))
def test_an_example_runs(name: str) -> None:
    answer = subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert [line for line in lines if line in PRINTS[name]] == PRINTS[name]


def test_every_example_is_tested() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} - {"generate.py"} == set(PRINTS)


def test_the_readme_snippet_runs() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    answer = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("['Tram line nine reaches the harbour of Leuven', ")


def test_the_readme_counts_what_the_samples_give(capsys: pytest.CaptureFixture[str]) -> None:
    from triplecast.cli import main

    examples = ROOT / "examples"
    argv = ["match", "--subscriptions", str(examples / "subscriptions"), "--publications", str(examples / "inbox")]
    assert main(argv) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    publications, subscriptions, matches = re.findall(r"\d+", last)[:3]
    line = f"{publications} publications matched against {subscriptions} subscriptions: {matches} notifications"
    assert line in (ROOT / "README.md").read_text("utf-8")
