from __future__ import annotations

import pytest
from pyoxigraph import RdfFormat, parse

from benchmarks.figures import Target, Timing, make_rate
from benchmarks.machine import Machine
from benchmarks.report import to_markdown
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.items import make_items
from benchmarks.workloads.texts import to_turtle
from triplecast.languages import parse_template


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_the_same_each_time_and_well_formed(name: str) -> None:
    first, again = WORKLOADS[name](12, 3), WORKLOADS[name](12, 3)
    assert (first.subscriptions, first.publications) == (again.subscriptions, again.publications)
    assert len(first.subscriptions) == 12
    assert 1 <= len(first.publications) <= 3
    for text in first.subscriptions:
        parse_template(text)
    for lines in first.publications:
        quads = parse(lines, format=RdfFormat.N_TRIPLES)
        assert "".join(sorted(f"{quad.triple} .\n" for quad in quads)).encode() == lines


@pytest.mark.parametrize("many", [False, True])
def test_items_are_the_same_each_time_and_well_formed(many: bool) -> None:
    items = make_items(30, 3, many)
    assert items == make_items(30, 3, many)
    for text in items.subscriptions:
        parse_template(text)
    for document in items.documents:
        assert len([*parse(document, format=RdfFormat.TURTLE)]) == 36


@pytest.mark.parametrize("name", ["cluster", "real"])
def test_the_turtle_of_a_publication_is_the_same_graph(name: str) -> None:
    for lines in WORKLOADS[name](10, 3).publications:
        turtle = to_turtle(lines)
        quads = parse(turtle, format=RdfFormat.TURTLE)
        assert sorted(f"{quad.triple} .\n".encode() for quad in quads) == lines.splitlines(keepends=True)
        assert len(turtle) < len(lines) / 2


def test_a_missed_target_says_by_how_much() -> None:
    machine = Machine("abc", "a processor", 2, 4.0, "a system", {"python": "3.11"})
    timing = Timing(median=2.0, shortest=1.0, longest=4.0, processor=0.5)
    figure = make_rate("scan", ("real", 10), timing, 150, target=Target(100, at_least=True))
    row = to_markdown([figure], machine, "2026-11-21", "Idle.").splitlines()[-1]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[3:6] == ["75 publications/s", "37.5 to 150", "≥ 100: missed by 25%"]
    assert "per core second 300" in cells[6]
