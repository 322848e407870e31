"""Blank nodes of documents that have a part alike."""

from __future__ import annotations

import pytest

from triplecast.ingest import canonical
from triplecast.model.publication import Position, Publication
from triplecast.repository import document_lines

E = "http://example.org/"


def with_ring(number: int, size: int = 30) -> Publication:
    lines = [f"_:c14n{each} <{E}q> _:c14n{(each + 1) % size} .\n" for each in range(size)]
    quads = "".join(sorted([f"<{E}r{number}> <{E}p> _:c14n0 .\n", *lines])).encode()
    return Publication(Position(1), f"{E}{number}", 1, "", quads, labels="canonical")


def test_a_ring_that_documents_share_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    named = []
    whole = canonical._Canonicalisation._name_alike
    monkeypatch.setattr(canonical._Canonicalisation, "_name_alike", lambda *of: (named.append(1), whole(*of)))
    documents = [with_ring(number) for number in range(5)]
    found = [document_lines.document_lines(each) for each in documents]
    first = len(named)
    monkeypatch.setattr(document_lines, "SHARED_LINES", 0)
    assert [document_lines.document_lines(each) for each in documents] == found
    assert len(named) - first == 5 * first


def test_what_was_interrupted_is_named_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(canonical._Canonicalisation, "_name_alike", interrupt)
        with pytest.raises(KeyboardInterrupt):
            document_lines.document_lines(with_ring(1, 31))
    names = document_lines.document_lines(with_ring(1, 31))
    document_lines._KNOWN.clear()
    assert document_lines.document_lines(with_ring(1, 31)) == names
