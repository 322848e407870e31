"""Journals and outboxes of every format that was ever released, opened for ever.

A file is made once, by `write_journal` and `write_outbox` below as they were when the format was new
(``python -m tests.compat.test_journal_formats FOLDER``, then gzip), and never changed.

Segments and manifests of the index have no files here: they are a cache, and one of another format is made again from
the journal (`tests/unit/index/test_index_folder.py`), so no version has to read another's.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

from triplecast.journal import FileState, Journal
from triplecast.model.match import Undecided
from triplecast.model.publication import Draft, Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.outbox import Notification, Outbox, OutboxBatch, UndecidedPair

HERE = Path(__file__).parent
AT = "2026-11-21T08:30:00.000001Z"
QUADS = b'<https://example.org/1> <https://example.org/says> "hello" .\n'
REJECT = Reject("b.ttl", "parse", "found x", "write y", 3, 7)
SUBSCRIPTIONS = [Subscription("a.rq", "ASK { ?s ?p ?o }", owner="ada"), Subscription("é", "SELECT * { ?s ?p 1 }")]
STATE = FileState(61, 1_795_000_000_000_000_000, b"digest", "accepted")


def write_journal(folder: Path) -> None:
    with Journal.open(folder, lambda: 1_795_249_800_000_001) as journal:
        drafts = [
            Draft("https://example.org/1", QUADS, b"1" * 32, "none"),
            Draft("urn:2", QUADS, b"2" * 32, "input", True),
        ]
        journal.commit_documents(drafts, [REJECT], {"a.ttl": STATE})
        journal.subscribe(SUBSCRIPTIONS)
        journal.cancel([4])
        journal.remove("urn:2")
        journal.accept([Draft("urn:2", QUADS, b"2" * 32, "canonical")])


def write_outbox(folder: Path) -> None:
    batch = OutboxBatch(
        np.array([1, 2], np.int64),
        ("https://example.org/1", "urn:2"),
        (1, 1),
        (AT, AT),
        np.array([0], np.int32),
        np.array([4], np.int64),
        np.array([0, 2], np.int64),
        np.frombuffer(b"[]", np.uint8),
        (Undecided(1, 5, "slow"),),
    )
    with Outbox.open(folder) as outbox:
        outbox.commit(batch, 8, lambda ids: [Registration(RegistrationId(id), SUBSCRIPTIONS[id - 4]) for id in ids])


def unpack(name: str, folder: Path) -> Path:
    (folder / name.replace("-1", "")).write_bytes(gzip.decompress((HERE / f"{name}.gz").read_bytes()))
    return folder


def test_a_journal_of_format_1_opens(tmp_path: Path) -> None:
    with Journal.open(unpack("journal-1.sqlite", tmp_path), lambda: 0) as journal:
        journal.check()
        assert (journal.ticket_hash(5), journal.lease_ends()) == (b"", {})
        assert journal.publications(0, 99) == [
            Publication(1, "https://example.org/1", 1, AT, QUADS),
            Publication(2, "urn:2", 1, AT, QUADS, dataset=True, labels="input"),
            Publication(8, "urn:2", 2, AT, QUADS, labels="canonical"),
        ]
        assert journal.registrations() == [Registration(RegistrationId(5), SUBSCRIPTIONS[1])]
        assert journal.registration(4) == Registration(RegistrationId(4), SUBSCRIPTIONS[0], removed=6)
        assert [(r.position, r.rejected_at, r.reject) for r in journal.rejects()] == [(3, AT, REJECT)]
        assert journal.sources() == {"a.ttl": STATE}
        (again,) = journal.accept([Draft("https://example.org/1", QUADS, b"3" * 32, "none")])
        assert (again.position, again.version, again.accepted_at) == (9, 2, AT)


def test_an_outbox_of_format_1_opens(tmp_path: Path) -> None:
    with Outbox.open(unpack("outbox-1.sqlite", tmp_path)) as outbox:
        outbox.check()
        assert (outbox.progress, outbox.counts()) == (8, (1, 2, 1, 8, 1))
        key, graph = "7a17b0c7ef2a54ff85ee638270314821", "https://example.org/1"
        assert list(outbox.notifications()) == [
            Notification(1, f"{key}-4", "added", graph, 1, 4, "a.rq", "ada", "[]", AT)
        ]
        assert [pair._replace(id="") for pair in outbox.undecided()] == [
            UndecidedPair(2, "", "urn:2", 1, 5, "é", None, "slow")
        ]


if __name__ == "__main__":
    write_journal(Path(sys.argv[1]))
    write_outbox(Path(sys.argv[1]))
