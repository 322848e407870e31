"""`triplecast sources` and `poll` from the command line, with a server on this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.feed_server import Said, rss, serve_feeds
from triplecast.cli import main
from triplecast.cli.terminal import Exit
from triplecast.sources import SourceList


def test_a_source_is_added_polled_shown_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "folder")
    with serve_feeds() as server:
        url = server.url("/feed")
        allowed = ["--private", "--source-port", str(urlsplit(url).port)]
        server.pages["/feed"] = Said(rss([("urn:1", "Night train", "")]))
        assert main(["sources", folder, "add", url, "--title", "News", "--folder", "A", "B"]) == Exit.DONE
        assert main(["subscribe", folder, "--words", "train", "--in", "rss:title", "--class", "rss:item"]) == Exit.DONE
        assert "ft:contains(?text, '\"train\"')" in capsys.readouterr().err
        assert main(["poll", folder, "--once"]) == Exit.FAILED  # this machine is private
        assert "is not allowed; use one of 80, 443, or allow this one by `--source-port" in capsys.readouterr().out
        assert main(["sources", folder, "check", url, *allowed, "--json"]) == Exit.DONE
        assert json.loads(capsys.readouterr().out)["new"] == 1
        assert main(["poll", folder, "--once", *allowed]) == Exit.NOTHING
        assert "nothing is to be asked before 20" in capsys.readouterr().err
        assert main(["sources", folder, "--json"]) == Exit.DONE
        row = json.loads(capsys.readouterr().out)
        assert (row["title"], row["folders"], row["kind"], row["failures"]) == ("News", [["A", "B"]], "feed", 0)
        assert main(["notifications", folder, "--json"]) == Exit.DONE
        assert "Night train" in capsys.readouterr().out
        assert main(["sources", folder, "provenance", "urn:1"]) == Exit.DONE
        assert f"urn:1 v1  from {url}" in capsys.readouterr().out
        assert main(["sources", folder, "provenance", "urn:none"]) == Exit.NOTHING
        assert capsys.readouterr().err.endswith("no source has brought urn:none\n")
        assert main(["sources", folder, "held", url]) == Exit.DONE
        assert capsys.readouterr().err == f"{url}: nothing is held\n"
        assert main(["sources", folder, "release", url, *allowed]) == Exit.NOTHING
        assert main(["sources", folder, "remove", url]) == Exit.DONE
        assert main(["poll", folder, "--once", "--every", "5m", "--at-most", "12h"]) == Exit.NOTHING


def test_what_a_server_says_stays_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = str(tmp_path / "folder"), "https://news.example/feed"
    assert main(["sources", folder, "add", url]) == Exit.DONE
    (listed,) = SourceList(tmp_path / "folder").sources()
    said = replace(listed, error="no answer\nhttps://other.example/  feed")
    monkeypatch.setattr(SourceList, "sources", lambda _: [said])
    capsys.readouterr()
    assert main(["sources", folder]) == Exit.DONE
    assert capsys.readouterr().out.endswith("  no answer\\u000Ahttps://other.example/  feed\n")


def test_outlines_go_in_and_out(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    outline = tmp_path / "feeds.opml"
    entry = '<outline text="N"><outline text="A" xmlUrl="https://a.example/"/><outline xmlUrl="nowhere"/></outline>'
    outline.write_text(f'<opml version="2.0"><body>{entry}</body></opml>')
    folder = str(tmp_path / "folder")
    assert main(["sources", folder, "import", str(outline), "--dry-run"]) == Exit.PARTLY
    assert b"1 to add, 0 there already, 0 repeated, 1 wrong" in capfdbinary.readouterr().err
    assert main(["sources", folder, "import", str(outline)]) == Exit.PARTLY
    capfdbinary.readouterr()
    assert main(["sources", folder, "export"]) == Exit.DONE
    assert b'<outline text="A" type="rss" xmlUrl="https://a.example/" />' in capfdbinary.readouterr().out
    outline.write_text("<rss/>")
    assert main(["sources", folder, "import", str(outline)]) == Exit.FAILED
    assert b"feeds.opml: it is no OPML" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["list"], "holds no journal; "),
        (["export"], "holds no journal; "),
        (["add"], "`sources add` needs URL; "),
        (["import"], "`sources import` needs FILE.opml; "),
        (["list", "more"], "`sources list` takes nothing else; "),
        (["remove", "https://a.example/"], "holds no journal; "),
        (["add", "x"], "give https://host/path"),
        (["import", "missing.opml"], "name an OPML file"),
    ],
)
def test_a_wrong_call_says_what_is_right(
    tmp_path: Path, wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sources", str(tmp_path / "folder"), *wrong]) == Exit.FAILED
    assert said in capsys.readouterr().err


def test_nothing_to_subscribe_to_is_said(tmp_path: Path) -> None:
    assert main(["subscribe", str(tmp_path)]) == Exit.FAILED
    assert main(["subscribe", str(tmp_path), "x.rq", "--words", "a"]) == Exit.FAILED
