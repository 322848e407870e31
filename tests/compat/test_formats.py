"""Tiny files of each format that was ever released, opened permanently.

A journal and an outbox of a new format are added with ``python -m tests.compat.test_formats``, and then never changed.
Before a format is released its files are made again by the same command. Segments and manifests of the index have no
files here: they are a cache, made again from the journal where their format is another.
"""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.outbox.outbox_samples import AT, batch, named
from triplecast.journal import FileState, Journal
from triplecast.journal.record import JOURNAL
from triplecast.model.answers import OperatorResult
from triplecast.model.publication import Draft, Origin, Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId, Subscription, read_lease
from triplecast.outbox import Cursor, Notification, OpenPart, Outbox, UndecidedPair
from triplecast.outbox.tables import OUTBOX
from triplecast.sqlite import Format
from triplecast.taxonomy import Taxonomy

HERE = Path(__file__).parent
MICROSECONDS = 1_795_249_800_000_001
TIME = "2026-11-21T08:30:00.000001Z"
QUADS = b'<https://example.org/1> <https://example.org/says> "hello" .\n'
REJECT = Reject("b.ttl", "parse", "found x", "write y", 3, 7)
SUBSCRIPTIONS = [
    Subscription("a.rq", "ASK { ?s ?p ?o }", owner="ada"),
    Subscription("é", "SELECT * { ?s ?p 1 }", entailment="rdfs"),
]
STATE = FileState(61, 1_795_000_000_000_000_000, b"digest", "accepted")
TAXONOMY = Taxonomy((("<urn:a>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "<urn:b>"),))
ATTACHMENTS = (("urn:picture", b"\x89PNG"),)
ANSWER = OperatorResult(9, "urn:op:boats", "1", ('"x"',), b'{"value": 2}')
PARTS = [OpenPart(1, 4, 1, b"open rows")]


def write_journal(folder: Path) -> None:
    with Journal.open(folder, lambda: MICROSECONDS) as journal:
        drafts = [
            Draft("https://example.org/1", QUADS, b"1" * 32, "none"),
            Draft("urn:2", QUADS, b"2" * 32, "input", True),
        ]
        journal.commit_documents(drafts, [REJECT], {"a.ttl": STATE})
        journal.subscribe(SUBSCRIPTIONS, read_lease(60), [b"0" * 32, b"ticket".ljust(32)])
        journal.cancel([4])
        journal.remove("urn:2")
        journal.load_taxonomy(TAXONOMY)
        journal.accept([Draft("urn:2", QUADS, b"2" * 32, "canonical", attachments=ATTACHMENTS)])
        journal.keep_results([ANSWER])
        journal.accept([Draft("urn:root", QUADS, b"4" * 32, "none", origin=Origin("urn:cut", 1))])


def write_outbox(folder: Path) -> None:
    first = batch([(1, 4, "[]"), (3, 4, "[]")], [(2, 5, "slow")], [(2, 4), (4, 5)])
    with Outbox.open(folder, epoch=7) as outbox:
        outbox.commit(
            first,
            8,
            lambda ids: named(Registration(RegistrationId(id), SUBSCRIPTIONS[id - 4]) for id in ids),
            open=PARTS,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("journal", "outbox"):
        (file,) = HERE.glob(f"{name}-*.gz")
        (tmp_path / f"{name}.sqlite").write_bytes(gzip.decompress(file.read_bytes()))
    return tmp_path


def test_a_journal_of_format_2_opens(folder: Path) -> None:
    with Journal.open(folder, lambda: 0) as journal:
        journal.check()
        (end,) = journal.lease_ends().items()
        assert (journal.ticket_hash(5), end) == (b"ticket".ljust(32), (5, MICROSECONDS + 60_000_000))
        assert journal.publications(0, 99) == [
            Publication(1, "https://example.org/1", 1, TIME, QUADS),
            Publication(2, "urn:2", 1, TIME, QUADS, dataset=True, labels="input"),
            Publication(9, "urn:2", 2, TIME, QUADS, labels="canonical", attachments=ATTACHMENTS),
            Publication(10, "urn:root", 1, TIME, QUADS),
        ]
        first, second = (replace(each, notify="every") for each in SUBSCRIPTIONS)  # as all wanted to hear then
        assert journal.live_registrations() == [Registration(RegistrationId(5), second)]
        assert journal.registration(4) == Registration(RegistrationId(4), first, removed=6)
        assert [(r.position, r.rejected_at, r.reject) for r in journal.rejects()] == [(3, TIME, REJECT)]
        (version,) = journal.taxonomies(0, 99).versions
        assert (version.position, version.lines, version.broader) == (8, TAXONOMY.lines, False)
        assert journal.sources() == {"a.ttl": STATE}
        (again,) = journal.accept([Draft("https://example.org/1", QUADS, b"3" * 32, "none")])
        assert (again.position, again.version, again.accepted_at) == (11, 2, TIME)
        (removal,) = journal.commit_documents([Draft("urn:cut", QUADS, b"4" * 32, "none")]).dropped[0].removed
        assert (removal.graph, removal.version) == ("urn:root", 1)


def test_an_outbox_of_format_2_opens(folder: Path) -> None:
    key = "b9886b0b0998ffb949f3bec6768a3330"
    with Outbox.open(folder, epoch=9) as outbox:
        outbox.check()
        assert outbox.state[:5] == (9, 8, 1, 1, 0)
        assert outbox.pending(0, 9) == ([2, 4], [(2, 4), (4, 5)], PARTS)
        outbox.settle(batch([(2, 4, "[{}]")]), 4, lambda ids: [])
        (pair,) = outbox.undecided()
        assert pair == UndecidedPair(2, pair.id, "urn:graph", 2, 5, "é", None, "slow")
        first, *later = outbox.notifications()
        assert first == Notification(Cursor(9, 1), first.id, 1, "added", "urn:graph", 1, 4, "a.rq", "ada", "[]", AT)
        assert first.id == f"{key}-4"
        assert [(each.position, each.json) for each in later] == [(2, "[{}]"), (3, "[]")]


@pytest.mark.parametrize(("name", "form"), [("journal", JOURNAL), ("outbox", OUTBOX)])
def test_every_format_has_its_file(name: str, form: Format) -> None:
    """None was released yet, so there is one of each."""
    assert [path.name for path in HERE.glob(f"{name}-*.gz")] == [f"{name}-{form.version}.sqlite.gz"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        write_journal(Path(place))
        write_outbox(Path(place))
        for name, form in (("journal", JOURNAL), ("outbox", OUTBOX)):
            content = (Path(place) / f"{name}.sqlite").read_bytes()
            (HERE / f"{name}-{form.version}.sqlite.gz").write_bytes(gzip.compress(content, mtime=0))
