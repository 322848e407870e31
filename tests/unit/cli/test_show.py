"""`triplecast show`, and what every command reads from standard input."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store

from triplecast.cli import main
from triplecast.ingest import Document
from triplecast.ingest.parse import parse_document

FEED = """<rss version="2.0"><channel><title>News</title><link>http://e/</link>
<item><guid>http://e/1</guid><title>One</title><category>rail</category></item>
<item><guid>http://e/2</guid><title>Two \x1b[2J</title></item></channel></rss>""".replace("\x1b[2J", "&#233;")
TURTLE = b"<urn:s> <urn:p> 1 ."


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "feed.rss").write_text(FEED)
    (tmp_path / "graphs.trig").write_text("<urn:g> { <urn:s> <urn:p> 1 } <urn:h> { <urn:s> <urn:p> [] }")
    (tmp_path / "any.sparql").write_text("ASK { ?s <urn:p> ?o }")
    (tmp_path / "none.json").write_text('{"a": 1}')
    return tmp_path


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(("name", "dataset"), [("feed.rss", False), ("graphs.trig", False), ("graphs.trig", True)])
def test_what_is_shown_is_what_is_published(
    desk: Path, capsys: pytest.CaptureFixture[str], name: str, dataset: bool
) -> None:
    expected = parse_document(Document(name, (desk / name).read_bytes(), dataset=dataset)).drafts
    options = ["--dataset"] if dataset else []
    assert main(["show", name, "--json", *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["publication"], row["quads"].encode()) for row in rows] == [(d.graph, d.quads) for d in expected]
    assert main(["show", name, *options]) == 0
    shown = capsys.readouterr().out
    for draft, text in zip(expected, shown.split("# ")[1:], strict=True):
        head, _, turtle = text.partition("\n")
        assert head.split()[:2] == [draft.graph, str(draft.quads.count(b"\n"))]
        one, two = Store(), Store()
        one.load(turtle.encode(), format=RdfFormat.TRIG)
        two.load(draft.quads, format=RdfFormat.N_QUADS)
        assert len(one) == len(two)
        assert not [quad for quad in two if "_:" not in str(quad) and quad not in one]


def test_show_chooses_a_publication_and_reports_the_rest(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "feed.rss", "--graph", "http://e/2"]) == 0
    assert capsys.readouterr().out.startswith("# http://e/2  ")
    assert main(["show", "feed.rss", "--graph", "http://e/3"]) == 3
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "no publication http://e/3 in these files; they have http://e/1, http://e/2\n")
    (desk / "bad.ttl").write_text("<urn:s> <urn:p> ")
    assert main(["show", "bad.ttl"]) == 2
    assert "rejected bad.ttl:1:17: parse: " in capsys.readouterr().err
    assert main(["show", "bad.ttl", "none.json"]) == 1
    assert "none.json: note: it holds no triples" in capsys.readouterr().err


def test_a_document_without_triples_is_noted_by_every_command(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was accepted without a word: tests asked whether a document is accepted, not what its publisher is told."""
    for command in (
        ["match", "--subscriptions", "any.sparql", "--publications", "none.json"],
        ["preview", "any.sparql", "--publications", "none.json"],
        ["explain", "none.json", "any.sparql"],
        ["show", "none.json"],
    ):
        main(command)
        assert "none.json: note: it holds no triples" in capsys.readouterr().err


def test_every_command_reads_standard_input(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in (TURTLE, gzip.compress(TURTLE), b'{"@id": "urn:s", "urn:p": 1}'):
        for command in (
            ["match", "--subscriptions", "any.sparql", "--publications", "-"],
            ["preview", "any.sparql", "--publications", "-"],
            ["explain", "-", "any.sparql"],
            ["show", "-"],
        ):
            give(monkeypatch, content)
            assert main(command) == 0
            assert "urn:triplecast:document:stdin" in capsys.readouterr().out
    for query in (b"ASK { ?s <urn:p> ?o }", b'{"id": "stdin", "text": "ASK { ?s <urn:p> ?o }"}\n'):
        (desk / "d.ttl.gz").write_bytes(gzip.compress(TURTLE))
        for command in (
            ["match", "--subscriptions", "-", "--publications", "d.ttl.gz"],
            ["preview", "-", "--publications", "d.ttl.gz"],
            ["explain", "d.ttl.gz", "-"],
        ):
            give(monkeypatch, query)
            assert main(command) == 0
            assert "stdin" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["show", "feed.rss"], ["explain", "feed.rss", "any.sparql"]])
def test_a_graph_that_is_no_iri_is_wrong_usage(
    desk: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command, "--graph", "no iri"])
    assert end.value.code == 2
    assert "argument --graph: 'no iri' is no absolute IRI; for example: " in capsys.readouterr().err


def test_standard_input_is_given_once(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What came second was empty, and nothing said so."""
    for command in (
        ["match", "--subscriptions", "-", "--publications", "-"],
        ["explain", "-", "-"],
        ["preview", "any.sparql", "--publications", "-", "--taxonomy", "-"],
        ["show", "-", "-"],
    ):
        assert main(command) == 2
        assert "standard input (-) is given twice" in capsys.readouterr().err
