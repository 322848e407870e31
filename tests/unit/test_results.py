"""Answers as SPARQL 1.1 Query Results JSON: two independent readers read them back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, QuerySolutions, parse_query_results
from rdflib.query import Result
from rdflib.term import BNode, URIRef
from rdflib.term import Literal as RdflibLiteral

import triplecast
from triplecast.cli import main
from triplecast.model.algebra import Term, from_ntriples
from triplecast.results import Head, results_json

SEED = 20261122
CHARACTERS = "ab é\u0000\t\n\r\"'\\<>{}|^`&%\u0085\u2028\ufeff\U0001f682"
DATATYPES = ("integer", "decimal", "double", "dateTime", "string", "boolean", "byte")
XSD = "http://www.w3.org/2001/XMLSchema#"


def any_term(random: Random) -> Term:
    text = "".join(random.choices(CHARACTERS, k=random.randrange(6)))
    kind = random.randrange(5)
    if kind == 0:
        return NamedNode("urn:é:" + "".join(random.choices("ab/20é\U0001f682?&'", k=4)))
    if kind == 1:
        return BlankNode(f"c14n{random.randrange(9)}")
    if kind == 2:
        return Literal(text, language=random.choice(("en", "de-at", "zh-hans")))
    return Literal(text, datatype=NamedNode(XSD + random.choice(DATATYPES)))


@pytest.mark.parametrize("number", range(60))
@pytest.mark.filterwarnings("ignore:Parsing weird boolean")
def test_every_term_comes_back_from_another_reader_in_the_order_of_select(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn terms and orders. Bindings were N-Triples inside JSON strings, in the order of names: the tests compared
    them with our own reader alone; one that gives them to another's reader sees it."""
    monkeypatch.setattr("rdflib.NORMALIZE_LITERALS", False)  # it would write 01 as 1
    random = Random(seed := SEED + number)
    names = random.sample(["a", "b", "c", "title", "Ä", "_1"], random.randrange(1, 6))
    rows = [{name: any_term(random) for name in names if random.random() < 0.8} for _ in range(random.randrange(4))]
    document = results_json(Head("select", tuple(names)), [{n: str(t) for n, t in row.items()} for row in rows])
    read = parse_query_results(json.dumps(document).encode(), format=QueryResultsFormat.JSON)
    assert isinstance(read, QuerySolutions), seed
    assert [variable.value for variable in read.variables] == names, seed
    assert [{n: row[n] for n in names if row[n] is not None} for row in read] == rows, seed
    other = Result.parse(io.BytesIO(json.dumps(document).encode()), format="json")
    assert [{str(v): known(row[v]) for v in row} for row in other.bindings] == [
        {name: str(term) for name, term in row.items()} for row in rows
    ], seed


def known(term: Any) -> str:
    """A term of rdflib as N-Triples; its own writer leaves the form of some to chance."""
    if isinstance(term, URIRef):
        return str(NamedNode(str(term)))
    if isinstance(term, BNode):
        return str(BlankNode(str(term)))
    assert isinstance(term, RdflibLiteral)
    if term.language:
        return str(Literal(str(term), language=term.language))
    return str(Literal(str(term), datatype=NamedNode(str(term.datatype or XSD + "string"))))


QUERIES = {
    "select": "SELECT ?title ?item ?nothing WHERE { ?item rss:title ?title OPTIONAL { ?item dc:date ?nothing } }",
    "star": "SELECT * WHERE { ?z rss:title ?b }",
    "counted": "SELECT (COUNT(?item) AS ?n) ?title WHERE { ?item rss:title ?title } GROUP BY ?title",
    "ask": "ASK { ?item rss:title ?title }",
    "construct": "CONSTRUCT { ?item rdfs:label ?title ; rdfs:seeAlso [] } WHERE { ?item rss:title ?title }",
}
RDQL = "SELECT ?y, ?x WHERE (?x, <http://purl.org/rss/1.0/title>, ?y)"
VARS = {"select": ["title", "item", "nothing"], "star": ["z", "b"], "counted": ["n", "title"], "rdql": ["y", "x"]}
DOCUMENT = '<urn:1> <http://purl.org/rss/1.0/title> "Rail"@en . <urn:2> <http://purl.org/rss/1.0/title> "Air" .'


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder that matched the document, and the files of both."""
    (tmp_path / "subs").mkdir()
    for name, text in QUERIES.items():
        (tmp_path / "subs" / f"{name}.rq").write_text(text)
    (tmp_path / "subs" / "rdql.rdql").write_text(RDQL)
    (tmp_path / "1.ttl").write_text(DOCUMENT)
    with triplecast.Engine.open(tmp_path / "out") as engine:
        for name, text in QUERIES.items():
            engine.subscribe(text, id=f"{name}.rq")
        engine.subscribe(RDQL, id="rdql.rdql", language="rdql")
        engine.publish(DOCUMENT, media_type="text/turtle", graph="urn:triplecast:document:1.ttl")
    return tmp_path


def rows_of(capsys: pytest.CaptureFixture[str], *argv: object) -> list[dict[str, Any]]:
    assert main(list(map(str, argv))) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def commands(desk: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What every command that prints answers says of each subscription."""
    subs, document = desk / "subs", desk / "1.ttl"
    for row in rows_of(capsys, "match", "--subscriptions", subs, "--publications", document, "--json"):
        yield row["subscription"], row
    for row in rows_of(capsys, "notifications", desk / "out", "--json"):
        yield row["subscription"], row
    for path in sorted(subs.iterdir()):
        (row,) = rows_of(capsys, "explain", document, path, "--json")
        yield row["subscription"], row
        (row,) = rows_of(capsys, "preview", path, "--publications", document, "--json")
        (example,) = row["examples"]
        yield row["subscription"], example


def test_each_form_has_its_shape_in_every_command_and_in_python(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, list[object]] = {}
    for name, row in commands(desk, capsys):
        form = name.partition(".")[0]
        read = parse_query_results(json.dumps(row["answer"]).encode(), format=QueryResultsFormat.JSON)
        if form == "ask":
            assert bool(read) is True
            assert row["answer"] == {"head": {}, "boolean": True}
        else:
            assert isinstance(read, QuerySolutions)
            assert [variable.value for variable in read.variables] == VARS.get(form, ["item", "title"])
        seen.setdefault(form, []).append(row["answer"])
        if form == "construct" and "support" not in row:
            triples = row["graph"].splitlines()
            assert len(triples) == 4
            assert '<urn:1> <http://www.w3.org/2000/01/rdf-schema#label> "Rail"@en .' in triples
        else:
            assert "graph" not in row
    with triplecast.Engine.open(desk / "out") as engine:
        for each in engine.notifications():
            seen[each.subscription.partition(".")[0]].append(each.answer)
            if each.subscription == "construct.rq":
                assert len(each.graph) == 4
    assert {form: len(answers) for form, answers in seen.items()} == dict.fromkeys((*QUERIES, "rdql"), 5)
    assert all(answer == answers[0] for answers in seen.values() for answer in answers)


def test_a_notification_is_read_without_its_query_too(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = rows_of(capsys, "notifications", desk / "out", "--json")
    for path in desk.glob("out/journal*"):
        path.unlink()
    alone = rows_of(capsys, "notifications", desk / "out", "--json")
    assert [row["id"] for row in alone] == [row["id"] for row in whole]
    select = next(row for row in alone if row["subscription"] == "select.rq")
    assert select["answer"]["head"] == {"vars": ["item", "title"]}, "sorted names of what is bound"


def test_lines_for_people_are_in_the_order_of_select_and_whole_in_a_pipe(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn lengths. The tests looked at short values alone; lengths around every width see a cut."""
    argv = ["match", "--subscriptions", str(desk / "subs" / "select.rq"), "--publications", str(desk / "1.ttl")]
    for length in (1, 60, 100, 101, 119, 120, 121, 5000):
        (desk / "1.ttl").write_text(f'<urn:1> <http://purl.org/rss/1.0/title> "{"x" * length}" .')
        assert main(argv) == 0
        line = capsys.readouterr().out.removesuffix("\n")
        assert line.endswith(f'  ?title="{"x" * length}" ?item=<urn:1>')
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert main(argv) == 0
        assert len(capsys.readouterr().out) <= 120 + len("urn:triplecast:document:1.ttl  select.rq  \n")
        monkeypatch.undo()


def test_a_terms_form_is_the_one_of_its_ntriples() -> None:
    assert from_ntriples('"a"@en') == Literal("a", language="en")
