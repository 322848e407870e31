"""Publications at named paths: found and called as in an inbox; a bad line is a reject with its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.ingest import Document, document_iri, inbox_files
from triplecast.ingest.document_files import read_documents
from triplecast.ingest.inbox import KNOWN, QUIET, scan_inbox
from triplecast.ingest.inbox_files import document_of_line, read_groups
from triplecast.model.publication import Reject

GOOD = {"id": "http://e/a", "media_type": "text/turtle", "data": "<a:a> <a:b> 1 ."}

BAD_LINES = {
    b"not json": "is not JSON",
    b"[1]": "no JSON object",
    b'{"id": "http://e/x"}': 'lacks "media_type"',
    b'{"id": 1, "media_type": "text/turtle", "data": ""}': 'lacks "id"',
    b'{"id": "http://e/x", "media_type": "text/turtle", "data": "\\ud800"}': "surrogate",
    b'{"id": "http://e/\\udc00", "media_type": "text/turtle", "data": ""}': "surrogate",
    b'{"id": "http://e/x", "media_type": "\\ud800", "data": ""}': "surrogate",
    b'{"id": "caf\xe9", "media_type": "text/turtle", "data": ""}': "is not JSON",
    b'{"id": ' + b"1" * 5000 + b"}": "is not JSON",
    b"[" * 100_000: "is not JSON",
    b'{"a":' * 100_000: "is not JSON",
}


def in_inbox(folder: Path) -> list[Document | Reject]:
    ready = scan_inbox(folder, {}, scan_inbox(folder, {}, {}, 0.0).looks, QUIET).ready
    return [entry for group in read_groups(folder, ready, {}, False) for entry in (*group.documents, *group.rejects)]


@pytest.mark.parametrize(("bad", "said"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_a_bad_line_is_a_reject_with_its_place_and_its_neighbours_are_read(
    tmp_path: Path, bad: bytes, said: str
) -> None:
    good = json.dumps(GOOD).encode()
    (tmp_path / "s.jsonl").write_bytes(b"\n".join((good, bad, good)))
    for found in (list(read_documents([tmp_path])), in_inbox(tmp_path)):
        first, second, fault = found
        assert isinstance(first, Document)
        assert isinstance(second, Document)
        assert isinstance(fault, Reject)
        assert (first.source, second.source) == ("s.jsonl:1", "s.jsonl:3")
        assert (fault.source, fault.line, fault.column) == ("s.jsonl", 2, None)
        assert said in fault.reason
        assert fault.hint


def test_a_good_line_is_a_document() -> None:
    line = json.dumps(GOOD).encode()
    expected = Document("x:7", b"<a:a> <a:b> 1 .", "text/turtle", "http://e/a")
    assert document_of_line(line, "x", 7) == expected
    assert document_of_line(b"\xef\xbb\xbf" + line + b"\r\n", "x", 7, dataset=True) == Document(
        "x:7", b"<a:a> <a:b> 1 .", "text/turtle", "http://e/a", True
    )


def test_a_file_is_the_same_document_in_an_inbox_and_at_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.ttl").write_text("x")
    (folder / "link.ttl").symlink_to(tmp_path / "secret.ttl")
    (folder / "LINES.JSONL").write_text(json.dumps(GOOD))
    for name in (b"A.TTL", b"sub/b c.nt", b"sub/.hidden.ttl", b"d.ttl.tmp", b"notes.md", b"caf\xe9.ttl"):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text(name.decode("latin-1"))
    expected = in_inbox(folder)
    assert list(read_documents([folder])) == expected
    documents = [entry for entry in expected if isinstance(entry, Document)]
    assert [entry.source for entry in documents] == ["A.TTL", "LINES.JSONL:1", "caf\\xe9.ttl", "sub/b c.nt"]
    named = list(read_documents([Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.ttl"))]))
    assert named == [documents[2]]
    assert document_iri(documents[2]).isascii()


def test_a_file_that_is_named_may_be_a_link_and_have_any_extension(tmp_path: Path) -> None:
    (tmp_path / "real.ttl").write_text("x")
    (tmp_path / "query").symlink_to(tmp_path / "real.ttl")
    assert list(read_documents([tmp_path / "query"], dataset=True)) == [Document("query", b"x", dataset=True)]


def test_a_document_beyond_the_gate_is_a_reject_that_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "big.nt").open("wb") as file:
        file.truncate(inbox_files.GATE.bytes + 1)
    monkeypatch.setattr(inbox_files, "read_inbox_file", lambda *_: pytest.fail("it was read"))
    for path in (tmp_path, tmp_path / "big.nt"):
        (found,) = read_documents([path])
        assert isinstance(found, Reject)
        assert "limit of bytes" in found.reason


@pytest.mark.parametrize("name", ["b.ttl", "b.jsonl"])
def test_a_file_that_changes_while_it_is_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(inbox_files, "GROUP_DOCUMENTS", 1)
    (tmp_path / "a.ttl").write_text("x")
    (tmp_path / name).write_text(json.dumps(GOOD) + "\n")
    reading = read_documents([tmp_path])
    assert next(reading) == Document("a.ttl", b"x", "text/turtle")
    with (tmp_path / name).open("a") as more:
        more.write("more\n")
    (told,) = reading
    assert isinstance(told, Reject)
    assert (told.source, told.stage) == (name, "gate")
    assert "changed" in told.reason


def test_what_is_missing_or_holds_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(read_documents([tmp_path / "nowhere"]))
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(InputError) as error:
        list(read_documents([tmp_path]))
    assert all(extension in str(error.value) for extension in KNOWN)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        list(read_documents([tmp_path / "pipe"]))


def test_the_document_names_every_extension() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text("utf-8")
    assert [extension for extension in KNOWN if f"`{extension}`" not in text] == []
