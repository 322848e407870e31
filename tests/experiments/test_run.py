"""A run writes its record and plots; what the papers' folders and `docs/papers.md` say of each other is true."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import measuring
from experiments import run as running
from experiments.__main__ import PAPERS, find_paper
from experiments.claims import read_claims
from experiments.figures import Figure, Line, Point
from experiments.measuring import TURNS, Run, deep_size, take_turns
from experiments.pages import END, fill, judge_record, make_pages, mark_of
from experiments.plots import find_plotting
from experiments.record import FORMAT, read_figures
from experiments.run import Paper, run_paper

ROOT = Path(__file__).resolve().parents[2]


def measure_two(quick: bool) -> Iterator[Figure]:
    sizes = (1.0, 2.0, 4.0, 8.0, 16.0)[: 2 if quick else 5]
    points = tuple(Point(x, 2 * x, x, 3 * x, {"joins": x}) for x in sizes)
    yield Figure("1a", "time", "subscriptions", "ms", (Line("theirs", points),), sizes="two points")
    yield Figure("1b.x", "memory", "subscriptions", "MB", (Line("theirs", points),), logarithmic=True)


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    monkeypatch.setattr(running, "ROOT", tmp_path)
    folder = tmp_path / "experiments" / "two"
    folder.mkdir(parents=True)
    check = {"kind": "growth", "line": "theirs", "of": "work", "between": [2, 3]}
    claims = [{"name": "T-1a", "figure": "1a", "says": "grows as the square", "check": check}]
    (folder / "expected.json").write_text(json.dumps({"claims": claims}))
    return Paper("two", "A paper", measure_two, (("1a", "1b.x"),))


def test_a_run_writes_what_it_measured_and_what_failed(
    paper: Paper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = run_paper(paper, False, tmp_path / "out")
    assert [verdict.held for verdict in record.verdicts] == [False]
    assert "FAILS  T-1a: grows as the square: exponent 1.00" in capsys.readouterr().out
    page = (tmp_path / "out" / "figures.md").read_text("utf-8")
    assert f"{record.day}, commit {record.machine.commit}" in page
    assert "| T-1a | 1a | paper | grows as the square | exponent 1.00 | **no** |" in page
    assert "| theirs | 4 | 8 (4 to 12) | 4 | joins 4 |" in page
    content = json.loads((tmp_path / "out" / "figures.json").read_text("utf-8"))
    assert content["machine"]["processor"] == record.machine.processor
    assert [point["value"] for point in content["figures"][0]["lines"][0]["points"]] == [2, 4, 8, 16, 32]
    assert read_figures(content) == list(record.figures)
    assert content["claims"] == [{"name": "T-1a", "held": False, "seen": "exponent 1.00"}]


def test_a_run_draws_each_figure_and_the_sheet(paper: Paper, tmp_path: Path) -> None:
    if find_plotting():
        pytest.skip("matplotlib is not installed: it is no part of set-up (`make experiments` installs it)")
    run_paper(paper, True, tmp_path / "out")
    stems = ("figure-1a", "figure-1b.x", "figures")
    assert [(tmp_path / "out" / f"{stem}.png").read_bytes()[:4] for stem in stems] == [b"\x89PNG"] * 3
    assert "a quick run" not in (tmp_path / "out" / "figures.svg").read_text("utf-8")


def test_quick_runs_write_outside_the_repository_and_full_ones_beside_the_paper(
    paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "QUICK_RESULTS", tmp_path / "build")
    assert running.run(paper, ["--quick"]) == 0
    assert (tmp_path / "build" / "two" / "figures.md").exists()
    assert running.run(paper, ["--record"]) == 0
    assert (tmp_path / "experiments" / "two" / "results" / "figures.md").exists()


class Clock:
    """Processor time that only `spend` moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(measuring.time, "process_time", lambda: self.now)

    def spend(self, milliseconds: float) -> None:
        assert not gc.isenabled()
        self.now += milliseconds / 1e3


def test_lines_take_turns_and_all_items_are_timed_by_one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turn t an item takes t milliseconds more than itself; the dear line takes ten times as long."""
    clock = Clock(monkeypatch)
    counter: Counter[str] = Counter()
    seen: Counter[tuple[str, int]] = Counter()
    order: list[str] = []
    found: list[tuple[int, object]] = []

    def match(line: str, item: int, factor: int) -> int:
        order.append(line)
        clock.spend(factor * (item + seen[line, item]))
        seen[line, item] += 1
        counter.update({f"item {item}": 6, "steps": item})
        return -item

    cheap = Run(
        lambda item: match("cheap", item, 1),
        [1, 2, 4],
        counter,
        check=lambda number, answer: found.append((number, answer)),
    )
    points = take_turns({"cheap": cheap, "dear": Run(lambda item: match("dear", item, 10), [1, 2])}, 5.0)
    assert gc.isenabled()
    assert order == (["cheap"] * 3 + ["dear"] * 2) * TURNS
    assert found == [(0, -1), (1, -2), (2, -4)]
    point = points["cheap"]
    middle = TURNS // 2
    assert point.each == pytest.approx((1 + middle, 2 + middle, 4 + middle))
    assert [sum(turn) for turn in point.turns] == pytest.approx([7 + 3 * turn for turn in range(TURNS)])
    assert point.spread == pytest.approx((7 / 3, 7 / 3 + TURNS - 1))
    assert (point.x, point.steps_each) == (5.0, (7, 8, 10))
    assert point.work == {"item 1": 2, "item 2": 2, "item 4": 2, "steps": 7 / 3}
    assert points["dear"].each == pytest.approx((10 * (1 + middle), 10 * (2 + middle)))


def test_slow_lines_are_measured_on_fewer_items_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    items = [3_000.0] * 3
    runs = {str(seconds): Run(clock.spend, items, seconds=seconds) for seconds in (2, 4, 20)}
    points = take_turns(runs, 1.0)
    assert [(len(point.each), len(point.turns)) for point in points.values()] == [(1, TURNS), (2, TURNS), (3, TURNS)]
    batch = take_turns({"": Run(lambda held: clock.spend(sum(held)), [[1.0, 2.0]], per=2)}, 1.0, turns=1)[""]
    assert (batch.value, batch.each, batch.turns) == (pytest.approx(1.5), (), (pytest.approx((1.5,)),))


def test_memory_counts_what_is_held_once() -> None:
    text = "x" * 1_000
    once, twice = deep_size([text]), deep_size([text, text])
    assert 1_000 < once < twice < once + 100
    assert deep_size({"a": [bytes(500)]}) > 500


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_is_in_the_papers_page(name: str) -> None:
    folder = ROOT / "experiments" / name
    page = (folder / "README.md").read_text("utf-8")
    claims = [claim.name for claim in read_claims(folder / "expected.json")]
    assert claims
    assert [claim for claim in claims if f"| {claim} |" not in page] == []


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_of_the_layout_was_measured_for_the_record(name: str) -> None:
    paper = find_paper(name)
    content = json.loads((ROOT / "experiments" / name / "results" / "figures.json").read_text("utf-8"))
    assert not content["quick"]
    if content["format"] < FORMAT:
        pytest.skip("the record is of an earlier form, and its claims have changed: it is to be made anew")
    measured = {figure["name"] for figure in content["figures"]}
    assert {figure for row in paper.layout for figure in row} == measured
    verdicts = judge_record(paper.folder)
    assert [verdict.claim.name for verdict in verdicts if verdict.held is None and not verdict.noisy] == []
    stored = [(verdict["name"], verdict["held"]) for verdict in content["claims"]]
    assert stored == [(verdict.claim.name, verdict.held) for verdict in verdicts]


def test_the_pages_tables_are_those_of_the_committed_records() -> None:
    pages = list(make_pages())
    assert [path.parent.name for path, _ in pages if path.name == "README.md"]
    stale = [str(path.relative_to(ROOT)) for path, text in pages if path.read_text("utf-8") != text]
    assert stale == [], "run `python -m experiments.pages`"


def test_a_page_is_filled_between_its_marks_alone() -> None:
    page = f"before\n\n{mark_of('two')}\n\nold\n\n{END}\n\nafter {mark_of('three')} x {END}\n"
    filled = fill(page, "two", "| new |")
    assert filled == page.replace("old", "| new |")
    assert fill(filled, "two", "| new |") == filled
    with pytest.raises(ValueError, match=r"no '<!-- claims: four -->' … '<!-- end of claims -->'"):
        fill(page, "four", "")
