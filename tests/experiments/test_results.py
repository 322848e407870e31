"""A run's folder: the earlier record stays whole whatever ends a run, and what was measured before is not lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import plots
from experiments import run as running
from experiments.figures import Figure, Line, Point
from experiments.results import UNFINISHED, CannotRun, open_results
from experiments.run import Paper, run, run_paper, run_papers

ROOT = Path(__file__).resolve().parents[2]
CHECK = {"kind": "value", "line": "a", "of": "value", "at": 1, "between": [0, 9]}


def make_figure(name: str, value: float = 3.0) -> Figure:
    return Figure(name, "time", "x", "ms", (Line("a", (Point(1, value), Point(2, value))),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "ROOT", tmp_path)
    folder = tmp_path / "experiments" / "some"
    folder.mkdir(parents=True)
    expect(folder, CHECK)
    return folder


@pytest.fixture(autouse=True)
def _draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes seconds, and matplotlib is no part of set-up."""
    monkeypatch.setattr(running, "find_plotting", lambda: "not in this test")


def expect(folder: Path, *checks: object) -> None:
    claims: list[object] = [
        {"name": f"S-{n}", "figure": "1", "says": "is small", "check": check} for n, check in enumerate(checks)
    ]
    (folder / "expected.json").write_text(json.dumps({"claims": claims}))


def make_paper(*figures: Figure | Exception) -> Paper:
    def measure(quick: bool) -> Iterator[Figure]:
        for figure in figures:
            if isinstance(figure, Exception):
                raise figure
            yield figure

    return Paper("some", "A paper", measure, (("1", "2"),))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def read(path: Path) -> list[tuple[str, float]]:
    figures = json.loads(path.read_text("utf-8"))["figures"]
    return [(figure["name"], figure["lines"][0]["points"][0]["value"]) for figure in figures]


def test_figures_before_an_error_are_kept_beside_the_earlier_record(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_paper(make_paper(make_figure("1")), True, out)
    with pytest.raises(ZeroDivisionError):
        run_paper(make_paper(make_figure("1", 4.0), ZeroDivisionError()), True, out)
    assert names(out) == [UNFINISHED, "figures.json", "figures.md"]
    assert read(out / "figures.json") == [("1", 3.0)]
    assert read(out / UNFINISHED) == [("1", 4.0)]
    run_paper(make_paper(make_figure("1", 5.0)), True, out)
    assert names(out) == ["figures.json", "figures.md"]
    assert read(out / "figures.json") == [("1", 5.0)]


def test_claims_and_folder_are_looked_at_before_anything_is_measured(folder: Path, tmp_path: Path) -> None:
    never = make_paper(AssertionError("measured"))
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotRun, match="file: no folder for results"):
        run_paper(never, True, tmp_path / "file")
    (folder / "expected.json").write_text("{")
    with pytest.raises(CannotRun, match=r"expected\.json: cannot be read as JSON"):
        run_paper(never, True, tmp_path / "out")


def test_a_set_that_cannot_be_written_leaves_the_earlier_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run_paper(make_paper(make_figure("1")), True, out)
    before = {name: (out / name).read_bytes() for name in names(out)}

    def fill_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(running, "find_plotting", str)
    monkeypatch.setattr(running, "write_plots", fill_disk)
    assert run_papers([make_paper(make_figure("1", 4.0))], True, out) == 2
    assert f"No space left on device; the results in {out} are what they were" in capsys.readouterr().err
    assert {name: (out / name).read_bytes() for name in before} == before
    assert names(out) == [UNFINISHED, *before]


def test_a_killed_run_leaves_the_earlier_record_and_what_it_had(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_paper(make_paper(make_figure("1")), True, out)
    script = f"""
import os, signal
from pathlib import Path
from experiments.results import open_results
with open_results(Path({str(out)!r})) as results:
    results.keep_unfinished("so far")
    results.write("figures.md", "half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert read(out / "figures.json") == [("1", 3.0)]
    assert (out / UNFINISHED).read_text() == "so far"
    run_paper(make_paper(make_figure("1", 6.0)), True, out)
    assert names(out) == ["figures.json", "figures.md"]


def test_one_run_a_folder(tmp_path: Path) -> None:
    with open_results(tmp_path), pytest.raises(CannotRun, match="another run writes its results here"):
        open_results(tmp_path).__enter__()
    with open_results(tmp_path):
        pass


def test_plots_and_figures_of_an_earlier_run_go_and_other_files_stay(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("figure-old.png", "figures.svg", "notes.png", "figures.txt"):
        (out / name).write_text("")
    run_paper(make_paper(make_figure("1")), True, out)
    assert names(out) == ["figures.json", "figures.md", "figures.txt", "notes.png"]
    assert "those of an earlier run are removed: not in this test" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../1", "", "a b", ".x", "a/b", "-a"])
def test_unsafe_names_of_figures_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotRun, match="the name is part of a file's"):
        run_paper(make_paper(make_figure(name)), True, tmp_path / "out")


def test_a_figure_measured_twice_and_no_figure_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="'1A' is measured twice"):
        run_paper(make_paper(make_figure("1a"), make_figure("1A")), True, tmp_path / "out")
    with pytest.raises(CannotRun, match="nothing was measured"):
        run_paper(make_paper(), True, tmp_path / "none")


def test_what_is_no_number_is_null_and_decides_nothing(folder: Path, tmp_path: Path) -> None:
    record = run_paper(make_paper(make_figure("1", float("nan"))), True, tmp_path / "out")
    assert [verdict.held for verdict in record.verdicts] == [None]
    assert read(tmp_path / "out" / "figures.json") == [("1", None)]
    assert "NaN" not in (tmp_path / "out" / "figures.json").read_text()


def test_the_last_line_sums_up(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(folder, CHECK, CHECK | {"between": [8, 9]}, CHECK | {"line": "b"})
    run_paper(make_paper(make_figure("1")), True, tmp_path / "out")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"2 judged, 1 hold, 1 fail; 1 could not be checked; written to {tmp_path / 'out'} (2 files)"


def test_a_record_is_asked_for_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--results", " "], ["--quick", "--record"]):
        with pytest.raises(SystemExit, match="2"):
            run(make_paper(make_figure("1")), arguments)
    told = capsys.readouterr().err
    assert "--record (which replaces the committed record)" in told
    assert "the name of a folder is empty" in told
    assert names(folder) == ["expected.json"]


def test_bars_in_names_stay_in_their_cells(folder: Path, tmp_path: Path) -> None:
    figure = Figure("1", "time", "x", "ms", (Line("a|b", (Point(1, 2.0),)),))
    run_paper(make_paper(figure), True, tmp_path / "out")
    assert r"| a\|b | 1 | 2 |" in (tmp_path / "out" / "figures.md").read_text()


def test_lines_keep_their_colour_and_variants_get_a_dash() -> None:
    def figure(*lines: str) -> Figure:
        return Figure("1", "", "x", "ms", tuple(Line(name, (Point(1, 1.0),)) for name in lines))

    styles = plots.choose_styles([figure("RTFm, 0%", "RTFm, 50%", "Triplecast, 0%"), figure("OPS", "RTFm", "_odd")])
    assert len({(style["color"], style["linestyle"]) for style in styles.values()}) == len(styles) - 1
    assert styles["RTFm, 0%"]["color"] == styles["RTFm, 50%"]["color"] == styles["RTFm"]["color"]
    assert styles["RTFm, 0%"]["linestyle"] != styles["RTFm, 50%"]["linestyle"]
    assert styles["Triplecast, 0%"]["color"] == "black"
    assert len({styles[name]["color"] for name in ("OPS", "RTFm", "_odd")}) == 3


def test_what_is_said_to_be_linear_is_drawn_with_both_axes_logarithmic_too() -> None:
    line = Line("a", (Point(1, 1.0, work={"joins": 1}),))
    figure = Figure("1", "", "x", "ms", (line, Line("b", (Point(1, 5.0),))), logarithmic=True)
    claim = plots.Claim("S", "1", "", {"kind": "both", "checks": [{"kind": "linear", "line": "a", "of": "value"}]})
    drawn = [
        ([line.name for line in panel.lines], panel.both_logarithmic) for panel in plots.find_panels(figure, [claim])
    ]
    assert drawn == [(["a", "b"], False), (["a"], True), (["a"], False)]
    assert len(list(plots.find_panels(figure, []))) == 2
