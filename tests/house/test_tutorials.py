"""What the pages show is so: every file they write, every command, what it prints, every program."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copy, rmtree

import pytest

from tests.house.pages import ROOT, blocks_of, read_page, replay, run

OPENED = """
import tempfile
import triplecast
folder = tempfile.mkdtemp()
triplecast.Engine.open(folder).close()
"""
MATCHED = """
import json
import pandas
with open("matches.json", "w") as written:
    answer = {"head": {"vars": ["n"]}, "results": {"bindings": [{"n": {"type": "uri", "value": "a:b"}}] * 2}}
    print(json.dumps({"publication": "urn:1", "subscription": "a.rq", "answer": answer}), file=written)
"""
PROGRAMS = {
    "docs/publish-feeds.md": "",
    "docs/taxonomy.md": "",
    "docs/follow-changes.md": "",
    "docs/query.md": "",
    "docs/rules.md": "",
    "docs/split-documents.md": "",
    "docs/back-up.md": OPENED,
    "docs/command-line.md": MATCHED,
}
"""Pages whose unnamed Python blocks are one program, with what stands before it."""


@pytest.mark.parametrize(("page", "commands"), [("docs/first-match.md", 8), ("docs/first-operator.md", 3)])
def test_a_tutorial_works_as_written(page: str, commands: int, tmp_path: Path) -> None:
    assert replay(page, tmp_path) == commands


def test_the_program_of_the_tutorial_names_what_is_wrong_and_does_not_go_on_with_another_query(tmp_path: Path) -> None:
    (watch,) = (block for block in blocks_of(read_page("docs/first-match.md")) if block.file == "watch.py")
    (tmp_path / "watch.py").write_text(watch.text)
    (tmp_path / "typo.rq").write_text("SELECT ?t { ?i rss:titel ?t }")
    (tmp_path / "link.rq").write_text("SELECT ?l { ?i rss:link ?l }")
    feed = ROOT / "examples" / "inbox" / "news" / "courier.atom"

    def watched(query: str, document: Path) -> tuple[int, str]:
        ran = run(tmp_path, sys.executable, "watch.py", document.as_uri(), query)
        return ran.returncode, ran.stdout

    code, printed = watched("typo.rq", tmp_path / "typo.rq")
    assert code == 1
    assert "rss: has no 'titel'" in printed
    assert "rejected: " in printed
    assert watched("link.rq", feed) == (1, "my-news has another query than link.rq; remove it to start anew\n")
    rmtree(tmp_path / "my-news")
    code, printed = watched("link.rq", feed)
    assert code == 0
    assert "https://courier.example.org/news/80 https://courier.example.org/\n" in printed


@pytest.mark.parametrize(("page", "commands"), [("docs/language.md", 1), ("docs/sources.md", 3)])
def test_the_commands_of_a_page_print_what_it_shows(page: str, commands: int, tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    copy(ROOT / "examples" / "inbox" / "news" / "courier.atom", tmp_path / "inbox" / "news.atom")
    assert replay(page, tmp_path) == commands


def test_the_taxonomy_of_the_examples_matches_as_its_page_shows() -> None:
    assert replay("docs/taxonomy.md", ROOT) == 1


@pytest.mark.parametrize("page", PROGRAMS)
def test_the_snippets_of_a_page_run_as_one_program(page: str, tmp_path: Path) -> None:
    blocks = (block.text for block in blocks_of(read_page(page)) if block.language == "python" and block.file is None)
    ran = run(tmp_path, sys.executable, "-c", PROGRAMS[page] + "\n".join(blocks))
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_prints_what_its_page_shows(tmp_path: Path) -> None:
    for folder in ("inbox", "subscriptions"):
        (tmp_path / folder).mkdir()
    copy(ROOT / "examples" / "inbox" / "news" / "courier.atom", tmp_path / "inbox" / "news.atom")
    (query,) = (block for block in blocks_of(read_page("docs/first-match.md")) if block.file == "subscriptions/rail.rq")
    (tmp_path / "subscriptions" / "rail.rq").write_text(query.text)
    assert replay("docs/run-the-pipeline.md", tmp_path) == 2
