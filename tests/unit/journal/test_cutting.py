"""What documents that are cut hold: histories against a plain account of who said what."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from journal_samples import run_and_crash

from triplecast.errors import StorageFault
from triplecast.journal import Journal, JournalFile
from triplecast.journal.parts import read_parts
from triplecast.model.events import Removal
from triplecast.model.publication import Draft, Origin, Publication
from triplecast.model.subscription import Subscription

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
DOCUMENTS = ("urn:a", "urn:b", "urn:c")
ROOTS = ("urn:1", "urn:2", "urn:3", "urn:a")
"""A document's own name is its rest."""


class Step(NamedTuple):
    verb: str
    document: str
    parts: tuple[tuple[str, str], ...] = ()
    """Graphs and what is said of them."""

    def drafts(self) -> list[Draft]:
        origin = Origin(self.document, len(self.parts)) if self.verb == "cut" else None
        return [draft(graph, said)._replace(origin=origin) for graph, said in self.parts]


def draft(graph: str, said: str) -> Draft:
    quads = f"<urn:s> <urn:p> <urn:{said}> .\n".encode()
    return Draft(graph, quads, said.encode().rjust(32, b"0"), "none")


def random_steps(random: Random, count: int) -> Iterator[Step]:
    for _ in range(count):
        verb = random.choice(("cut", "cut", "cut", "cut", "whole", "remove"))
        document = random.choice(DOCUMENTS if verb == "cut" else (*DOCUMENTS, *ROOTS))
        graphs = random.sample(ROOTS, random.randrange(1, 4)) if verb == "cut" else [document]
        yield Step(verb, document, tuple((graph, random.choice("xyz")) for graph in graphs))


class Account:
    """Who says what, and which events that makes, one step after the other."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        """Graph, and what is said of it from then on; nothing where it is removed."""
        self.current: dict[str, int] = {}
        """The event by which a graph is what it is."""
        self.said: dict[str, dict[str, tuple[str, int]]] = {}
        """By document and graph: what, and the event that said so first for this document."""

    def take(self, step: Step) -> None:
        if step.verb == "remove":
            self._remove(step.document)
            self._let_go(step.document, self.said.pop(step.document, {}))
            return
        before = self.said.pop(step.document, {})
        said: dict[str, tuple[str, int]] = {}
        for graph, content in step.parts:
            if before.get(graph, ("",))[0] == content and self._says(graph):
                said[graph] = before[graph]
            else:
                said[graph] = content, self._say(graph, content)
        if step.verb == "cut":
            self.said[step.document] = said
        self._let_go(step.document, {graph: was for graph, was in before.items() if graph not in said})

    def _let_go(self, document: str, left: dict[str, tuple[str, int]]) -> None:
        for graph, (_, event) in sorted(left.items()):
            if self.current[graph] != event or not self._says(graph):
                continue
            others = [(held[graph][1], name) for name, held in self.said.items() if graph in held]
            if others:
                _, name = max(others)
                content = self.said[name][graph][0]
                self.said[name][graph] = content, self._say(graph, content)
            else:
                self._remove(graph)

    def _says(self, graph: str) -> str:
        return self.events[self.current[graph]][1] if graph in self.current else ""

    def _say(self, graph: str, content: str) -> int:
        if self._says(graph) != content:
            self.current[graph] = len(self.events)
            self.events.append((graph, content))
        return self.current[graph]

    def _remove(self, graph: str) -> None:
        if self._says(graph):
            self.current[graph] = len(self.events)
            self.events.append((graph, ""))


def told(journal: JournalFile) -> list[tuple[str, str]]:
    def word(event: object) -> tuple[str, str]:
        if isinstance(event, Removal):
            return event.graph, ""
        assert isinstance(event, Publication)
        return event.graph, event.quads.decode()[-6:-4].strip(":")

    return [word(event) for event in journal.events(0, journal.head())]


def write(journal: Journal, steps: Sequence[Step]) -> None:
    """In as few commits as these steps allow."""
    drafts: list[Draft] = []
    for step in steps:
        if step.verb == "remove":
            journal.commit_documents(drafts)
            drafts = []
            journal.remove(step.document)
        else:
            drafts += step.drafts()
    journal.commit_documents(drafts)


@pytest.mark.parametrize("seed", range(SEED, SEED + 60))
def test_random_histories_are_the_same_step_by_step_and_together(seed: int, tmp_path: Path) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/journal/test_cutting.py"""
    random = Random(seed)
    steps = [*random_steps(random, 40)]
    account = Account()
    for step in steps:
        account.take(step)
    with Journal.in_memory() as together:
        write(together, steps)
        assert told(together) == account.events
    journal = Journal.open(tmp_path)
    for step in steps:
        write(journal, [step])
        if random.random() < 0.1:
            journal.close()
            journal = Journal.open(tmp_path)
    assert told(journal) == account.events
    journal.check()
    journal.close()


def test_publications_of_a_commit_with_removals_are_all_read() -> None:
    with Journal.in_memory() as journal:
        write(journal, [Step("cut", "urn:a", (("urn:1", "x"), ("urn:2", "x")))])
        acceptance = journal.commit_documents(Step("cut", "urn:a", (("urn:3", "x"),)).drafts())
        ((_, dropped),) = acceptance.dropped.items()
        assert [each.graph for each in dropped.removed] == ["urn:1", "urn:2"]
        assert [each.graph for each in journal.publications(2, 5)] == ["urn:3"]


def parts(journal: JournalFile) -> set[tuple[object, ...]]:
    return {*read_parts(journal._database)}


def replica_at(journal: JournalFile, position: int) -> Journal:
    """One that took each record in a transaction of its own."""
    replica, number = Journal.in_memory(), 0
    for record in journal.records(0, position, 1 << 40):
        changes = journal.part_changes(number, record.row.position)
        replica.take_records([record._replace(parts=changes)])
        number += len(changes)
    return replica


@pytest.mark.parametrize("seed", range(SEED, SEED + 10))
def test_a_replica_holds_at_each_position_what_its_provider_held(seed: int) -> None:
    random = Random(seed)
    held: dict[int, set[tuple[object, ...]]] = {}
    with Journal.in_memory() as journal:
        for step in random_steps(random, 30):
            write(journal, [step])
            held[journal.head()] = parts(journal)
        for position, expected in held.items():
            with replica_at(journal, position) as replica:
                assert parts(replica) == expected
                replica.check()


@pytest.mark.parametrize("seed", range(SEED, SEED + 10))
def test_whatever_a_replica_has_leaves_with_its_documents(seed: int) -> None:
    """Also where it has a part of what its provider did in one transaction."""
    steps = [each for each in random_steps(Random(seed), 25) if each.verb == "cut"]
    with Journal.in_memory() as journal:
        for first in range(0, len(steps), 3):
            write(journal, steps[first : first + 3])
        for position in range(1, journal.head() + 1):
            with replica_at(journal, position) as replica:
                write(replica, [Step("cut", document, (("urn:z", "x"),)) for document in DOCUMENTS])
                current = {graph for graph, said in dict(told(replica)).items() if said}
                assert current == {"urn:z"}, f"promoted at position {position}"


HELD = Step("cut", "urn:a", (("urn:1", "x"), ("urn:2", "x")))
LEFT = Step("cut", "urn:a", (("urn:2", "y"),))


SCRIPT = f"""
import sys
sys.path[:0] = {sys.path!r}
from test_cutting import HELD, LEFT, Journal, write
with Journal.open(sys.argv[1]) as journal:
    write(journal, [HELD])
    write(journal, [LEFT])
"""
KILLS = ("journal.before-append", "journal.appended", "journal.committed")


@pytest.mark.parametrize("point", KILLS)
@pytest.mark.parametrize("hit", [1, 2])
def test_a_kill_leaves_a_document_wholly_cut_or_as_it_was(point: str, hit: int, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert run_and_crash(SCRIPT, folder, point, hit, tmp_path / "log")
    states: list[list[tuple[str, str]]] = [[], [("urn:1", "x"), ("urn:2", "x")]]
    states.append([*states[1], ("urn:2", "y"), ("urn:1", "")])
    with Journal.open(folder) as journal:
        assert told(journal) == states[hit - 1 + (point == "journal.committed")]
        write(journal, [HELD, LEFT] if hit == 1 else [LEFT])
        assert told(journal) == states[2]
        journal.check()


def test_damage_of_what_is_held_is_reported(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        write(journal, [HELD])
        with journal.sole():
            journal._database.run("UPDATE part SET position = 2 WHERE graph = 'urn:1'")
        with pytest.raises(Exception, match="the part urn:1 of document urn:a is damaged"):
            write(journal, [LEFT])
        with pytest.raises(Exception, match="the part urn:1 of document urn:a is damaged"):
            journal.check()


def test_a_replica_that_failed_to_take_a_subscription_takes_it_later() -> None:
    """What it noted of the subscription while it took it is forgotten with it."""
    with Journal.in_memory() as journal, Journal.in_memory() as replica:
        journal.subscribe([Subscription("s", "SELECT * { ?s ?p ?o }", notify="changed")])
        write(journal, [Step("publish", "urn:a", (("urn:a", "x"),))])
        records = journal.records(0, journal.head(), 1 << 40)
        damaged = records[-1]._replace(row=records[-1].row._replace(position=journal.head() + 1))
        with pytest.raises(StorageFault):
            replica.take_records([*records[:-1], damaged])
        assert not replica.has_hearers("changed")
        replica.take_records(records)
        assert replica.has_hearers("changed")
        replica.check()
