"""What events change in the answers of standing queries, added up, is the whole answer after each event.

``python -m tests.properties.test_standing FIRST COUNT`` tries more histories, and prints what was seen.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tests.conftest import DEFAULT_SEED
from tests.properties.generate import Asked
from tests.properties.oxigraph import Row
from tests.properties.product import as_taxonomy
from tests.properties.standing import GRAPHS, SlowAnswers, Step, make_history
from tests.properties.test_rdql import Writer
from tests.reference.rdql import answer
from tests.reference.terms import read_ntriples, write
from triplecast import Document, Engine, Notification, Subscription
from triplecast.compile.compiled import compile_subscription
from triplecast.engine.answers import answers_batch
from triplecast.errors import QueryRefused
from triplecast.incremental import OWED, OwedAnswers, StandingQueries, compile_standing, standing_answer
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.match import CHANGES
from triplecast.model.publication import Draft, Position, Publication
from triplecast.outbox.batch import OutboxRow
from triplecast.repository import Repository
from triplecast.repository.document_lines import document_lines

QUERIES, EVENTS = 40, 14


class Told:
    """What was told of each answer, added up, beside what each is."""

    def __init__(self, where: str) -> None:
        self.slow = SlowAnswers()
        self.asked: dict[int, Asked] = {}
        self.answers: dict[int, Counter[Row]] = {}
        self.seen: Counter[str] = Counter()
        self.owed: dict[int, int] = {}
        self._where = where

    def subscribed(self, registration: int, asked: Asked) -> None:
        self.asked[registration] = asked
        self.answers[registration] = Counter()

    def knows(self, registration: int) -> None:
        """Its subscriber knows the answer as it is, and wanted none."""
        self.answers[registration] = self.slow.answer(self.asked[registration]) or Counter()
        self.seen["initial none"] += 1

    def present(self, registration: int, rows: Counter[Row]) -> None:
        """All rows that there are."""
        if registration in self.answers:
            self.seen.update({"present": 1, "present otherwise": rows != self.answers[registration]})
            self.answers[registration] = rows

    def unsubscribed(self, registration: int) -> None:
        del self.asked[registration], self.answers[registration]

    def take(self, registration: int, added: Counter[Row], removed: Counter[Row]) -> None:
        assert added or removed
        assert not added & removed
        if registration in self.answers:
            answer = self.answers[registration]
            assert not removed - answer, self._where
            answer += added
            answer -= removed
        self.seen.update(changed=1, removed=bool(removed))

    def compare(self, at: str, owed: OwedAnswers) -> None:
        """All but those answers that are undecided."""
        self.seen["owed"] += len(owed.since)
        self.seen["made up for"] += len({*self.owed} - {*owed.since})
        self.owed = dict(owed.since)
        for registration, asked in [*self.asked.items()]:
            if registration in owed:
                continue
            expected = self.slow.answer(asked)
            if expected is None:
                self.unsubscribed(registration)
                continue
            assert self.answers[registration] == expected, f"{self._where} {at}: {asked.text}"
            self.seen.update({"compared": 1, "with rows": bool(expected), "entailed": asked.entailment is not None})


def test_changes_add_up_to_the_answer() -> None:
    seen = sum((check_history(DEFAULT_SEED, number) for number in (*range(6), 11)), Counter[str]())
    assert seen["changed"] > 500
    assert seen["removed"] > 200
    assert 500 * seen["undecided"] < seen["compared"], "only what has more rows than an event may take steps"


def test_undecided_answers_are_made_up_for(tmp_path: Path) -> None:
    seen = sum((check_history(DEFAULT_SEED, number, scarce=True) for number in range(6, 12)), Counter[str]())
    seen += sum(
        (check_engine(DEFAULT_SEED, number, tmp_path / str(number), scarce=True) for number in range(26, 29)),
        Counter[str](),
    )
    assert seen["undecided"] > 300
    assert seen["made up for"] > 100
    assert seen["present otherwise"] > 0, "what is owed is in a present answer"


def test_what_an_engine_tells_adds_up_to_the_answer(tmp_path: Path) -> None:
    numbers = range(20, 26)
    seen = sum((check_engine(DEFAULT_SEED, number, tmp_path / str(number)) for number in numbers), Counter[str]())
    assert seen["changed"] > 500
    assert seen["removed"] > 200
    assert seen["undecided"] == 0
    assert seen["initial none"] > 20
    assert seen["present"] > 10
    assert seen["present otherwise"] == 0
    assert seen["updated"] > 5


def check_history(seed: int, number: int, scarce: bool = False) -> Counter[str]:
    """One event at a time; queries come when a third of the events has. With `scarce`, some events may take few steps
    only, and whoever follows is made anew now and then."""
    history = make_history(seed, number, QUERIES, EVENTS)
    journal, told = Journal.in_memory(), Told(f"history {number} of {seed}")
    source = random.Random(f"{seed} {number} steps")
    with Matcher() as matcher, few_steps() as limit:
        standing = StandingQueries(journal, Repository(journal), matcher, 0)
        for at, step in enumerate(history.steps):
            if at == EVENTS // 3:
                wanted = [each for each in history.queries if is_taken(each)]
                added = journal.subscribe([subscription(each, f"s{n}") for n, each in enumerate(wanted)])
                for each, asked in zip(added, wanted, strict=True):
                    told.subscribed(int(each.id), asked)
                take_events(standing, journal.head(), told)
                told.compare(f"subscribed at {at}", standing.owed)
            before = journal.head()
            if scarce:
                limit(source.choice((3, 30, 100, 500_000)))
                if source.random() < 0.2:
                    owed = OwedAnswers(standing.owed.text(), before)
                    repository = Repository(journal, upto=owed.start(before))
                    repository.follow(owed.start(before))
                    standing = StandingQueries(journal, repository, matcher, before, owed)
            if step.taxonomy is not None:
                journal.load_taxonomy(as_taxonomy(step.taxonomy))
            elif step.document is None:
                journal.remove(step.graph)
            else:
                journal.accept([step.draft()])
            apply_events(journal, before, told)
            take_events(standing, journal.head(), told)
            told.compare(f"at {at}", standing.owed)
    return told.seen


def check_engine(seed: int, number: int, folder: Path, scarce: bool = False) -> Counter[str]:
    """A durable engine, opened again now and then; queries come and go; documents come one by one and in groups. With
    `scarce`, some calls may take few steps only."""
    history = make_history(seed, number, QUERIES, 2 * EVENTS)
    source, told = random.Random(f"{seed} {number}"), Told(f"engine history {number} of {seed}")
    waiting = [each for each in history.queries if is_taken(each)]
    live: list[str] = []
    steps, sequence = [*history.steps], 0
    while steps:
        with Engine.open(folder) as engine, few_steps() as limit:
            while steps:
                if scarce:
                    limit(source.choice((3, 30, 100, 500_000)))
                before = engine._journal.head()
                chance = source.random()
                if chance < 0.4 and waiting:
                    chosen, waiting = waiting[:9], waiting[9:]
                    names = [f"s{len(live) + n}" for n in range(len(chosen))]
                    wanted = [told_as(source, each, name) for each, name in zip(chosen, names, strict=True)]
                    given = engine.subscribe_many(wanted)
                    for each, asked, as_wanted in zip(given, chosen, wanted, strict=True):
                        told.subscribed(each.registration, asked)
                        if as_wanted.initial == "none":
                            told.knows(each.registration)
                    live += names
                elif chance < 0.45 and live:
                    registration = engine._registry.live(live[-1]).id
                    engine.unsubscribe(live.pop())
                    if registration in told.asked:
                        told.unsubscribed(registration)
                elif chance < 0.55 and live:
                    engine.resync(source.choice(live))
                else:
                    publish(engine, steps, source)
                apply_events(engine._journal, before, told)
                for each in engine.notifications(sequence):
                    sequence = each.sequence
                    told.seen["updated"] += bool(each.updated)
                    if each.change == "present":
                        told.present(each.registration, counted(each.added))
                    else:
                        told.take(each.registration, *changes_of(each))
                told.seen["undecided"] += len(engine.undecided(before))
                told.compare(f"with {len(steps)} to come", owed_by(engine))
                if source.random() < 0.2:
                    break
    return told.seen


def test_rdql_is_answered_too(seed: int) -> None:
    chance, compared = random.Random(seed), Counter[str]()
    for _ in range(4):
        writer, journal, current = Writer(chance), Journal.in_memory(), dict[str, Publication]()
        texts = list(dict.fromkeys(writer.query() for _ in range(40)))
        answers: dict[int, Counter[Row]] = {}
        asked: dict[int, str] = {}
        with Matcher() as matcher:
            standing = StandingQueries(journal, Repository(journal), matcher, 0)
            for text in texts:
                wanted = Subscription(f"s{len(asked)}", text, "rdql", scope="repository")
                with suppress(QueryRefused):
                    compile_standing(compile_subscription(wanted))
                    (added,) = journal.subscribe([wanted])
                    asked[int(added.id)], answers[int(added.id)] = text, Counter()
            for _ in range(8):
                graph = chance.choice(GRAPHS)
                if graph in current and chance.random() < 0.2:
                    journal.remove(graph)
                    del current[graph]
                else:
                    quads = writer.publication().quads
                    journal.accept([Draft(graph, quads, chance.randbytes(32), "input")])
                    current[graph] = Publication(Position(1), graph, 1, "", quads, labels="input")
                batch = answers_batch([*standing.follow(journal.head())])
                assert not batch.undecided
                for row in batch.rows():
                    added, removed = sides_of(row)
                    answers[row.registration] += added
                    answers[row.registration] -= removed
                merged = {
                    triple for each in current.values() for triple in read_ntriples(document_lines(each).decode())
                }
                for registration, text in asked.items():
                    expected = Counter(
                        tuple(sorted((name[1:], write(term)) for name, term in row.items()))
                        for row in answer(text, sorted(merged))
                    )
                    assert answers[registration] == expected, text
                    compared.update({"compared": 1, "with rows": bool(expected)})
    assert compared["with rows"] > 100


@contextmanager
def few_steps() -> Iterator[Callable[[int], None]]:
    """Let the steps of an event be others; as before in the end."""
    usual = standing_answer.STEPS

    def limit(steps: int) -> None:
        vars(standing_answer)["STEPS"] = steps

    try:
        yield limit
    finally:
        limit(usual)


def owed_by(engine: Engine) -> OwedAnswers:
    return OwedAnswers(engine._journal.settings().get(OWED), engine._journal.head())


def publish(engine: Engine, steps: list[Step], source: random.Random) -> None:
    """One step, or several documents in one call."""
    if steps[0].taxonomy is not None:
        known = steps.pop(0).taxonomy
        engine.load_taxonomy(as_taxonomy(known).lines, "application/n-triples", known.broader)
        return
    if steps[0].document is None:
        engine.remove(steps.pop(0).graph)
        return
    documents = []
    while steps and steps[0].document is not None and (not documents or source.random() < 0.6):
        step = steps.pop(0)
        documents.append(Document(step.graph, step.draft().quads, "application/n-triples", step.graph))
    engine.publish_many(documents)


def is_taken(asked: Asked) -> bool:
    """Whether repository scope takes the query; triples of CONSTRUCT are not told."""
    try:
        compile_standing(compile_subscription(subscription(asked, "any")))
    except QueryRefused:
        return False
    return bool(asked.query.form != "construct")


def subscription(asked: Asked, name: str) -> Subscription:
    return Subscription(name, asked.text, scope="repository")


def told_as(source: random.Random, asked: Asked, name: str) -> Subscription:
    """A subscription with a key or without one, that wants to hear its first answer or not."""
    plain = subscription(asked, name)
    variables = compile_subscription(plain).template.query.variables if asked.query.form == "select" else ()
    key = tuple(variable.name for variable in variables[:1]) if source.random() < 0.3 else ()
    return replace(plain, initial="none" if source.random() < 0.3 else None, key=key)


def apply_events(journal: Journal, before: int, told: Told) -> None:
    for event in journal.events(before, journal.head()):
        told.slow.apply(event)


def take_events(standing: StandingQueries, upto: int, told: Told) -> None:
    batch = answers_batch([*standing.follow(upto)])
    for row in batch.rows():
        told.take(row.registration, *sides_of(row))
    for unsure in batch.undecided:
        assert unsure.registration in standing.owed
        told.seen["undecided"] += 1


def sides_of(row: OutboxRow) -> tuple[Counter[Row], Counter[Row]]:
    """The rows added and removed."""
    found = json.loads(row.bindings)
    parts = found if isinstance(found, dict) else {CHANGES[row.change].word: found}
    before, after = ([pair[side] for pair in parts.get("updated", ())] for side in (0, 1))
    return counted(parts.get("added", []) + after), counted(parts.get("removed", []) + before)


def changes_of(notification: Notification) -> tuple[Counter[Row], Counter[Row]]:
    before, after = ([pair[side] for pair in notification.updated] for side in (0, 1))
    return counted(notification.added + after), counted(notification.removed + before)


def counted(solutions: Iterable[Mapping[str, object]]) -> Counter[Row]:
    return Counter(tuple(sorted((name, str(term)) for name, term in row.items())) for row in solutions)


if __name__ == "__main__":
    total: Counter[str] = Counter()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        total += check_history(DEFAULT_SEED, number)
        with tempfile.TemporaryDirectory() as folder:
            total += check_engine(DEFAULT_SEED, number, Path(folder))
    print(total)
