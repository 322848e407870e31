"""The parser's life: closing it ends what is under way and leaves no child."""

from __future__ import annotations

import threading
from dataclasses import replace
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


MIXED = [
    *DOCUMENTS[:20],
    Document("bad.ttl", b"<a:s> <a:p> "),
    Document("nested.ttl", b"<a:s> <a:p> " + b"[ <a:p> " * 120 + b"1" + b"]" * 120 + b" ."),
    Document("a.jsonld", b'{"@id": "a:s", "a:p": 1}'),
    Document("surrogate\udfff.ttl", b"<a:s> <a:p> 3 .", "text/turtle"),
    Document("typed", b"<a:s> <a:p> <a:typed> .", "application/n-triples", "http://e/g"),
    Document("graphs.trig", b"<a:g> { <a:s> <a:p> 1 } <a:h> { <a:s> <a:p> 2 }"),
    *DOCUMENTS[20:30],
]


def test_documents_that_share_a_request_give_what_each_gives_alone() -> None:
    with Parser() as parser:
        assert parser.parse(MIXED) == [parser.parse([document])[0] for document in MIXED]
        assert parser.parse(MIXED[:3] * 2) == parser.parse(MIXED[:3]) * 2, "the same document may come twice"


@pytest.mark.parametrize("end", ["os._exit(1)", "raise MemoryError", "exec('while 1: 0')"])
def test_a_child_that_is_lost_over_a_shared_request_loses_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    (tmp_path / "fragile.py").write_text(
        "import os\n"
        "from triplecast.ingest.messages import unpack_packet\n"
        "from triplecast.ingest.worker import answer as parse\n"
        "def answer(request):\n"
        f"    if b'<a:typed>' in request and unpack_packet(request) is not None: {end}\n"
        "    return parse(request)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with Parser() as plain:
        expected = plain.parse(MIXED)
    with Parser(1, replace(LIMITS, seconds=1), "fragile:answer") as parser:
        assert parser.parse(MIXED) == expected
