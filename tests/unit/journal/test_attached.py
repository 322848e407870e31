"""What stands beside the records: attachments, each content once, and what operators gave; damage to either is told."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.model.answers import Failed, Found, GroundCall, OperatorResult
from triplecast.model.match import Learnt
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Draft

PICTURES = (("urn:a", b"first"), ("urn:b", b"second"))


def draft(graph: str, attachments: tuple[tuple[str, bytes], ...] = ()) -> Draft:
    return Draft(graph, b"<x:s> <x:p> <x:o> .\n", b"1" * 32, "none").with_attachments(attachments)


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "journal.sqlite") as connection:
        assert connection.execute(statement).rowcount
    connection.close()


def test_attachments_come_back_and_are_content(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.accept([draft("urn:g:1", PICTURES), draft("urn:g:2", PICTURES[:1]), draft("urn:g:3")])
        again = journal.accept([draft("urn:g:1", PICTURES), draft("urn:g:2", (("urn:a", b"other"),))])
        assert [each.outcome for each in again] == ["unchanged", "accepted"]
    with Journal.read_only(tmp_path) as journal:
        found = [publication.attachments for publication in journal.publications(0, journal.head())]
        assert found == [PICTURES, PICTURES[:1], (), (("urn:a", b"other"),)]
        journal.check()
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM content").fetchone() == (3,)
    connection.close()


def test_attachments_count_among_the_bytes_that_are_taken_at_once(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.accept([draft(f"urn:g:{number}", (("urn:a", bytes([number]) * 1000),)) for number in range(10)])
        assert len(journal.publications(0, 10, most_bytes=2500)) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE content SET body = X'00' WHERE digest IN (SELECT digest FROM attachment WHERE iri = 'urn:b')",
        "DELETE FROM content WHERE digest IN (SELECT digest FROM attachment WHERE iri = 'urn:b')",
        "DELETE FROM attachment WHERE iri = 'urn:b'",
        "UPDATE attachment SET iri = 'urn:c' WHERE iri = 'urn:b'",
        "UPDATE attachment SET size = 3 WHERE iri = 'urn:b'",
    ],
)
def test_damage_to_attachments_is_told(tmp_path: Path, statement: str) -> None:
    with Journal.open(tmp_path) as journal:
        journal.accept([draft("urn:g:1", PICTURES)])
    change(tmp_path, statement)
    with Journal.read_only(tmp_path) as journal:
        with pytest.raises(StorageFault):
            journal.publications(0, 1)
        with pytest.raises(StorageFault):
            journal.check()


def test_attachments_that_no_record_speaks_of_are_told(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.accept([draft("urn:g:1", PICTURES), draft("urn:g:2")])
    change(tmp_path, "UPDATE attachment SET position = 2")
    with Journal.read_only(tmp_path) as journal, pytest.raises(StorageFault):
        journal.check()


OPERATOR = Operator("urn:op:kept", "2", ("bound", "free"), 0.1, False, True, 1.0, 1 << 20, "no.module", "kept")


def test_the_first_result_stays_and_versions_are_apart(tmp_path: Path) -> None:
    declared = OperatorSet((OPERATOR,))
    first = OperatorResult(1, OPERATOR.iri, "2", ("<urn:x>",), b'{"rows":[["\\"a\\""]]}')
    failed = first._replace(arguments=("<urn:y>",), answer=b'{"failed":"why"}')
    old = first._replace(version="1", arguments=("<urn:z>",))
    with Journal.open(tmp_path) as journal:
        journal.accept([draft("urn:g:1")])
        assert journal.keep_results([first, failed, old])
        assert journal.keep_results([first])
        assert not journal.keep_results([first._replace(answer=b'{"rows":[]}'), failed])
        answers = journal.answers(0, 1, declared)[1]
        assert answers[GroundCall(OPERATOR.iri, ("<urn:y>",))] == Failed("why")
        assert isinstance(answers[GroundCall(OPERATOR.iri, ("<urn:x>",))], Found)
        assert len(answers) == 2
        assert journal.answers(1, 9, declared) == {}
        assert journal.outdated([1, 2], declared) == [1], "another version than is declared gave something of it"
        journal.check()
    change(tmp_path, "UPDATE answer SET answer = CAST('{}' AS BLOB)")
    with Journal.read_only(tmp_path) as journal:
        with pytest.raises(StorageFault, match="what <urn:op:kept> gave for record 1"):
            journal.answers(0, 1, declared)
        with pytest.raises(StorageFault):
            journal.check()


def test_declarations_are_records_where_they_are_new(tmp_path: Path) -> None:
    other = Operator("urn:op:a", "1", ("bound",), 0.1, True, False, 1.0, 1 << 20, "no.module", "a")
    with Journal.open(tmp_path) as journal:
        for declared in ([OPERATOR, other], [other], [], [OPERATOR]):
            journal.declare_operators(declared)
        assert journal.head() == 2
        journal.accept([draft("urn:g:1")])
        assert journal.operators() == [other, OPERATOR]
        assert len(journal.publications(0, journal.head())) == 1
        journal.check()


def test_what_is_learnt_of_a_template_is_replaced_and_of_others_stays(tmp_path: Path) -> None:
    rows = [Learnt(f"{name} ?0", 0.1, 3.0, 1.0, 2.0, 0.5) for name in "abc"]
    with Journal.open(tmp_path) as journal:
        assert journal.learnt() == []
        journal.keep_learnt(rows)
        newer = rows[1]._replace(answered=4.0)
        journal.keep_learnt([newer], ["c ?0", "never kept"])
        assert journal.learnt() == [rows[0], newer]


def test_the_digest_of_a_draft_knows_its_attachments() -> None:
    digests = {
        draft("urn:g", attachments).digest for attachments in ((), PICTURES, PICTURES[:1], (("urn:b", b"first"),))
    }
    assert len(digests) == 4
    assert draft("urn:g").digest == b"1" * 32
    assert sha256(b"").digest() not in digests
