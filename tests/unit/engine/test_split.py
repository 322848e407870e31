"""Catalogues that are cut into a publication for each of their datasets."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from triplecast import Document, Engine, InputError
from triplecast.cli import main
from triplecast.engine import Match

C = "https://c.example/"
CATALOGUE = f"{C}catalogue"
PREFIXES = "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .\n"
NAMES = "SELECT ?d ?title { ?d a dcat:Dataset ; dct:title ?title }"


def turtle(titles: dict[int, str], catalogue: str = CATALOGUE) -> str:
    """A catalogue, whose own record never changes."""
    datasets = "".join(
        f'<{C}{number}> a dcat:Dataset ; dct:title "{title}" ; dct:publisher [ dct:title "P{number % 3}" ] .\n'
        for number, title in titles.items()
    )
    return f'{PREFIXES}<{catalogue}> a dcat:Catalog ; dct:title "All" .\n{datasets}'


def document(titles: dict[int, str], catalogue: str = CATALOGUE, split: str | None = "dcat:Dataset") -> Document:
    data = turtle(titles, catalogue).encode()
    return Document(catalogue, data, "text/turtle", graph=catalogue, split=split)


def current(engine: Engine) -> dict[str, str]:
    rows = engine.query("SELECT ?g ?title { GRAPH ?g { ?d a dcat:Dataset ; dct:title ?title } }")
    assert isinstance(rows, list)
    return {row["g"].value: row["title"].value for row in rows}


def expected(titles: dict[int, str]) -> dict[str, str]:
    return {f"{C}{number}": title for number, title in titles.items()}


@pytest.mark.parametrize(
    "split", ["dcat:Dataset", "<http://www.w3.org/ns/dcat#Dataset>", NAMES.replace(" ?title {", " {")]
)
def test_each_changed_dataset_is_told_and_no_other(split: str, tmp_path: Path) -> None:
    random = Random(7)
    titles = dict.fromkeys(range(40), "first")
    told = removed = 0
    with Engine.open(tmp_path) as engine:
        engine.subscribe(NAMES, id="each", notify="every")
        engine.publish(turtle(titles), "text/turtle", CATALOGUE, split=split)
        engine.subscribe(NAMES, id="all", scope="repository")
        start = engine.statistics().work.publications
        for edit in range(10):
            changed = random.sample(sorted(titles), 2)
            titles.update(dict.fromkeys(changed, f"edit {edit}"))
            gone = random.choice(sorted({*titles} - {*changed}))
            del titles[gone]
            titles[100 + edit] = "new"
            receipt = engine.publish(turtle(titles), "text/turtle", CATALOGUE, split=split)
            assert [each.graph for each in receipt.removals] == [f"{C}{gone}"]
            new = {each.graph for each in receipt.publications if each.outcome == "accepted"}
            assert new == {f"{C}{number}" for number in (*changed, 100 + edit)}
            of_all = [match for match in receipt.matches if match.subscription == "all"]
            assert [match.publication for match in of_all] == [*sorted(new), f"{C}{gone}"]
            assert [match.change for match in of_all].count("removed") == 1
            assert len(receipt.matches) == len(of_all) + len(new)
            told += len(receipt.matches)
            removed += len(receipt.removals)
            assert current(engine) == expected(titles)
        assert (told, removed) == (70, 10)
        assert engine.statistics().work.publications == start + 30
        assert not engine.publish(turtle(titles), "text/turtle", CATALOGUE, split=split).removals
    with Engine.open(tmp_path) as engine:
        gone = engine.remove(CATALOGUE)
        assert gone is not None
        assert len(gone.removals) == 41
        assert len(gone.matches) == 40
        assert current(engine) == {}
        assert engine.remove(CATALOGUE) is None
        again = engine.publish(turtle(titles), "text/turtle", CATALOGUE, split=split)
        assert {each.outcome for each in again.publications} == {"accepted"}


def test_a_dataset_moves_between_pages_in_either_order() -> None:
    for order in ((0, 1), (1, 0)):
        with Engine() as engine:
            before = [document({1: "a", 2: "b"}, f"{C}page1"), document({3: "c"}, f"{C}page2")]
            after = [document({1: "a"}, f"{C}page1"), document({2: "b", 3: "c"}, f"{C}page2")]
            engine.publish_many(before)
            receipts = engine.publish_many([after[place] for place in order])
            assert sum(len(receipt.removals) for receipt in receipts) == (1 if order == (0, 1) else 0)
            assert current(engine) == expected({1: "a", 2: "b", 3: "c"})


def test_what_another_document_says_holds_again() -> None:
    with Engine() as engine:
        engine.publish_many([document({1: "a"}, f"{C}one"), document({1: "b"}, f"{C}two")])
        assert current(engine) == expected({1: "b"})
        engine.subscribe(NAMES, id="each", notify="every")
        (receipt,) = engine.publish_many([document({2: "c"}, f"{C}two")])
        assert [(each.graph, each.version) for each in receipt.publications if each.graph == f"{C}1"] == [(f"{C}1", 3)]
        assert [match.publication for match in receipt.matches] == [f"{C}2", f"{C}1"]
        assert receipt.removals == ()
        assert current(engine) == expected({1: "a", 2: "c"})


def test_published_whole_it_holds_no_datasets() -> None:
    with Engine() as engine:
        engine.publish_many([document({1: "a", 2: "b"})])
        (receipt,) = engine.publish_many([document({1: "a"}, split=None)])
        assert [each.graph for each in receipt.removals] == [f"{C}1", f"{C}2"]
        assert [(each.graph, each.version) for each in receipt.publications] == [(CATALOGUE, 2)]
        (receipt,) = engine.publish_many([document({1: "a"})])
        assert [(each.version, each.outcome) for each in receipt.publications] == [(2, "accepted"), (3, "accepted")]


def test_versions_that_cannot_be_read_remove_nothing() -> None:
    with Engine() as engine:
        engine.publish(turtle({1: "a"}), "text/turtle", CATALOGUE, split="dcat:Dataset")
        broken = engine.publish(turtle({}) + "<x", "text/turtle", CATALOGUE, split="dcat:Dataset")
        assert broken.rejects
        lines = f"<{C}2> <urn:p> 1 .\n<{C}2> a <http://www.w3.org/ns/dcat#Dataset> .\n"
        partly = engine.publish(lines, "application/n-quads", CATALOGUE, split="dcat:Dataset")
        assert (len(partly.rejects), partly.publications, partly.removals) == (1, (), ())
        assert current(engine) == expected({1: "a"})


def test_threads_publish_catalogues_at_once(tmp_path: Path) -> None:
    def publish(engine: Engine, number: int) -> None:
        for edit in range(6):
            titles = {10 * number + each: f"{edit}" for each in range(6 - edit)}
            engine.publish(turtle(titles, f"{C}{number}"), "text/turtle", f"{C}{number}", split="dcat:Dataset")

    with Engine.open(tmp_path) as engine:
        threads = [threading.Thread(target=publish, args=(engine, 100 + number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert current(engine) == expected({10 * (100 + number): "5" for number in range(4)})
        versions = [each.version for each in engine._journal.publications(0, engine._journal.head())]
        assert max(versions) == 6
        engine._journal.check()


def test_commands_cut_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inbox, query, folder = tmp_path / "inbox", tmp_path / "names.rq", str(tmp_path / "folder")
    inbox.mkdir()
    query.write_text(NAMES)
    (inbox / "a.ttl.gz").write_bytes(gzip.compress(turtle({1: "a", 2: "b"}).encode()))
    lines = [{"id": CATALOGUE, "media_type": "text/turtle", "data": turtle({3: title})} for title in "xy"]
    (inbox / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    cut = ["--split", "dcat:Dataset"]
    assert main(["match", "--subscriptions", str(query), "--publications", str(inbox), *cut]) == 0
    told = capsys.readouterr().out
    assert [line.split()[0] for line in told.splitlines()] == [f"{C}1", f"{C}2", f"{C}3", f"{C}3"]
    assert main(["show", str(inbox), *cut]) == 0
    assert capsys.readouterr().out.count("dcat:Dataset") == 4
    assert main(["subscribe", folder, str(query)]) == 0
    assert main(["publish", folder, str(inbox), *cut]) == 0
    assert "6 accepted" in capsys.readouterr().err.replace("publications ", "")
    (inbox / "a.ttl.gz").unlink()
    (inbox / "a.ttl").write_text(turtle({1: "a"}))
    assert main(["publish", folder, str(inbox / "a.ttl"), "--graph", CATALOGUE, *cut]) in (0, 3)
    assert "1 removed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("nope:Class", "the prefix nope: is not declared"),
        ("<relative>", "is relative"),
        ("SELECT * { ?s ?p ?o }", "it has 3 variables"),
        ("ASK {}", "it is ASK"),
        ("SELECT ?s { SERVICE <urn:a> { ?s ?p ?o } }", "SERVICE is refused"),
        ("", "documents cannot be cut by ''"),
    ],
)
def test_what_is_no_class_and_no_query_is_refused(split: str, said: str) -> None:
    with Engine() as engine:
        with pytest.raises(InputError, match=said.replace("?", r"\?")):
            engine.publish(turtle({}), "text/turtle", split=split)
        with pytest.raises(TypeError, match="the split of a document is str or None"):
            engine.publish(turtle({}), "text/turtle", split=1)  # type: ignore[arg-type]


def test_who_hears_what_changed_is_told_of_a_dataset_that_left_its_document(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(NAMES, id="changed", notify="changed")
        engine.publish(turtle({1: "one", 2: "two"}), "text/turtle", CATALOGUE, split="dcat:Dataset")
        receipt = engine.publish(turtle({2: "second", 3: "three"}), "text/turtle", CATALOGUE, split="dcat:Dataset")
        assert said(receipt.matches) == {f"{C}1": "- one", f"{C}2": "- two + second", f"{C}3": "+ three"}
    with Engine.open(tmp_path) as engine:
        data = turtle({3: "third"}, f"{C}other")
        (match,) = engine.publish(data, "text/turtle", f"{C}other", split="dcat:Dataset").matches
        assert said([match]) == {f"{C}3": "- three + third"}
        receipt = engine.publish(turtle({2: "second"}), "text/turtle", CATALOGUE, split="dcat:Dataset")
        assert not receipt.matches, "the other catalogue holds it still"
        gone = engine.remove(f"{C}other")
        assert gone is not None
        assert said(gone.matches) == {f"{C}3": "- third"}
        told = [each.change for each in engine.notifications()]
        assert told == ["added", "added", *["changed", "added", "removed"], "changed", "removed"]


def said(matches: Sequence[Match]) -> dict[str, str]:
    """The titles removed and added, by dataset."""
    return {
        match.publication: " ".join(
            f"{sign} {row['title'].value}" for sign, rows in (("-", match.removed), ("+", match.added)) for row in rows
        )
        for match in matches
    }
