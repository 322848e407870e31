"""A writer does not read back what it appended, and knows the same as a reader of the file: after failed commits too,
and until another writer has the folder."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from journal_samples import StepClock, draft

from triplecast import Engine
from triplecast.errors import FolderLocked, StorageFault, TriplecastError
from triplecast.journal import Journal, JournalFile, writer
from triplecast.model.publication import Reject
from triplecast.model.subscription import Lease, Subscription
from triplecast.taxonomy import Taxonomy

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
QUERY = "SELECT * { ?s ?p ?o }"


class Failing:
    """Raises at a crash point, when armed: before the commit, or after it."""

    armed = ""

    def __call__(self, point: str) -> None:
        if point == self.armed:
            raise StorageFault("disk", "a failure", "try again")


def step(rng: random.Random, journal: Journal, clock: StepClock, number: int) -> None:
    """Change the journal somehow."""
    clock.now += rng.choice([0, 1_000_000, 5_000_000])
    live = [int(each.id) for each in journal.live_registrations()]
    match rng.randrange(9):
        case 0 | 1 | 2:
            drafts = [draft(f"g{rng.randrange(5)}", f"{rng.randrange(4)}") for _ in range(rng.randrange(4))]
            journal.commit_documents(drafts, [Reject("r", "gate", "x", "y")] * rng.randrange(2))
        case 3:
            journal.remove(f"https://example.org/g{rng.randrange(5)}")
        case 4:
            end = rng.choice([None, clock.now + rng.randrange(1, 9_000_000)])
            named = [Subscription(f"s{number}/{each}", QUERY) for each in range(rng.choice([0, 1, 2, 3, 130]))]
            journal.subscribe(named, Lease(end), ended=live[: rng.randrange(2)])
        case 5 if live:
            journal.cancel([rng.choice(live)])
        case 6 if live:
            journal.renew(rng.choice(live), Lease(clock.now + rng.randrange(1, 9_000_000)))
        case 7:
            journal.load_taxonomy(Taxonomy(((f"<a:{rng.randrange(3)}>", SUBCLASS, "<a:top>"),)))
        case _:
            journal.end_leases()


def check_same(journal: Journal, reader: JournalFile, after: int) -> None:
    head = reader.head()
    assert journal.head() == head
    for first in {after, max(0, head - 3), head}:
        assert journal.taxonomies(first, head) == reader.taxonomies(first, head)
        for limit, most in ((None, None), (1, None), (2, 100), (None, 150)):
            expected = reader.publications(first, head, limit, most)
            assert journal.publications(first, head, limit, most) == expected, (first, head, limit, most)
        for most in (3, 99):
            slices = [*journal.registry_slices(first, head, most)]
            assert slices == [*reader.registry_slices(first, head, most)], (first, head)


@pytest.mark.parametrize("seed", range(SEED, SEED + 6))
def test_a_writer_knows_what_a_reader_reads(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/journal/test_last_commit.py"""
    rng, clock, failing, seen = random.Random(seed), StepClock(), Failing(), Counter[str]()
    monkeypatch.setattr(writer, "reach", failing)
    journal, reader = Journal.open(tmp_path, clock), JournalFile.read_only(tmp_path)
    indexed = 0
    for number in range(200):
        failing.armed = rng.choice(["", "", "", "journal.appended", "journal.committed"])
        try:
            step(rng, journal, clock, number)
        except TriplecastError as error:
            seen[type(error).__name__] += 1
        failing.armed = ""
        if rng.random() < 0.7:  # else nobody reads in between
            check_same(journal, reader, indexed)
            indexed = journal.head()
        if rng.random() < 0.05:
            successor = Journal.open(tmp_path, clock, take_over=True)
            step(rng, successor, clock, number + 1_000)
            with pytest.raises(FolderLocked):
                journal.commit_documents([draft("late", str(number))])
            assert journal.head() == reader.head(), "what it knew is dropped"
            journal.close()
            journal = successor
    journal.close()
    assert seen["StorageFault"] > 10, f"seed {seed}: {seen}"


@pytest.mark.parametrize(("graph", "version", "before"), [("a:h", 1, 0), ("a:g", 2, 2)])
def test_a_publish_reads_nothing_back_but_the_version_before(
    graph: str, version: int, before: int, tmp_path: Path
) -> None:
    """Of that one it reads the document, and once what the subscription wants to hear."""
    said: list[str] = []
    with Engine.open(tmp_path) as engine:
        engine.subscribe(QUERY, id="all", lease=3600)
        engine.publish("<a:s> <a:p> 1 .", "text/turtle", "a:g")
        connection = engine._journal._database._connection
        assert connection is not None
        connection.set_trace_callback(said.append)
        receipt = engine.publish("<a:s> <a:p> 2 .", "text/turtle", graph)
        connection.set_trace_callback(None)
    assert [match.version for match in receipt.matches] == [version], "read as the engine is closed"
    reads = [each.split(" FROM ")[1].split()[0] for each in said if each.startswith("SELECT")]
    assert set(reads) - {"record"} == {"writer", "document"}, said
    assert reads.count("record") == before, said
    assert len(said) <= 9 + 3 * before, said


def test_a_failed_commit_is_forgotten_and_a_durable_one_matched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing()
    with Engine.open(tmp_path) as engine:
        engine.subscribe(QUERY, id="all")
        engine.publish("<a:s> <a:p> 1 .", "text/turtle", "a:one")
        monkeypatch.setattr(writer, "reach", failing)
        for point in ("journal.appended", "journal.committed"):
            failing.armed = point
            with pytest.raises(StorageFault, match="a failure"):
                engine.publish("<a:s> <a:p> 2 .", "text/turtle", f"a:{point}")
        failing.armed = ""
        engine.publish("<a:s> <a:p> 3 .", "text/turtle", "a:last")
        told = [(each.publication, each.version) for each in engine.notifications()]
    assert told == [("a:one", 1), ("a:journal.committed", 1), ("a:last", 1)]
