"""Operators on the command line: listed, and asked by `match`, `preview` and `explain`."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OPERATORS = '''
from triplecast.operators import operator

@operator("https://example.org/pictures#size", version="2", arguments=("bound", "free"), cost=0.5)
def size(event, picture):
    """How many bytes it has."""
    return len(event.attachment(picture))
'''
QUERY = "PREFIX p: <https://example.org/pictures#> SELECT ?n { ?x a p:Picture ; p:size ?n FILTER(?n > 3) }"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "picture_operators.py").write_text(OPERATORS)
    (tmp_path / "large.rq").write_text(QUERY)
    lines = []
    for number, content in enumerate((b"12345", b"1", None)):
        row: dict[str, object] = {"id": f"urn:d{number}", "media_type": "text/turtle"}
        row["data"] = "<urn:pic> a <https://example.org/pictures#Picture> ."
        if content is not None:
            row["attachments"] = {"urn:pic": base64.b64encode(content).decode()}
        lines.append(json.dumps(row))
    lines.append(json.dumps({"id": "urn:x", "media_type": "text/turtle", "data": "", "attachments": {"urn:pic": "!"}}))
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    return tmp_path


def call(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "triplecast", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=place, env=environment)


def test_they_are_listed(place: Path) -> None:
    listed = call(place, "operators", "--operators", "picture_operators", "--json")
    (row,) = [json.loads(line) for line in listed.stdout.splitlines() if "pictures#size" in line]
    assert row["arguments"] == ["bound", "free"]
    assert (row["version"], row["cost"], row["about"]) == ("2", 0.5, "How many bytes it has.")
    shown = call(place, "operators", "--operators", "picture_operators").stdout
    (line,) = [line for line in shown.splitlines() if "pictures#size" in line]
    assert line.split(maxsplit=6) == [row["iri"], "2", "bound,", "free", "0.5", "s", "How many bytes it has."]


def test_a_module_that_cannot_be_imported(place: Path) -> None:
    failed = call(place, "operators", "--operators", "no_such_module")
    assert failed.returncode == 2
    assert "the operators of no_such_module cannot be imported" in failed.stderr


@pytest.mark.parametrize(
    ("named", "written"),
    [("picture_operators.py", "picture_operators"), ("./a/b.py", "a.b"), ("/somewhere/else/b.py", "b")],
)
def test_a_file_is_no_module(place: Path, named: str, written: str) -> None:
    failed = call(place, "operators", "--operators", named)
    assert failed.returncode == 2
    assert f"--operators {named} names a file" in failed.stderr
    assert f"write --operators {written} in the folder" in failed.stderr


def test_several_modules_leave_what_follows_alone(place: Path) -> None:
    (place / "more_operators.py").write_text(OPERATORS.replace("#size", "#twice").replace("def size", "def twice"))
    files = ("in.jsonl", "large.rq", "--graph", "urn:d0")
    for modules in (("picture_operators,more_operators",), ("more_operators", "--operators", "picture_operators")):
        assert "matches urn:d0" in call(place, "explain", "--operators", *modules, *files).stdout


def test_without_their_module_a_predicate_is_doubted(place: Path) -> None:
    (place / "large.rq").write_text(QUERY.replace("/pictures#>", "/op#>"))
    answer = call(place, "match", "--subscriptions", "large.rq", "--publications", "in.jsonl")
    assert "large.rq: note: <https://example.org/op#size> is matched as a predicate of the data" in answer.stderr
    assert "`--operators MODULE`" in answer.stderr


def test_match_asks_them(place: Path) -> None:
    files = ("--subscriptions", "large.rq", "--publications", "in.jsonl", "--operators", "picture_operators")
    answer = call(place, "match", *files, "--json")
    (row,) = map(json.loads, answer.stdout.splitlines())
    assert row["publication"] == "urn:d0"
    assert row["answer"]["results"]["bindings"] == [
        {"n": {"type": "literal", "value": "5", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}
    ]
    assert "in.jsonl:4: gate: urn:x: the attachment <urn:pic> is no base64" in answer.stderr
    asked = "operator <https://example.org/pictures#size>(<urn:pic>) version 2 cannot"
    assert f"undecided urn:d2 large.rq: {asked}" in answer.stderr
    assert json.loads(answer.stderr.splitlines()[-1])["work"]["operator_calls"] == 3


def test_match_takes_a_schedule(place: Path) -> None:
    (place / "both.rq").write_text(
        QUERY.replace("p:size ?n FILTER(?n > 3)", "a ?c FILTER(p:size(?x) > 3) FILTER(p:odd(?x))")
    )
    (place / "picture_operators.py").write_text(
        OPERATORS
        + """
@operator("https://example.org/pictures#odd", version="1", arguments=("bound",))
def odd(event, picture):
    return len(event.attachment(picture)) == 7
"""
    )
    files = ("--subscriptions", "both.rq", "--publications", "in.jsonl", "--operators", "picture_operators", "--json")
    asked = {}
    for schedule in ("adaptive", "sequential"):
        answer = call(place, "match", *files, "--schedule", schedule)
        assert not answer.stdout
        asked[schedule] = json.loads(answer.stderr.splitlines()[-1])["work"]["operator_calls"]
    assert asked["adaptive"] < asked["sequential"]
    assert "invalid choice: 'fast'" in call(place, "match", *files, "--schedule", "fast").stderr


def test_without_them_it_says_what_is_missing(place: Path) -> None:
    (place / "small.rq").write_text(QUERY.replace("?x a p:Picture ; p:size ?n FILTER(?n", "?x ?y ?n FILTER(p:size(?x)"))
    answer = call(place, "match", "--subscriptions", "small.rq", "--publications", "in.jsonl")
    assert (
        "function <https://example.org/pictures#size> is refused: no such function or operator is known"
        in answer.stderr
    )


def test_explain_asks_them(place: Path) -> None:
    for graph, told in (("urn:d0", "matches"), ("urn:d1", "?n > 3"), ("urn:d2", "no attachment")):
        arguments = ("in.jsonl", "large.rq", "--graph", graph, "--operators", "picture_operators")
        answer = call(place, "explain", *arguments)
        assert told in answer.stdout
        assert not answer.stderr, "the line that is rejected is another one"
        assert answer.returncode == {"urn:d0": 0, "urn:d1": 3, "urn:d2": 1}[graph]


def test_explain_shows_what_they_returned(place: Path) -> None:
    (place / "other.rq").write_text(QUERY.replace("?n FILTER(?n > 3)", "5"))
    files = ("in.jsonl", "other.rq", "--operators", "picture_operators", "--graph")
    for graph, number in (("urn:d0", 5), ("urn:d1", 1)):
        (place / "picture_operators.py").write_text(OPERATORS)
        assert f"p:size(<urn:pic>) returns {number} (version 2)" in call(place, "explain", *files, graph).stdout
        (place / "picture_operators.py").write_text(OPERATORS.replace('"free"), cost', '"free"), pure=False, cost'))
        told = call(place, "explain", *files, graph).stdout
        assert f"returns {number} (version 2, not pure: called for this explanation, may differ)" in told


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('"attachment": {}', 'has an unknown field "attachment"; write "attachments" if that was meant'),
        ('"attachements": {}', 'has an unknown field "attachements"'),
        ('"attachments": {}, "attachment": {}', ""),
        ('"date": "2026-11-22", "note": 3', ""),
    ],
)
def test_a_field_that_is_a_slip(place: Path, row: str, told: str) -> None:
    line = '{"id": "urn:d9", "media_type": "text/turtle", "data": "<urn:a> <urn:b> <urn:c> .", '
    (place / "slip.jsonl").write_text(line + row + "}")
    (place / "any.rq").write_text("ASK { ?a <urn:b> ?c }")
    answer = call(place, "match", "--subscriptions", "any.rq", "--publications", "slip.jsonl", "--json")
    assert bool(answer.stdout) != bool(told)
    assert f"rejected slip.jsonl:1: gate: urn:d9: {told}" in answer.stderr if told else "rejected" not in answer.stderr


def test_a_field_that_is_missing_and_stands_there_under_another_name(place: Path) -> None:
    (place / "slip.jsonl").write_text('{"id": "urn:d9", "mediatype": "text/turtle", "data": ""}')
    answer = call(place, "match", "--subscriptions", "large.rq", "--publications", "slip.jsonl")
    assert 'lacks "media_type" as text; was "mediatype" meant as "media_type"?' in answer.stderr


def test_explain_of_what_is_not_there_tells_the_rejects(place: Path) -> None:
    answer = call(place, "explain", "in.jsonl", "large.rq", "--graph", "urn:x", "--operators", "picture_operators")
    assert "in.jsonl:4: gate: urn:x: the attachment <urn:pic> is no base64" in answer.stderr
    assert answer.returncode == 2


ENTRY_POINT = "[triplecast.operators]\nbroken = broken_operators\nsound = picture_operators\n"


@pytest.fixture
def broken(place: Path) -> Path:
    """An installed package with two entry points, of which one cannot be imported."""
    package = place / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(ENTRY_POINT)
    (place / "broken_operators.py").write_text("from triplecast.operators import operator\n@operator(")
    return place


def test_an_entry_point_that_cannot_be_imported_is_told_and_stops_nobody_else(broken: Path) -> None:
    told = "installed operators cannot be imported: broken (broken_operators): SyntaxError: "
    for command in (
        ("match", "--subscriptions", "large.rq", "--publications", "in.jsonl"),
        ("explain", "in.jsonl", "large.rq", "--graph", "urn:d0"),
        ("operators",),
    ):
        answer = call(broken, *command)
        assert told in answer.stderr
        assert answer.returncode == (0 if command[0] == "explain" else 1), "the sound ones answer"


def test_a_query_that_asks_it_is_refused_with_the_reason(broken: Path) -> None:
    (broken / "small.rq").write_text("PREFIX p: <https://example.org/p#> ASK { ?x ?y ?n FILTER(p:broken(?x)) }")
    answer = call(broken, "match", "--subscriptions", "small.rq", "--publications", "in.jsonl")
    assert "; not imported: broken (broken_operators): SyntaxError" in answer.stderr


def test_the_doctor_looks_at_them(broken: Path) -> None:
    told = call(broken, "doctor", "--operators", "picture_operators", "--json")
    findings = {row["what"]: row for row in map(json.loads, told.stdout.splitlines())}
    assert findings["built-in: texts"]["state"] == "ok"
    assert {f"built-in: {module}" for module in ("geography", "pictures", "lookup", "rules")} <= findings.keys()
    assert "picture_operators" in findings["operators"]["detail"]
    fault = findings["installed operators"]
    assert fault["state"] == "limited"
    assert fault["detail"].startswith("broken (broken_operators): SyntaxError")
    assert told.returncode == 0


def test_a_module_that_is_no_python(broken: Path) -> None:
    failed = call(broken, "match", "--operators", "broken_operators", "--subscriptions", "a", "--publications", "b")
    assert failed.returncode == 2
    assert "the operators of broken_operators cannot be imported: SyntaxError" in failed.stderr
    assert failed.stderr.endswith("fix the module\n")
