"""The command line as a user meets it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.unit.outbox.outbox_samples import batch, names
from triplecast.cli import main
from triplecast.kernels.compiling import FIRST, LATER, compile_kernels
from triplecast.model.match import MatchStats, changed_bindings
from triplecast.model.subscription import NamedRegistrations, SubscriptionCounts
from triplecast.outbox import Outbox, OutboxBatch, PublicationName
from triplecast.outbox.batch import OutboxRow

RECORD = """@prefix dcterms: <http://purl.org/dc/terms/> .
<https://example.org/1> dcterms:title "Air" ; dcterms:extent 5 ."""


@pytest.fixture(autouse=True, scope="module")
def kernels() -> None:
    """Compiled before, so that nobody is told that they are being compiled."""
    compile_kernels(lambda text: None, units=(*FIRST, *LATER))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "subscriptions").mkdir()
    (tmp_path / "inbox").mkdir()
    (tmp_path / "subscriptions" / "titles.rq").write_text("SELECT ?s ?t WHERE { ?s dcterms:title ?t }")
    (tmp_path / "subscriptions" / "long.rq").write_text("SELECT ?s WHERE { ?s dcterms:extent ?n FILTER(?n > 100) }")
    (tmp_path / "inbox" / "1.ttl").write_text(RECORD)
    return tmp_path


def match(desk: Path, *more: str) -> int:
    return main(["match", "--subscriptions", str(desk / "subscriptions"), "--publications", str(desk / "inbox"), *more])


def test_match_prints_a_json_line_a_match_and_nothing_else_on_stdout(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert match(desk, "--json") == 0
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {
            "publication": "urn:triplecast:document:1.ttl",
            "subscription": "titles.rq",
            "change": "added",
            "answer": {
                "head": {"vars": ["s", "t"]},
                "results": {
                    "bindings": [
                        {
                            "s": {"type": "uri", "value": "https://example.org/1"},
                            "t": {"type": "literal", "value": "Air"},
                        }
                    ]
                },
            },
        }
    ]
    counts = json.loads(err)
    assert counts["live"] == asdict(SubscriptionCounts(predicate=2, index=2))
    assert counts["work"] == asdict(MatchStats(publications=1, keys=2, touched=2, joins=2, matches=1))
    assert (counts["publications"], counts["subscriptions"], counts["matches"], counts["reject_count"]) == (1, 2, 1, 0)


def test_match_counts_on_stderr_and_stdout_has_matches_alone(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert match(desk) == 0
    out, err = capsys.readouterr()
    assert out.startswith("urn:triplecast:document:1.ttl  titles.rq  ")
    assert out.count("\n") == 1
    assert err == "1 publication, 2 subscriptions: 1 match, 0 rejected, 0 undecided, 0 subscriptions refused\n"


def test_files_that_are_no_documents_are_named_and_counted(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(7):
        (desk / "inbox" / f"{number}.csv").write_text("a,b")
    assert match(desk) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("skipped 7 files (an unknown extension, a link or a pipe): 0.csv, 1.csv,")
    assert told[0].endswith("4.csv and 2 more")
    (desk / "subscriptions" / "more.sql").write_text("ASK { ?s ?p ?o }")
    assert match(desk) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].endswith(
        "among the subscriptions, which are read from .rq, .sparql, .rdql, .rule, .jsonl files: more.sql"
    )
    assert told[-1].endswith("0 subscriptions refused, 8 files skipped")


def test_what_a_subscription_hardly_means_is_told_before_it_is_asked(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "subscriptions" / "odd.rq").write_text("SELECT ?titel WHERE { ?s dcterms:title ?title }")
    assert match(desk, "--json") == 0
    told, counts = capsys.readouterr().err.splitlines()
    assert told.startswith(f"{desk}/subscriptions/odd.rq: note: ?titel in SELECT is bound by nothing")
    assert json.loads(counts)["warnings"] == 1
    assert match(desk) == 0
    assert capsys.readouterr().err.splitlines()[-1].endswith("0 subscriptions refused, 1 warning on subscriptions")


def test_a_path_given_twice_is_taken_once(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(desk / "inbox"), f"{desk / 'inbox'}/../inbox"]
    subscriptions = [str(desk / "subscriptions")] * 2
    assert main(["match", "--subscriptions", *subscriptions, "--publications", *folders]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == "1 publication, 2 subscriptions: 1 match, 0 rejected, 0 undecided, 0 subscriptions refused\n"


def test_two_documents_with_one_name_are_refused_naming_both_places(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "more").mkdir()
    (desk / "more" / "1.ttl").write_text("<a:b> <a:c> 1 .")
    folders = [str(desk / "inbox"), str(desk / "more")]
    assert main(["match", "--subscriptions", str(desk / "subscriptions"), "--publications", *folders]) == 2
    err = capsys.readouterr().err
    assert all(folder in err for folder in folders)
    (desk / "more" / "1.ttl").rename(desk / "more" / "2.ttl")
    assert main(["match", "--subscriptions", str(desk / "subscriptions"), "--publications", *folders]) == 0


def test_nothing_matched_is_exit_code_3(desk: Path) -> None:
    (desk / "subscriptions" / "titles.rq").unlink()
    assert match(desk) == 3


def test_a_malformed_document_among_good_ones_is_told_with_its_place(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "inbox" / "2.ttl").write_text("<https://example.org/2> <https://example.org/p> .\n")
    assert match(desk, "--json") == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert err.startswith("rejected 2.ttl:1:")


def test_a_typing_error_in_a_query_shows_the_line_with_a_caret(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "subscriptions" / "wrong.rq").write_text("SELECT ?s WHERE {\n  ?s dcterms:title ?t FITLER(?t)\n}")
    assert match(desk) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith(f"{desk / 'subscriptions' / 'wrong.rq'}:2:")
    assert err[3].startswith("expected: ")
    assert err[2].index("^") == err[1].index("FITLER")


def test_a_refused_query_is_named(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "subscriptions" / "remote.rq").write_text("SELECT * WHERE { SERVICE <https://example.org/> { ?s ?p ?o } }")
    assert match(desk) == 1
    assert "SERVICE is refused" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["subscriptions", "publications"])
def test_a_missing_folder_is_exit_code_2(desk: Path, capsys: pytest.CaptureFixture[str], missing: str) -> None:
    paths = {"subscriptions": desk / "subscriptions", "publications": desk / "inbox", missing: desk / "nowhere"}
    argv = ["match", "--subscriptions", str(paths["subscriptions"]), "--publications", str(paths["publications"])]
    assert main(argv) == 2
    assert "nowhere" in capsys.readouterr().err


def test_an_empty_folder_says_what_belongs_into_it(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "inbox" / "1.ttl").unlink()
    assert match(desk) == 2
    assert ".ttl" in capsys.readouterr().err


def test_publications_come_as_lines_too(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"id": "https://example.org/doc", "media_type": "text/turtle", "data": RECORD}, {"id": 5}]
    (desk / "inbox" / "more.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    assert match(desk, "--json") == 1
    out, err = capsys.readouterr()
    assert [json.loads(line)["publication"] for line in out.splitlines()][-1] == "https://example.org/doc"
    assert err.startswith("rejected more.jsonl:2: gate: ")


def test_a_subscription_in_an_unknown_language_stops_no_other(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "subscriptions" / "more.jsonl").write_text('{"id": "alien", "language": "klingon", "text": "nuqneH"}\n')
    assert match(desk, "--json") == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert err.startswith(f"{desk / 'subscriptions' / 'more.jsonl'}:1: alien: language klingon is refused")


def test_explain_says_why_and_why_not(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = str(desk / "inbox" / "1.ttl")
    assert main(["explain", document, str(desk / "subscriptions" / "titles.rq")]) == 0
    assert "titles.rq matches urn:triplecast:document:1.ttl" in capsys.readouterr().out
    assert main(["explain", document, str(desk / "subscriptions" / "titles.rq"), "--json"]) == 0
    (solution,) = json.loads(capsys.readouterr().out)["answer"]["results"]["bindings"]
    assert solution["t"] == {"type": "literal", "value": "Air"}
    assert main(["explain", document, str(desk / "subscriptions" / "titles.rq"), "--graph", "urn:other"]) == 2
    assert "it has urn:triplecast:document:1.ttl" in capsys.readouterr().err
    assert main(["explain", document, str(desk / "subscriptions" / "long.rq")]) == 3
    out = capsys.readouterr().out
    assert "does not match" in out
    assert "?n > " in out
    assert "false for ?n = 5" in out


def test_preview_counts_and_shows(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["preview", str(desk / "subscriptions" / "titles.rq"), "--publications", str(desk / "inbox"), "--json"]
    assert main(argv) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["matches"], summary["publications"], summary["decided_by"]) == (1, 1, "index")


def test_notifications_of_an_engine(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import triplecast

    with triplecast.Engine.open(desk / "state") as engine:
        engine.subscribe("SELECT ?s WHERE { ?s dcterms:title ?t }", id="titles", owner="ada")
        engine.publish(RECORD, media_type="text/turtle", graph="https://example.org/doc")
    assert main(["notifications", str(desk / "state"), "--json"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["sequence"], row["subscription"], row["owner"], row["version"]) == (1, "titles", "ada", 1)
    assert row["answer"]["results"]["bindings"] == [{"s": {"type": "uri", "value": "https://example.org/1"}}]
    assert main(["notifications", str(desk / "state"), "--since", "1"]) == 3
    for found, *options in ((1, "--owner", "ada"), (0, "--owner", "bob"), (1, "--subscription", "titles")):
        assert main(["notifications", str(desk / "state"), *options]) == (0 if found else 3)
        assert capsys.readouterr().out.count("\n") == found
    assert main(["notifications", str(desk / "state"), "--owner", "ada", "--undecided"]) == 2


def test_what_was_rejected_and_what_was_not_decided_is_listed(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import triplecast
    from triplecast.outbox import Outbox

    with triplecast.Engine.open(desk / "state") as engine:
        engine.publish("<a:b> <a:c> ", media_type="text/turtle", graph="https://example.org/bad")
    with Outbox.open(desk / "state") as outbox:
        outbox.commit(batch([], [(7, 3, "out of steps")]), 7, names)
    folder = str(desk / "state")
    assert main(["notifications", folder]) == 3
    assert main(["notifications", folder, "--rejects", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["position"], row["source"], row["stage"], row["line"]) == (1, "https://example.org/bad", "parse", 1)
    assert main(["notifications", folder, "--rejects"]) == 0
    assert capsys.readouterr().out.startswith("1  rejected https://example.org/bad:1:")
    assert main(["notifications", folder, "--rejects", "--after", "1"]) == 3
    assert main(["notifications", folder, "--undecided", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["position"], row["subscription"], row["reason"]) == (7, "s3", "out of steps")
    assert main(["notifications", folder, "--undecided"]) == 0
    assert capsys.readouterr().out == "7  undecided urn:graph v7 s3: out of steps\n"


def test_a_folder_without_an_outbox_is_exit_code_2(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (desk, desk / "nowhere"):
        assert main(["notifications", str(folder)]) == 2
        assert f"no outbox in {folder}" in capsys.readouterr().err


def test_following_waits_for_the_folder(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import triplecast

    looks: list[float] = []

    def publish_then_interrupt(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt
        with triplecast.Engine.open(desk / "later") as engine:
            engine.subscribe("SELECT ?s WHERE { ?s dcterms:title ?t }", id="titles")
            engine.publish(RECORD, media_type="text/turtle", graph="https://example.org/doc")

    monkeypatch.setattr("triplecast.cli.notifications.sleep", publish_then_interrupt)
    assert main(["notifications", str(desk / "later"), "--follow"]) == 130
    assert "titles  https://example.org/doc v1" in capsys.readouterr().out


def test_who_follows_one_owner_gets_each_once_and_passes_over_the_others(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import triplecast
    from triplecast.outbox.reader import OutboxReader

    starts: list[object] = []
    read = OutboxReader.notifications

    def noted(self: OutboxReader, since: object, *more: object) -> object:
        starts.append(since)
        return read(self, since, *more)  # type: ignore[arg-type]

    with triplecast.Engine.open(desk / "state") as engine:
        for name, owner in (("titles", "ada"), ("others", "bob")):
            engine.subscribe("SELECT ?s WHERE { ?s dcterms:title ?t }", id=name, owner=owner)

    def publish(seconds: float) -> None:
        if len(starts) == 4:
            raise KeyboardInterrupt
        with triplecast.Engine.open(desk / "state") as engine:
            engine.publish(RECORD, media_type="text/turtle", graph=f"urn:{len(starts)}")

    monkeypatch.setattr("triplecast.cli.notifications.sleep", publish)
    monkeypatch.setattr(OutboxReader, "notifications", noted)
    assert main(["notifications", str(desk / "state"), "--follow", "--owner", "ada"]) == 130
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["1", "titles", "urn:1"],
        ["3", "titles", "urn:2"],
        ["5", "titles", "urn:3"],
    ]
    assert [str(start).rpartition(":")[2] for start in starts] == ["0", "0", "2", "4"]


def test_doctor_finds_everything_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    states = {row["what"]: row["state"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert states["pyoxigraph"] == "ok"
    assert states["SQLite"] == "ok"


def test_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["match"])
    assert stopped.value.code == 2
    assert "--subscriptions" in capsys.readouterr().err


def test_a_taxonomy_in_which_nothing_is_under_anything_is_told(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    concepts = desk / "concepts.ttl"
    skos = "http://www.w3.org/2004/02/skos/core#"
    concepts.write_text(f"<urn:a> a <{skos}Concept> ; <{skos}broader> <urn:b> .")
    assert match(desk, "--taxonomy", str(concepts)) == 0
    assert "the taxonomy has no effect" in (err := capsys.readouterr().err)
    assert "--broader reads skos:broader too" in err
    assert match(desk, "--taxonomy", str(concepts), "--broader") == 0
    assert "the taxonomy has no effect" not in capsys.readouterr().err


def test_notifications_show_removed_rows_as_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [b'[{"x":"<urn:1>"}]', b'[{"x":"<urn:2>"},{"x":"<urn:3>"}]']
    rows = [OutboxRow(at, 5, at - 1, text.decode()) for at, text in enumerate([*texts, changed_bindings(*texts)], 1)]
    publications = {at: PublicationName(at, "urn:g", at, "2026-11-21T08:00:00.000000Z") for at in (1, 2, 3)}
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(OutboxBatch.of_rows(rows, publications), 3, lambda _: [NamedRegistrations(5, ["rail"], [None])])
    assert main(["notifications", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1  rail  urn:g v1  ?x=<urn:1>",
        "2  rail  urn:g v2  - ?x=<urn:2> (+1 more)",
        "3  rail  urn:g v3  + ?x=<urn:1>  - ?x=<urn:2> (+1 more)",
    ]
    assert main(["notifications", str(tmp_path), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    bound = [[len(row[key]["results"]["bindings"]) for key in ("answer", "removed") if key in row] for row in found]
    assert bound == [[1], [0, 2], [1, 2]]
