"""An inbox at an address takes what a folder with the same files gives."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="addresses need the extra [spark]")

from tests.bucket import Bucket
from triplecast.errors import InputError
from triplecast.ingest import Parser
from triplecast.ingest.gate import GATE
from triplecast.ingest.inbox import QUIET
from triplecast.journal import Journal
from triplecast.model.publication import Reject
from triplecast.pipeline import object_inbox
from triplecast.pipeline.acceptor import Acceptor, FolderInbox, Inbox, Intake
from triplecast.pipeline.object_inbox import ObjectInbox

LINE = '{"id": "urn:l:%d", "media_type": "text/turtle", "data": "<urn:s> <urn:p> %d ."}\n'
FILES = {
    "a.ttl": "<urn:s> <urn:p> 1 .",
    "deep/er/b.ttl": "<urn:s> <urn:p> 2 .",
    "deep/é ü.nt": "<urn:s> <urn:p> <urn:o> .",
    "bad.ttl": "<urn:s> <urn:p>",
    "lines.jsonl": LINE % (1, 1) + LINE % (2, 2),
    "notes.md": "no document",
    ".hidden.ttl": "<urn:s> <urn:p> 3 .",
    "deep/half.ttl.tmp": "<urn:s> <urn:p> 4 .",
}


class Taking:
    """One inbox, its journal, and a clock."""

    def __init__(self, inbox: Inbox, folder: Path, parser: Parser) -> None:
        self.journal = Journal.open(folder)
        self.told: list[Reject | str] = []
        self.acceptor = Acceptor(inbox, Intake(self.journal, parser.parse, False, self.told.append))
        self.now = 0.0

    def take(self) -> None:
        for _ in range(2):
            self.acceptor.look(self.now, threading.Event())
            self.now += QUIET

    def found(self) -> tuple[object, ...]:
        said = [(each.graph, each.version, each.quads) for each in self.journal.publications(0, self.journal.head())]
        states = {name: (state.size, state.digest, state.outcome) for name, state in self.journal.sources().items()}
        return said, states, self.told


def test_an_address_gives_what_a_folder_gives(tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_inbox, "FETCHED_FILES", 2)
    inbox = tmp_path / "inbox"

    def put(name: str, text: str) -> None:
        (inbox / name).parent.mkdir(parents=True, exist_ok=True)
        (inbox / name).write_text(text)
        bucket.put(f"in/{name}", text.encode())

    for name, text in FILES.items():
        put(name, text)
    with Parser() as parser:
        folder = Taking(FolderInbox(inbox), tmp_path / "folder", parser)
        remote = Taking(ObjectInbox(bucket.address("in")), tmp_path / "remote", parser)
        changes = {"a.ttl": "<urn:s> <urn:p> 9, 10 .", "lines.jsonl": FILES["lines.jsonl"] + LINE % (1, 7)}
        for step in ({}, changes):
            for name, text in step.items():
                put(name, text)
            folder.take()
            remote.take()
            assert remote.found() == folder.found()
        assert len(remote.found()[0]) == 7  # type: ignore[arg-type]
        assert remote.acceptor.ignored == folder.acceptor.ignored == ("notes.md",)
        assert not remote.acceptor.has_work()
        bucket.put("in/huge.ttl", b" " * (GATE.bytes + 1))
        bucket.put("in/../evil.ttl", b"<urn:s> <urn:p> 1 .")
        remote.take()
        assert [each.source for each in remote.told if isinstance(each, Reject)] == ["bad.ttl", "huge.ttl"]
        folder.journal.close()
        remote.journal.close()


def test_an_address_that_cannot_be_listed_is_named(bucket: Bucket) -> None:
    with pytest.raises(InputError, match="s3://nowhere/in cannot be used: there is no nowhere"):
        ObjectInbox(bucket.address("in").replace("bucket", "nowhere"))


def test_names_that_no_folder_could_have_together_are_read(tmp_path: Path, bucket: Bucket) -> None:
    """An object may be named as what others are below; and longer, in bytes, than a file's name."""
    text = b"<urn:s> <urn:p> 1 ."
    for name in ("a.ttl", "a.ttl/b.ttl", "\U0001f600" * 150 + ".ttl"):
        bucket.put(f"odd/{name}", text)
    with Parser() as parser:
        remote = Taking(ObjectInbox(bucket.address("odd")), tmp_path, parser)
        remote.take()
        assert len(remote.found()[0]) == 3  # type: ignore[arg-type]
        remote.journal.close()


@pytest.mark.parametrize("secret", ["top secret", "top/secret", "top?secret", "top%secret"])
def test_a_secret_in_an_address_that_cannot_be_read_is_not_repeated(secret: str) -> None:
    with pytest.raises(InputError) as refused:
        ObjectInbox(f"s3://AKIA:{secret}@bucket/in")
    assert "secret" not in str(refused.value)
    assert "top" not in str(refused.value)
