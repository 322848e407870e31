"""`triplecast publish`: a folder without Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyoxigraph import QueryResultsFormat, QuerySolutions, parse_query_results

from triplecast.cli import main
from triplecast.journal import Journal

TITLE = "<http://purl.org/rss/1.0/title>"


@pytest.fixture
def news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.rq").write_text("SELECT ?t ?i WHERE { ?i rss:title ?t }")
    Path("1.ttl").write_text(f'<urn:1> {TITLE} "Air" .')
    assert main(["subscribe", "news", "a.rq"]) == 0
    capsys.readouterr()
    return tmp_path / "news"


def test_what_matches_is_printed_and_kept(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "news", "1.ttl"]) == 0
    out, err = capsys.readouterr()
    assert out == 'urn:triplecast:document:1.ttl v1  a.rq  ?t="Air" ?i=<urn:1>\n'
    assert err == "1 publication accepted, 0 unchanged, 0 rejected: 1 match, 0 undecided\n"
    assert main(["publish", "news", "1.ttl"]) == 3
    assert "0 publications accepted, 1 unchanged" in capsys.readouterr().err
    Path("1.ttl").write_text(f'<urn:1> {TITLE} "Ash" .')
    assert main(["publish", "news", "1.ttl", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["version"], row["subscription"], row["change"]) == (2, "a.rq", "changed")
    read = parse_query_results(json.dumps(row["answer"]).encode(), format=QueryResultsFormat.JSON)
    assert isinstance(read, QuerySolutions)
    assert [solution["t"].value for solution in read] == ["Ash"]
    assert main(["notifications", "news", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["version"] for each in told] == [1, 2]
    assert (told[1]["id"], told[1]["answer"]) == (row["id"], row["answer"])


def test_what_is_wrong_is_named_and_stops_no_other(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("2.ttl").write_text("<urn:2> wrong")
    assert main(["publish", "news", "2.ttl"]) == 2
    assert main(["publish", "news", "1.ttl", "2.ttl"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("urn:triplecast:document:1.ttl v1  a.rq  ")
    assert "rejected 2.ttl:1:" in err
    assert main(["publish", "news", "1.ttl", "2.ttl", "--graph", "urn:g"]) == 2
    assert "--graph names one document, and there are 2; leave it out" in capsys.readouterr().err
    assert main(["publish", "news", "missing.ttl"]) == 2
    assert main(["publish", "news", "https://example.org/feed.atom"]) == 2
    assert "is an address, and nothing is fetched; save it as a file first" in capsys.readouterr().err


def test_a_document_can_be_named(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "news", "1.ttl", "--graph", "urn:g"]) == 0
    assert capsys.readouterr().out.startswith("urn:g v1  ")


def test_a_new_folder_says_that_nobody_listens(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "other", "1.ttl"]) == 3
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "other held no journal: a new one is made there"
    assert err[1] == "no subscription is live in other: add one with `triplecast subscribe`"


def test_a_subscription_of_repository_scope_listens(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("any.rq").write_text("ASK { ?x ?p ?y }")
    assert main(["subscribe", "other", "any.rq", "--scope", "repository"]) == 0
    capsys.readouterr()
    assert main(["publish", "other", "1.ttl"]) == 0
    assert "no subscription is live" not in capsys.readouterr().err


@pytest.mark.parametrize("files", [["missing.ttl"], ["1.ttl", "missing.ttl"], ["empty"]])
def test_no_folder_is_made_for_files_that_are_not_there(news: Path, files: list[str]) -> None:
    Path("empty").mkdir()
    assert main(["publish", "newz", *files]) == 2
    assert not Path("newz").exists()


def test_while_another_has_the_folder(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Journal.open(news) as journal:
        assert main(["publish", "news", "1.ttl"]) == 2
        assert "inbox" not in capsys.readouterr().err
        journal.announce(str(news / "control.sock"))
        assert main(["publish", "news", "1.ttl"]) == 2
        assert "it is a run: move the files into its inbox" in capsys.readouterr().err
        assert main(["taxonomy", "news", "1.ttl"]) == 2
        assert "a run takes --taxonomy; put it to the /taxonomy of a server" in capsys.readouterr().err
        assert main(["poll", "news", "--once"]) == 2
        assert "a server polls its sources by itself" in capsys.readouterr().err


def test_a_name_that_nobody_has_is_said(news: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt name looked like one without notifications."""
    assert main(["subscribe", "news", "a.rq", "--id", "rail", "--owner", "ada"]) == 0
    capsys.readouterr()
    for words, said in (
        (["notifications", "news", "--owner", "adda"], "no subscription in news has the owner adda; was ada meant?\n"),
        (["notifications", "news", "--subscription", "nope"], "no subscription in news has the id nope\n"),
        (["notifications", "news", "--owner", "ada", "--subscription", "rail"], ""),
        (["subscriptions", "news", "--owner", "adda"], "no subscription in news has the owner adda; was ada meant?\n"),
    ):
        assert main(words) == (3 if words[0] == "notifications" else 0)
        assert capsys.readouterr() == ("", said)
