"""`triplecast follow`, `replicate` and `gc`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.cli import main
from triplecast.local.descriptions import draft_of
from triplecast.patch import read_patches

DOCUMENT = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> . @prefix : <https://e.org/> .
:trees a dcat:Dataset ; dct:publisher :city . :city dct:title "City" .
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Engine.open(tmp_path / "provider") as engine:
        engine.publish(DOCUMENT, "text/turtle", "https://e.org/one")
        engine.load_schema("<http://purl.org/dc/terms/publisher> <urn:triplecast:mdv:strong> true .", "text/turtle")
    (tmp_path / "datasets.rq").write_text("SELECT ?d { ?d a dcat:Dataset }")
    (tmp_path / "wrong.rq").write_text("SELECT ?d {")
    return tmp_path


def run(capsysbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[int, str, str]:
    code = main([str(each) for each in arguments])
    out, err = capsysbinary.readouterr()
    return code, out.decode(), err.decode()


def test_a_local_repository_is_followed_queried_and_explained(
    place: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    files = [place / "datasets.rq", place / "wrong.rq"]
    follow = ("follow", place / "provider", "--into", place / "local", "--once")
    code, out, err = run(capsysbinary, *follow, "--subscriptions", *files)
    assert (code, out) == (1, "position 3\n")
    assert "wrong.rq: " in err
    assert run(capsysbinary, *follow, "--json")[:2] == (0, '{"position":3,"behind":0}\n')
    assert "City" in run(capsysbinary, "query", place / "local", "SELECT ?t { ?s dct:title ?t }")[1]
    listed = "<https://e.org/city>  datasets.rq  from <https://e.org/trees>\n<https://e.org/trees>  datasets.rq\n"
    assert run(capsysbinary, "gc", place / "local", "--dry-run")[:2] == (0, listed)
    rows = [json.loads(line) for line in run(capsysbinary, "gc", place / "local", "--json")[1].splitlines()]
    assert [row["path"] for row in rows] == [
        ["<https://e.org/trees>", "<https://e.org/city>"],
        ["<https://e.org/trees>"],
    ]
    with Engine.open(place / "local") as engine:
        engine.taking.changes([draft_of("urn:triplecast:held:urn:x", [b'<urn:x> <urn:p> "1" .\n'])], {})
    assert "<urn:x>  nothing holds it" in run(capsysbinary, "gc", place / "local", "--dry-run")[1]
    assert run(capsysbinary, "gc", place / "local")[2] == "1 resource dropped\n"


def test_what_a_deleted_folder_had_is_ended_by_its_owner(
    place: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    follow = ("follow", place / "provider", "--into", place / "local", "--once")
    run(capsysbinary, *follow, "--subscriptions", place / "datasets.rq")
    listed = json.loads(run(capsysbinary, "subscriptions", place / "provider", "--json")[1])
    end = ("unsubscribe", place / "provider")
    assert run(capsysbinary, *end)[0] == run(capsysbinary, *end, "an id", "--owner", listed["owner"])[0] == 2
    assert run(capsysbinary, *end, "--owner", listed["owner"])[:2] == (0, f"{listed['id']} is cancelled\n")
    assert run(capsysbinary, "subscriptions", place / "provider")[1] == ""
    code, _, err = run(capsysbinary, *end, "--owner", "nobody")
    assert (code, "nobody" in err) == (3, True)


def test_a_replica_is_kept_and_promoted(place: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    replica = place / "replica"
    assert run(capsysbinary, "replicate", place / "provider", "--into", replica, "--once")[:2] == (0, "position 2\n")
    code, out, _ = run(capsysbinary, "replicate", place / "provider", "--into", "-")
    assert code == 0
    assert [len(patch.rows) for patch in read_patches(out.encode())] == [3, 0]
    code, _, err = run(capsysbinary, "subscribe", replica, place / "datasets.rq")
    assert (code, "is a replica of" in err) == (2, True)
    assert err.endswith("--promote\n")
    follow = ("follow", replica, "--into", place / "local", "--once")
    assert "name some with --subscriptions" in run(capsysbinary, *follow)[2]
    assert (
        "they come with its next replication" in run(capsysbinary, *follow, "--subscriptions", place / "datasets.rq")[2]
    )
    assert run(capsysbinary, "replicate", "--into", replica, "--promote")[:2] == (0, "position 2\n")
    assert run(capsysbinary, "subscribe", replica, place / "datasets.rq")[0] == 0


def test_wrong_calls(place: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for arguments, problem in (
        (("follow", place / "nothing", "--into", place / "local"), "no journal in"),
        (("gc", place / "nothing"), "no journal in"),
        (("replicate", "--into", place / "nothing", "--promote"), "no journal in"),
        (("replicate", "--into", place / "replica"), "--promote takes no PROVIDER"),
        (("replicate", place / "provider", "--into", place / "replica", "--promote"), "--promote takes no PROVIDER"),
        (("replicate", "--into", place / "provider", "--promote"), "is no replica"),
        (("replicate", place / "provider", "--into", place / "provider", "--once"), "records of its own"),
    ):
        code, out, err = run(capsysbinary, *arguments)
        assert (code, out) == (2, "")
        assert problem in err
    assert not (place / "nothing").exists()
    code, _, err = run(capsysbinary, "gc", place / "provider")
    assert (code, "holds nothing of a provider" in err) == (3, True)
