"""The parser's life: closing it ends what is under way and leaves no child."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from triplecast.errors import InputError, SandboxFailed
from triplecast.ingest import Document, Parser
from triplecast.sandbox import Limits, sandbox
from triplecast.sandbox.process import Child

LIMITS = Limits(seconds=60, memory=200 << 20, answer=1 << 20)
DOCUMENTS = [Document(f"d{number}.ttl", b"<a:s> <a:p> <a:o> .") for number in range(160)]


@pytest.mark.parametrize("n", [1, 2])
def test_closing_ends_what_is_under_way_and_leaves_no_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "from triplecast.ingest.worker import answer as parse\n"
        "def answer(request):\n"
        "    time.sleep(0.02)\n"
        "    return parse(request)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    children: list[Child] = []
    begun = threading.Event()
    raised: list[Exception] = []

    class Watched(Child):
        def ask(self, *conversation: object) -> None:
            children.append(self)
            if len(children) > 2 * n:  # each child has met a second turn
                begun.set()
            super().ask(*conversation)  # type: ignore[arg-type]

    monkeypatch.setattr(sandbox, "Child", Watched)
    parser = Parser(n, LIMITS, "slow:answer")

    def parse() -> None:
        try:
            parser.parse(DOCUMENTS)
        except InputError as error:
            raised.append(error)

    parsing = threading.Thread(target=parse)
    parsing.start()
    try:
        assert begun.wait(60)
        parser.close()
    finally:
        parsing.join()
    assert len(raised) == 1
    assert not [child for child in children if child.alive]
    assert len(set(children)) <= n


@pytest.mark.parametrize("n", [1, 2])
def test_a_closed_parser_says_so(n: int) -> None:
    parser = Parser(n)
    parser.close()
    with pytest.raises(InputError, match="the parser is closed"):
        parser.parse(DOCUMENTS)


def test_a_child_that_cannot_be_started_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.sandbox.process.sys.executable", "/nonexistent/python")
    with Parser() as parser, pytest.raises(SandboxFailed, match=r"did not start: .*triplecast doctor"):
        parser.parse(DOCUMENTS)
