"""`triplecast subscribe`, `unsubscribe`, `subscriptions`, `status`: on a folder that nobody has open."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from triplecast import Engine, InputError, StorageFault
from triplecast.cli import main
from triplecast.journal import Journal
from triplecast.registry.control_client import open_requests

QUERY = "SELECT ?a { ?a <http://e/p> 1 }"


def test_subscriptions_come_are_listed_and_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, query = str(tmp_path / "folder"), tmp_path / "rail.rq"
    query.write_text(QUERY)
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"id": "x", "text": QUERY, "owner": "bo"})
        + "\n"
        + json.dumps({"id": "bad", "text": "SELECT"})
        + "\n"
    )
    assert main(["subscribe", folder, str(query), "--id", "rail", "--owner", "ada", "--lease", "2h", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["id"], len(made["ticket"])) == ("rail", 43)
    assert main(["subscribe", folder, str(tmp_path / "more.jsonl"), "--lease", "forever"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("x  without end  ticket ")
    assert "more.jsonl:2" in shown.err
    assert main(["subscribe", folder, str(query), "--id", "rail"]) == 2
    assert "'rail' is in use by a subscription of the Python API, the command line or HTTP" in capsys.readouterr().err
    assert main(["subscriptions", folder, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["id"], row["owner"], row["source"]) for row in rows] == [("rail", "ada", "api"), ("x", "bo", "api")]
    assert main(["subscriptions", folder, "--owner", "bo"]) == 0
    assert capsys.readouterr().out.startswith("x api narrow owner bo SELECT")
    assert main(["unsubscribe", folder, "rail", "--ticket", "wrong"]) == 2
    assert main(["unsubscribe", folder, "rail", "--ticket", made["ticket"]]) == 0
    capsys.readouterr()
    assert main(["status", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["subscriptions"] == 1
    assert main(["status", folder]) == 0
    assert capsys.readouterr().out.startswith("1 live subscription\n")


def test_a_folder_without_a_journal_is_named_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`poll` made one of a misspelt name."""
    folder, other = tmp_path / "misspelt", tmp_path / "other"
    commands = "unsubscribe x|resync x|subscriptions|status|query ASK{}|deliver --once|targets list|poll --once|gc"
    commands += f"|sources|taxonomy|schema|notifications|follow --into {other} --once|replicate --into {other} --once"
    for command, *rest in map(str.split, commands.split("|")):
        assert main([command, str(folder), *rest]) == 2, command
        assert f"{folder}" in (said := capsys.readouterr().err), command
        assert "no journal" in said or "no outbox" in said, command
        assert not [*tmp_path.iterdir()], command
    (tmp_path / "a.rq").write_text(QUERY)
    assert main(["subscribe", str(tmp_path / "f"), str(tmp_path / "a.rq"), "--lease", "tomorrow"]) == 2
    assert "a lease is not 'tomorrow'" in capsys.readouterr().err


def test_a_subscription_whose_lease_is_over_is_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.rq").write_text(QUERY)
    folder = str(tmp_path / "f")
    assert main(["subscribe", folder, str(tmp_path / "a.rq"), "--lease", "0.01s"]) == 0
    assert capsys.readouterr().err == f"{folder} held no journal: a new one is made there\n"
    time.sleep(0.02)
    assert main(["status", folder]) == 0
    assert capsys.readouterr().out.startswith("0 live subscriptions\n")


def test_no_journal_is_made_in_a_file_or_among_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "a.rq"
    query.write_text(QUERY)
    assert main(["subscribe", str(query), str(query)]) == 2
    assert capsys.readouterr().err == f"triplecast subscribe: {query} is a file; name a folder first\n"
    assert main(["subscribe", str(tmp_path), str(query)]) == 2
    assert "holds no journal, but other files, such as a.rq; name" in capsys.readouterr().err
    assert main(["run", "--inbox", str(tmp_path), "--output", str(tmp_path)]) == 2
    assert f"{tmp_path} is in the inbox {tmp_path}, where" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.rq"]


def test_a_syntax_error_names_the_file_and_what_is_expected_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.rq").write_text("SELEC ?x { ?x ?y ?z }")
    assert main(["subscribe", str(tmp_path / "f"), str(tmp_path / "a.rq")]) == 2
    shown = capsys.readouterr().err
    assert f"{tmp_path / 'a.rq'}:1:1: unknown word SELEC" in shown
    assert (shown.count("a.rq"), shown.count("expected:")) == (1, 1)


def test_a_refusal_has_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was lost between the answer to a request and the line that the command prints."""
    query = tmp_path / "a.rq"
    query.write_text("ASK {\n  ?s ?p ?o SERVICE <urn:e> { ?s ?p ?o } }")
    assert main(["subscribe", str(tmp_path / "f"), str(query)]) == 2
    assert f"{query}:2:12: SERVICE is refused: " in capsys.readouterr().err


def test_nothing_is_written_to_a_journal_that_is_older_than_its_outbox(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """New records would take the positions of the lost ones, and new notifications the ids of earlier ones."""
    folder, query, document = tmp_path / "f", tmp_path / "a.rq", tmp_path / "a.ttl"
    query.write_text(QUERY)
    document.write_text("<http://e/a> <http://e/p> 1 .")
    with Engine.open(folder) as engine:
        engine.subscribe(QUERY, id="rail")
        engine.publish("<http://e/x> <http://e/p> 1 .", "text/turtle", "urn:x")
    older = (folder / "journal.sqlite").read_bytes()
    with Engine.open(folder) as engine:
        for name in ("urn:y", "urn:z"):
            engine.publish(f"<{name}> <http://e/p> 1 .", "text/turtle", name)
    for path in (*folder.glob("*.end"), *folder.glob("journal.sqlite-*")):
        path.unlink()
    (folder / "journal.sqlite").write_bytes(older)
    found = f"{folder / 'journal.sqlite'}: it ends at position 2, but 4 has been matched; restore journal and outbox"
    for command in (
        ["status", str(folder)],
        ["status", str(folder), "--json"],
        ["subscribe", str(folder), str(query)],
        ["unsubscribe", str(folder), "rail"],
        ["publish", str(folder), str(document)],
        ["status", str(folder)],
    ):
        assert main(command) == 2
        assert capsys.readouterr().err == f"triplecast {command[0]}: {found} from one copy\n"
    renewal = {"request": "renew", "id": "rail", "lease": 60}
    with pytest.raises(StorageFault, match="ends at position 2, but 4"), open_requests(folder) as ask:
        ask(renewal)
    with Journal.read_only(folder) as journal:
        assert journal.head() == 2


@pytest.mark.parametrize("left", ["outbox.sqlite", "journal.end"])
def test_a_journal_that_is_missing_is_to_be_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: str
) -> None:
    folder, query, document = tmp_path / "f", tmp_path / "a.rq", tmp_path / "a.ttl"
    query.write_text(QUERY)
    document.write_text("<http://e/a> <http://e/p> 1 .")
    (tmp_path / "inbox").mkdir()
    with Engine.open(folder) as engine:
        engine.subscribe(QUERY, id="rail")
        engine.publish("<http://e/x> <http://e/p> 1 .", "text/turtle", "urn:x")
    for path in folder.iterdir():
        if path.is_file() and path.name != left:
            path.unlink()
    for command in (
        ["status", str(folder)],
        ["subscriptions", str(folder)],
        ["unsubscribe", str(folder), "rail"],
        ["subscribe", str(folder), str(query)],
        ["publish", str(folder), str(document)],
        ["run", "--inbox", str(tmp_path / "inbox"), "--output", str(folder), "--subscriptions", str(query)],
    ):
        assert main(command) == 2
        found = f"triplecast {command[0]}: {folder}: journal.sqlite is missing; restore it from a copy\n"
        assert capsys.readouterr().err == found
    assert not (folder / "journal.sqlite").exists()


def test_a_subscription_of_repository_scope_is_told_by_the_next_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, query = str(tmp_path / "folder"), tmp_path / "rail.rq"
    query.write_text(QUERY)
    with Engine.open(folder) as engine:
        engine.publish("<http://e/s> <http://e/p> 1 .", "text/turtle", "http://e/one")
        assert engine.statistics().live.repository == 0
    assert main(["subscribe", folder, str(query), "--scope", "repository"]) == 0
    capsys.readouterr()
    assert main(["subscriptions", folder]) == 0
    assert "scope repository" in capsys.readouterr().out
    with Engine.open(folder) as engine:
        (told,) = engine.notifications()
        assert [row["a"].value for row in told.added] == ["http://e/s"]
        assert engine.statistics().live.repository == 1
        with pytest.raises(InputError, match="repository scope"):
            engine.explain("<http://e/s> <http://e/p> 1 .", told.subscription, "text/turtle")
    for command in ("explain", "preview"):
        rows = tmp_path / "rows.jsonl"
        rows.write_text(json.dumps({"id": "x", "text": QUERY, "scope": "repository"}))
        (tmp_path / "a.ttl").write_text("<http://e/s> <http://e/p> 1 .")
        document = [str(tmp_path / "a.ttl")]
        given = [*document, str(rows)] if command == "explain" else [str(rows), "--publications", *document]
        assert main([command, *given]) == 2
        assert "it needs a folder of documents" in capsys.readouterr().err
