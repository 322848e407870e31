"""The commands of README and docs/serve.md, as they stand there, against a server."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.pages import ROOT, blocks_of, read_page
from tests.properties.service_kills import Served
from triplecast.cli import main


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("served") / "news"
    served = Served(folder)
    yield served, folder
    assert served.end(signal.SIGTERM) == 0
    assert not (folder / "control.sock").exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_lines_of_curl_do_what_they_say(served: tuple[Served, Path]) -> None:
    (readme,) = (block.text for block in blocks_of(read_page("README.md")) if "curl" in block.text)
    (page,) = (block.text for block in blocks_of(read_page("docs/serve.md")) if "curl" in block.text)
    assert readme == page
    script = readme.replace("curl localhost:8000", f"curl -sS --noproxy '*' -w '\\n' {served[0].url}")
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    subscribed, published, told, found = (json.loads(line) for line in ran.stdout.splitlines() if line.strip())
    assert len(subscribed["ticket"]) == 43
    assert (published["count"], published["matches"]) == (80, 10)
    assert {each["subscription"] for each in told["notifications"]} == {subscribed["id"]}
    assert len(found["results"]["bindings"]) >= 80


def test_a_folder_that_is_served_takes_commands(
    served: tuple[Served, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, folder = tmp_path / "road.rq", str(served[1])
    query.write_text('SELECT ?x { ?x dc:subject "road" }')
    assert main(["subscribe", folder, str(query), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "road.rq"
    assert main(["subscriptions", folder]) == 0
    assert "road.rq" in capsys.readouterr().out
    assert main(["publish", folder, str(ROOT / "examples/inbox/news/courier.atom")]) == 2
    assert "or a server: name that, by --url" in capsys.readouterr().err
    assert main(["unsubscribe", folder, "road.rq"]) == 0
