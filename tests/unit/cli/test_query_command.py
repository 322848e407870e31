"""`triplecast query`: its formats, its exit codes, and that it changes nothing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.cli import main

DOCUMENT = '<https://example.org/1> <x:p> "a, \\"b\\"\\t"@en , 3 , [] .'
SELECT = "SELECT ?s ?o ?x { ?s <x:p> ?o FILTER(isLiteral(?o)) }"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    with Engine.open(folder) as engine:
        engine.publish(DOCUMENT, media_type="text/turtle", graph="https://example.org/g")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["query", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def files_of(folder: Path) -> dict[str, bytes]:
    """What is in a folder, but for what SQLite keeps beside a file that is read."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(("-shm", "-wal"))}


def test_the_formats_of_a_select(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_of(folder)
    integer = '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'
    written = '"a, \\"b\\"\\t"@en'
    assert run(capsys, folder, SELECT) == (
        0,
        f"?s                       ?o                                               ?x\n"
        f"<https://example.org/1>  {integer}\n"
        f"<https://example.org/1>  {written}\n",
        "",
    )
    assert run(capsys, folder, SELECT, "--format", "csv")[1] == (
        's,o,x\r\nhttps://example.org/1,3,\r\nhttps://example.org/1,"a, ""b""\t",\r\n'
    )
    assert run(capsys, folder, SELECT, "--format", "tsv")[1] == (
        f"?s\t?o\t?x\n<https://example.org/1>\t{integer}\t\n<https://example.org/1>\t{written}\t\n"
    )
    code, out, _ = run(capsys, folder, SELECT, "--json")
    assert (code, json.loads(out)["head"]) == (0, {"vars": ["s", "o", "x"]})
    assert [each["o"]["value"] for each in json.loads(out)["results"]["bindings"]] == ["3", 'a, "b"\t']
    assert files_of(folder) == before


def test_the_other_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, folder, "ASK { ?s ?p 3 }") == (0, "yes\n", "")
    assert run(capsys, folder, "ASK { ?s ?p 4 }") == (3, "no\n", "")
    assert run(capsys, folder, "ASK { ?s ?p 4 }", "--json") == (3, '{"head":{},"boolean":false}\n', "")
    construct = "CONSTRUCT { ?s <x:q> ?o } { ?s <x:p> ?o FILTER(?o = 3) }"
    line = '<https://example.org/1> <x:q> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    assert run(capsys, folder, construct) == (0, line, "")


def test_a_query_comes_from_a_file_or_stdin(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "all.rdql").write_text("SELECT ?o WHERE (?s <x:p> ?o) AND ?o = 3", "utf-8")
    code, out, _ = run(capsys, folder, tmp_path / "all.rdql", "--format", "csv")
    assert (code, out) == (0, "o\r\n3\r\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ASK { }")))
    assert run(capsys, folder, "-")[:2] == (0, "yes\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.rq",), "cannot read a query from nowhere.rq"),
        (("SELECT * {",), "expected"),
        (("SELECT * { ?s ?p ?o }", "--steps", "1"), "the query is too large: more than 1 steps"),
        (("SELECT * { ?s ?p ?o }", "--steps", "0"), "cannot take 0 steps"),
        (("SELECT * { ?s ?p ?o }", "--format", "ntriples"), "use --format table, json, xml, csv or tsv"),
        (("ASK { }", "--format", "csv"), "use --format table, json or xml"),
        (("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "--json"), "use --format ntriples"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    arguments: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, folder, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_folder_without_a_journal_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path, "ASK { }")
    assert code == 2
    assert "no journal in" in err
