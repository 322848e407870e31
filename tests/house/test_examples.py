"""The examples run, and the README's snippet is one that runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.pages import matches

ROOT = Path(__file__).resolve().parents[2]

PRINTS = {
    "first_subscription.py": ["80 items, 10 matches"],
    "full_text.py": ["calmly: as written", "hearing 17; figures 32; calmly 23; cost 24; rtf 32"],
    "taxonomy.py": [
        "environment: []",
        "health: [('living', 'added'), ('society', 'added')]",
        "transport: [('living', 'removed'), ('society', 'changed')]",
    ],
    "operators/city.py": [
        "the Bronx       a police car close behind a car      s1-chase: taken 2026-11-21T18:01:00Z",
        "Harlem          a police car close behind a car      -",
        "the Bronx       60 people in a crowd                 s2-mob: people 60",
        "the Bronx       two crowds of 30                     -",
        "Times Square    a traffic jam, 260 pedestrians       s3-congestion: pedestrians 260",
        "Times Square    a traffic jam, 250 pedestrians       -",
        "the Bronx       an accident in a jam, 1 police car   s4-accident: police 1",
        "the Bronx       an accident in a jam, 2 police cars  -",
        "the harbour     5 tour boats, 2 of the guard         s5-boats: metres 512, tour 5, guard 2",
        "the harbour     5 tour boats, 3 of the guard         -",
        "the East River  5 tour boats                         -",
        "Brooklyn        nobody                               -",
    ],
    "curator.py": [
        "tuesday:",
        "  articles + title=A charter found",
        "  datasets + licence=https://data.example/open title=Noise",
        "  datasets - licence=https://data.example/open title=Trees",
        "  datasets + licence=https://data.example/open title=Street trees",
        "  datasets - licence=https://data.example/open title=Wells",
        "  laws - state=in force title=Fees order",
        "  laws + state=repealed title=Fees order",
    ],
    "durable.py": ["280 pages: 0 matches", "320 pages: 1 matches", "320 pages: 0 matches", "350 pages: 1 matches"],
}


@pytest.mark.parametrize("name", sorted(PRINTS))
def test_an_example_runs(name: str) -> None:
    if name == "operators/city.py":
        pytest.importorskip("shapely", reason="the city needs the extra [operators]")
    answer = subprocess.run([sys.executable, ROOT / "examples" / name], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert [line for line in lines if line in PRINTS[name]] == PRINTS[name]


def test_the_curators_page_shows_what_is_printed() -> None:
    assert "\n".join(PRINTS["curator.py"]) in (ROOT / "docs" / "curator.md").read_text("utf-8")


def test_every_example_is_tested() -> None:
    found = {path.relative_to(ROOT / "examples").as_posix() for path in (ROOT / "examples").rglob("*.py")}
    assert found - {"generate.py", "operators/cameras.py", "operators/drawing.py"} == set(PRINTS)


def test_what_the_city_leaves_is_matched_by_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("shapely", reason="the city needs the extra [operators]")
    city = ROOT / "examples" / "operators"
    written = subprocess.run([sys.executable, city / "city.py", tmp_path], capture_output=True, text=True, check=True)
    calls, snapshots, alone = map(int, re.findall(r"\d+", written.stdout.split("\n\n")[2])[:3])
    assert (snapshots, alone) == (12, 168)
    assert 12 <= calls <= 100, "each snapshot is asked about something, and hardly more than half of all is needed"
    command = [sys.executable, "-m", "triplecast", "match", "--operators", "cameras"]
    command += ["--subscriptions", str(city / "subscriptions"), "--publications", str(tmp_path / "inbox")]
    path = os.pathsep.join((str(city), *(each for each in sys.path if each)))
    environment = {**os.environ, "PYTHONPATH": path}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "5 subscriptions: 5 matches, 0 rejected, 0 undecided" in answer.stderr


README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_snippet_prints_what_it_says() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (printed,) = re.findall(r"^It prints `(.*)`\.$", README, re.M)
    answer = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.stdout == printed + "\n", answer.stderr


def test_the_readmes_command_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    from triplecast.cli import main

    ((command, shown),) = re.findall(r"\$ triplecast (match .*\\\n.*)\n((?:.*\n)+?)```", README)
    parts = command.replace("\\\n", "").split()
    assert main([str(ROOT / part) if part.startswith("examples/") else part for part in parts]) == 0
    assert shown.count("\n") == 3
    assert matches(shown, capsys.readouterr().out)


def test_the_readme_counts_what_the_samples_give(capsys: pytest.CaptureFixture[str]) -> None:
    from triplecast.cli import main

    examples = ROOT / "examples"
    argv = ["match", "--subscriptions", str(examples / "subscriptions"), "--publications", str(examples / "inbox")]
    assert main(argv) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    publications, subscriptions, found = re.findall(r"\d+", last)[:3]
    line = f"{publications} publications matched against {subscriptions} subscriptions: {found} notifications"
    assert line in README
