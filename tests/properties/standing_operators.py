"""Standing queries that ask operators, against the slow reader, which asks them as functions, after each event.

Operators fail at random: what they leave undecided is owed, and made up for. Each call that has an answer is made once,
whoever needs it, in whatever event, over restarts.

``python -m tests.properties.standing_operators FIRST COUNT`` tries more histories, and prints what was seen.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.conftest import DEFAULT_SEED
from tests.kills import RANDOM, Process
from tests.properties.operators import LETTERS, MOOD, Maker, answer_slowly, make_publication
from tests.properties.oracle import rows_of
from tests.properties.oxigraph import Row
from tests.properties.render import render
from tests.properties.standing import GRAPHS
from tests.properties.test_standing import changes_of, counted, owed_by
from tests.reference.queries import Query
from tests.reference.solve import NotDetermined
from tests.reference.terms import Triple, literal, read_ntriples, write
from triplecast import FOREVER, Document, Engine
from triplecast.errors import QueryRefused
from triplecast.model.events import Removal
from triplecast.model.publication import Publication

QUERIES, EVENTS = 32, 18
PATIENCE = 120.0
POINTS = (
    "journal.results-kept",
    "journal.committed",
    "outbox.rows-written",
    "outbox.position-written",
    "outbox.committed",
    RANDOM,
)


class Follower:
    """What was told of each answer, added up, beside what each is."""

    def __init__(self, folder: Path, where: str) -> None:
        self.seen: Counter[str] = Counter()
        self.asked: dict[int, Query] = {}
        self.documents: dict[str, tuple[Triple, ...]] = {}
        self._answers: dict[int, Counter[Row]] = {}
        self._mood = folder / "mood"
        self._where = where
        self._sequence = 0
        self._owed: set[int] = set()

    def be(self, share: int, salt: int) -> None:
        """Let so many of 100 calls fail."""
        self._mood.write_text(f"{share} {salt}")

    def check(self, engine: Engine, at: str) -> None:
        """Take what was told since; what is not owed is the whole answer, and no call was answered twice."""
        for each in engine.notifications(self._sequence):
            self._sequence = each.sequence
            answer = self._answers.setdefault(each.registration, Counter())
            if each.change == "present":
                self._answers[each.registration] = counted(each.added)
                continue
            added, removed = changes_of(each)
            assert not removed - answer, f"{self._where} {at}"
            answer += added
            answer -= removed
            self.seen.update(changed=1, removed=bool(removed))
        owed = {*owed_by(engine).since}
        self.seen.update({"owed": len(owed), "made up for": len(self._owed - owed)})
        self._owed = owed
        triples = tuple(dict.fromkeys(each for document in self.documents.values() for each in document))
        for registration, query in [*self.asked.items()]:
            try:
                expected = Counter(rows_of(answer_slowly(query, triples)))
            except NotDetermined:
                del self.asked[registration]
                continue
            if registration not in owed:
                told = self._answers.get(registration, Counter())
                assert told == expected, f"{self._where} {at}: {render(query, None)}"
                self.seen.update({"compared": 1, "with rows": bool(expected)})

    def check_calls(self) -> None:
        """Those of a batch that failed were repeated in parts."""
        lines = Path(f"{self._mood}.calls").read_text().splitlines()
        calls = Counter(line for line in lines if LETTERS not in line)
        self.seen["calls"] += calls.total()
        assert calls.most_common(1)[0][1] == 1, f"{self._where}: {calls.most_common(3)}"


class Change(NamedTuple):
    graph: str
    triples: tuple[Triple, ...] | None


def make_changes(source: Random) -> list[Change]:
    return [
        Change(source.choice(GRAPHS), None if source.random() < 0.2 else make_document(source))
        for _ in range(source.choice((1, 1, 2, 3)))
    ]


def make_document(source: Random) -> tuple[Triple, ...]:
    """Some of its texts were in no document before."""
    triples = make_publication(source)[:5]
    return tuple(
        (subject, predicate, literal("".join(source.choices("abcd", k=source.randint(0, 5)))))
        if object[0] == "literal" and source.random() < 0.6
        else (subject, predicate, object)
        for subject, predicate, object in triples
    )


def apply(engine: Engine, changes: list[Change], documents: dict[str, tuple[Triple, ...]]) -> None:
    """New versions come in one call, removals one by one."""
    new = [each for each in changes if each.triples is not None]
    for each in changes:
        if each.triples is None and documents.pop(each.graph, None) is not None:
            engine.remove(each.graph)
    for each in new:
        documents[each.graph] = each.triples or ()
    engine.publish_many(
        Document(
            each.graph,
            "".join(f"{' '.join(map(write, line))} .\n" for line in each.triples or ()).encode(),
            "application/n-triples",
            each.graph,
        )
        for each in new
    )


def check_history(seed: int, number: int, folder: Path) -> Counter[str]:
    """A durable engine, opened again now and then, whose operators fail at times."""
    source = Random(f"{seed} {number}")
    maker, follower = Maker(source, fails=False), Follower(folder, f"history {number} of {seed}")
    os.environ[MOOD] = str(folder / "mood")
    try:
        event = 0
        while event < EVENTS:
            with Engine.open(folder / "engine") as engine:
                while event < EVENTS:
                    event += 1
                    follower.be(source.choice((0, 0, 30, 60)), event)
                    for _ in range(QUERIES // 8 if event <= 8 else 0):
                        tree = maker.query()
                        try:
                            found = engine.subscribe(render(tree, None), scope="repository", lease=FOREVER)
                        except QueryRefused:
                            continue
                        follower.asked[found.registration] = tree
                        follower.seen[found.cost] += 1
                    apply(engine, make_changes(source), follower.documents)
                    follower.check(engine, f"at {event}")
                    if source.random() < 0.15:
                        break
        follower.be(0, 0)
        with Engine.open(folder / "engine") as engine:
            for each in [*engine.subscriptions()]:
                engine.resync(each.id)
            assert not owed_by(engine).since
            follower.check(engine, "in the end")
            told = [row[1:] for row in told_rows(engine)]
        for part in folder.glob("engine/outbox.*"):
            part.unlink()
        with Engine.open(folder / "engine") as engine:
            again = [row[1:] for row in told_rows(engine)]
            assert again == told, "a lost outbox is made again, though operators that failed answer now"
    finally:
        del os.environ[MOOD]
    follower.check_calls()
    return follower.seen


# ---- kills -----------------------------------------------------------------------------------------------------------


def live_on(folder: Path, trees: list[Query], seed: int) -> Callable[[Process], int]:
    """Subscribe, change documents and moods until somebody kills it."""

    def action(process: Process) -> int:
        source = Random(seed)
        for _ in range(3):
            with Engine.open(folder / "engine") as engine:
                live = {each.id for each in engine.subscriptions()}
                for _ in range(source.randrange(2, 12)):
                    (folder / "mood").write_text(f"{source.choice((0, 30, 60))} {source.random()}")
                    if (number := source.randrange(2 * len(trees))) < len(trees) and str(number) not in live:
                        live.add(str(number))
                        engine.subscribe(render(trees[number], None), str(number), scope="repository", lease=FOREVER)
                    apply(engine, make_changes(source), dict.fromkeys(GRAPHS, ()))
                    process.say({"told": len(told_rows(engine))})
        return 0

    return action


def check_kills(seed: int, number: int, deaths: int, folder: Path) -> Counter[str]:
    """Whoever tells is killed again and again: nothing told is lost, or told otherwise, and it adds up."""
    source, seen = Random(f"{seed} {number} kills"), Counter[str]()
    trees = [*islice(taken_trees(source), QUERIES // 2)]
    os.environ[MOOD] = str(folder / "mood")
    before: list[tuple[str, str, str]] = []
    try:
        for death in range(deaths):
            point = POINTS[death % len(POINTS)]
            armed = "" if point == RANDOM else f"{point}:{source.randint(1, 12)}"
            process = Process(live_on(folder, trees, source.randrange(1 << 32)), armed)
            try:
                until = time.monotonic() + (PATIENCE if armed else source.uniform(0.1, 3))
                heard = [*process.hear(until)]
                process.kill(signal.SIGKILL)
                process.wait()
                heard += process.rest()
            finally:
                process.close()
            assert not any("failed" in each for each in heard), heard
            seen[point] += process.ended == signal.SIGKILL
            follower = Follower(folder, f"kills {number} of {seed}, {death}")
            follower.be(source.choice((0, 50)), death)
            with Engine.open(folder / "engine") as engine:
                engine.query("ASK {}")
                now = told_rows(engine)
                assert now[: len(before)] == before, "told otherwise"
                assert len(now) >= max([len(before), *(int(str(each["told"])) for each in heard)]), "lost"
                assert len({id for _, id, _ in now}) == len(now), "twice"
                before = now
                follower.asked = {each.registration: trees[int(each.id)] for each in engine.subscriptions()}
                current: dict[str, tuple[Triple, ...]] = {}
                for event in engine._journal.events(0, engine._journal.head()):
                    assert isinstance(event, Publication | Removal)
                    lines = read_ntriples(event.quads.decode()) if isinstance(event, Publication) else ()
                    current[event.graph] = tuple(lines)
                follower.documents = current
                follower.check(engine, "after it")
            seen += Counter({name: follower.seen[name] for name in ("compared", "owed", "changed")})
    finally:
        del os.environ[MOOD]
    return seen


def taken_trees(source: Random) -> Iterator[Query]:
    """Queries that repository scope takes."""
    maker = Maker(source, fails=False)
    with Engine() as engine:
        while True:
            tree = maker.query()
            with suppress(QueryRefused):
                engine.subscribe(render(tree, None), scope="repository")
                yield tree


def told_rows(engine: Engine) -> list[tuple[str, str, str]]:
    return [(str(each.cursor), each.id, each.json) for each in engine.notifications()]


if __name__ == "__main__":
    total: Counter[str] = Counter()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            total += check_history(DEFAULT_SEED, number, Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            total += check_kills(DEFAULT_SEED, number, 2 * len(POINTS), Path(folder))
    print(total)
