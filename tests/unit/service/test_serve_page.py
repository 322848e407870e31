"""The commands of README and docs/serve.md, as they stand there, against a server."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.house.pages import ROOT, blocks_of, read_page
from tests.unit.service.test_serve_command import Served


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_three_lines_of_curl_do_what_they_say(tmp_path: Path) -> None:
    (readme,) = (block.text for block in blocks_of(read_page("README.md")) if "curl" in block.text)
    (page,) = (block.text for block in blocks_of(read_page("docs/serve.md")) if "curl" in block.text)
    assert readme == page
    served = Served(tmp_path / "news")
    try:
        script = readme.replace("curl localhost:8000", f"curl -sS --noproxy '*' -w '\\n' {served.url}")
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    finally:
        served.end(signal.SIGTERM)
    subscribed, published, found = (json.loads(line) for line in ran.stdout.splitlines() if line.strip())
    assert len(subscribed["ticket"]) == 43
    assert (published["count"], published["matches"]) == (80, 10)
    assert len(found["results"]["bindings"]) >= 80


def test_a_folder_that_is_served_takes_commands(tmp_path: Path) -> None:
    from tests.unit.service.test_serve_command import run

    query = tmp_path / "rail.rq"
    query.write_text('SELECT ?x { ?x dc:subject "rail" }')
    folder = str(tmp_path / "news")
    served = Served(tmp_path / "news")
    try:
        made = run("subscribe", folder, str(query), "--json")
        assert json.loads(made.stdout)["id"] == "rail.rq"
        assert "rail.rq" in run("subscriptions", folder).stdout
        refused = run("publish", folder, str(ROOT / "examples/inbox/news/courier.atom"))
        assert (refused.returncode, "/documents" in refused.stderr) == (2, True)
        assert run("unsubscribe", folder, "rail.rq").returncode == 0
    finally:
        served.end(signal.SIGTERM)
    assert not (tmp_path / "news" / "control.sock").exists()
