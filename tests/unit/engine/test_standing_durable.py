"""Answers of repository scope are told once: whatever kills, interrupts or cuts short who tells them."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.kills import RANDOM, Process
from tests.lives import ParserHere
from triplecast import FOREVER, Document, Engine, LiveSubscription, Notification, Receipt, StorageFault, Subscription
from triplecast.compile.compiled import compile_subscription
from triplecast.evaluate.budget import Budget
from triplecast.incremental import OWED, OwedAnswers, StandingQueries, standing_answer
from triplecast.incremental.difference import whole_answer
from triplecast.languages import fill
from triplecast.outbox.outbox import UNSYNCED
from triplecast.repository import repository
from triplecast.repository.cache import CACHE, read_cache
from triplecast.repository.entailed import EntailedStore

E = "https://example.org/"
SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
QUERIES = (
    f"SELECT * {{ ?s <{E}p> ?o }}",
    f"SELECT ?s ?name {{ ?s <{E}p> ?o OPTIONAL {{ ?o <{E}name> ?name }} }}",
    f"SELECT ?o (COUNT(?s) AS ?n) {{ ?s <{E}p> ?o }} GROUP BY ?o",
    f"SELECT ?s {{ ?s <{E}p> ?o FILTER NOT EXISTS {{ ?o <{E}name> ?name }} }}",
    f"SELECT ?o {{ <{E}s0> <{E}p>+ ?o }}",
    f"SELECT ?g ?s {{ GRAPH ?g {{ ?s <{E}p> ?o }} }}",
    f"SELECT (COUNT(*) AS ?n) {{ ?s <{E}p> ?o }}",
    f"SELECT DISTINCT ?o {{ ?s <{E}p> ?o }} ORDER BY ?o LIMIT 3",
)
ENTAILED = (
    f"# triplecast: entailment=rdfs\nSELECT ?s {{ ?s a <{E}C2> }}",
    f"# triplecast: entailment=taxonomy\nSELECT ?s ?c {{ ?s a ?c . ?c <{SUB_CLASS}> <{E}C2> }}",
    f"SELECT ?s {{ ?s <{E}p> ?o FILTER(tc:descendant(?s, <{E}C2>)) }}",
)
FEW = 40
"""Steps of which an event takes more now and then."""
POINTS = (
    "journal.before-append",
    "journal.appended",
    "journal.committed",
    "outbox.rows-written",
    "outbox.position-written",
    "outbox.committed",
    "index.segment-written",
    "index.manifest-replaced",
)
CALLS = 50
PATIENCE = 50.0

Rows = Counter[tuple[tuple[str, str], ...]]


@pytest.fixture(autouse=True)
def parser_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.engine.engine.Parser", ParserHere)


def document(source: random.Random) -> str:
    lines = [f"<{E}s{source.randrange(5)}> <{E}p> <{E}s{source.randrange(5)}> ." for _ in range(source.randrange(4))]
    lines += [f'<{E}s{source.randrange(5)}> <{E}name> "{source.randrange(3)}" .' for _ in range(source.randrange(3))]
    lines += [f"<{E}s{source.randrange(5)}> a <{E}C{source.randrange(3)}> ." for _ in range(source.randrange(2))]
    return "\n".join(lines)


def act(engine: Engine, source: random.Random) -> None:
    """One call of a kind drawn at random."""
    chance, live = source.random(), [each.id for each in engine.subscriptions()]
    if chance < 0.15 or not live:
        text = source.choice((*QUERIES, *ENTAILED))
        engine.subscribe(text, scope="repository" if source.random() < 0.9 else "publication", lease=FOREVER)
    elif chance < 0.2:
        engine.unsubscribe(source.choice(live))
    elif chance < 0.3:
        engine.remove(f"{E}d{source.randrange(4)}")
    elif chance < 0.36:
        engine.query(source.choice(QUERIES))
    elif chance < 0.42:
        under = (f"<{E}C{source.randrange(2)}> <{SUB_CLASS}> <{E}C2> ." for _ in range(source.randrange(3)))
        engine.load_taxonomy("\n".join(under), "text/turtle")
    elif chance < 0.6:
        engine.publish_many(
            [
                Document(f"d{n}", document(source).encode(), "text/turtle", f"{E}d{n}")
                for n in range(source.randrange(4))
            ]
        )
    else:
        engine.publish(document(source), "text/turtle", f"{E}d{source.randrange(4)}")


def counted(solutions: object) -> Rows:
    assert isinstance(solutions, list | tuple)
    return Counter(tuple(sorted((name, str(term)) for name, term in row.items())) for row in solutions)


def told_rows(engine: Engine) -> list[tuple[str, str, str]]:
    return [(str(each.cursor), each.id, each.json) for each in engine.notifications()]


def check(engine: Engine) -> list[tuple[str, str, str]]:
    """All that was told adds up to the answers; return it."""
    engine.query("ASK {}")  # what a call that raised left is told
    told = [*engine.notifications()]
    assert [each.sequence for each in told] == [*range(1, len(told) + 1)]
    assert len({each.id for each in told}) == len(told)
    live = {each.registration: each for each in engine.subscriptions() if each.scope == "repository"}
    answers: dict[int, Rows] = {}
    for each in told:
        if each.registration in live:
            add_up(answers.setdefault(each.registration, Counter()), each)
    owed = OwedAnswers(engine._journal.settings().get(OWED), engine._journal.head())
    assert {*owed.since} <= {each.registration for each in engine.undecided()}
    for registration, each in live.items():
        if registration not in owed:
            assert answers.get(registration, Counter()) == whole(engine, each), each.text
    if standing_answer.STEPS != FEW:
        assert engine.undecided() == []
    return told_rows(engine)


def whole(engine: Engine, subscription: LiveSubscription) -> Rows:
    """The answer to a query; with a taxonomy, by what is entailed anew."""
    if subscription.text not in ENTAILED:
        return counted(engine.query(subscription.text))
    asked = Subscription("any", subscription.text, scope="repository")
    template, constants, entailment, _ = compile_subscription(asked)
    query, head = fill(template.query, constants), engine._journal.head()
    assert engine._querying._repository is not None
    taxonomy = engine._journal.taxonomies(head, head).before(head + 1)
    entailed = EntailedStore(engine._querying._repository.store, entailment, taxonomy)
    names = [variable.name for variable in query.variables]
    found = whole_answer(query, entailed.after, Budget())
    return Counter(tuple(sorted(zip(names, map(str, row), strict=True))) for row in found.elements())


def add_up(answer: Rows, told: Notification) -> None:
    added, removed = counted(told.added), counted(told.removed)
    assert added or removed
    assert not removed - answer, "what was not there cannot go"
    answer += added
    answer -= removed


# ---- kills -----------------------------------------------------------------------------------------------------------


def live_on(folder: Path, seed: int, steps: int) -> Callable[[Process], int]:
    def action(process: Process) -> int:
        source = random.Random(seed)
        vars(standing_answer)["STEPS"] = steps
        repository.SAVED_AFTER = 0
        for _ in range(3):
            with Engine.open(folder) as engine:
                if engine._querying._repository is not None:
                    engine._querying._repository._unsaved = 1 << 40  # so that the cache is written often
                for _ in range(source.randrange(CALLS // 2)):
                    act(engine, source)
                    process.say({"told": len(told_rows(engine))})
                if engine._querying._repository is not None:
                    engine._querying._repository._unsaved = 1 << 40
        return 0

    return action


def killed(folder: Path, seed: int, point: str, source: random.Random, steps: int) -> tuple[bool, int]:
    """Whether a process was killed, and how many notifications it had seen."""
    armed = "" if point == RANDOM else f"{point}:{source.randint(1, 20)}"
    process = Process(live_on(folder, seed, steps), armed)
    seen = 0
    try:
        until = time.monotonic() + (PATIENCE if armed else source.uniform(0.02, 0.6))
        for what in [*process.hear(until)]:
            assert "failed" not in what, what
            seen = int(str(what["told"]))
        process.kill(signal.SIGKILL)
        process.wait()
        for what in process.rest():
            assert "failed" not in what, what
            seen = int(str(what["told"]))
    finally:
        process.close()
    return process.ended == signal.SIGKILL, seen


def kill_often(folder: Path, seed: int, rounds: int, steps: int = standing_answer.STEPS) -> Counter[str]:
    source, deaths = random.Random(seed), Counter[str]()
    before: list[tuple[str, str, str]] = []
    for number in range(rounds):
        if number % 20 == 0:
            shutil.rmtree(folder, ignore_errors=True)
            before = []
        point = (*POINTS, RANDOM, RANDOM)[number % (len(POINTS) + 2)]
        died, seen = killed(folder, source.randrange(1 << 32), point, source, steps)
        deaths[point] += died
        with Engine.open(folder) as engine:
            now = check(engine)
        assert now[: len(before)] == before, f"seed {seed}, {number}: told otherwise"
        assert len(now) >= seen, f"seed {seed}, {number}: what was told is gone"
        before = now
    return deaths


@pytest.mark.slow
def test_kills_lose_nothing_and_tell_nothing_twice(tmp_path: Path, seed: int) -> None:
    with Engine.open(tmp_path / "warm") as engine:
        source = random.Random(seed)
        for _ in range(CALLS):
            act(engine, source)
    deaths = kill_often(tmp_path / "folder", seed, len(POINTS) + 2)
    assert deaths.total() > len(POINTS) // 2, deaths


@pytest.mark.slow
def test_kills_lose_nothing_that_is_owed(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_answer, "STEPS", FEW)
    with Engine.open(tmp_path / "warm") as engine:
        source = random.Random(seed)
        for _ in range(CALLS):
            act(engine, source)
        check(engine)
        assert len(engine.undecided()) > 3
    deaths = kill_often(tmp_path / "folder", seed, len(POINTS) + 2, FEW)
    assert deaths.total() > len(POINTS) // 2, deaths


# ---- an outbox that is older than the cache --------------------------------------------------------------------------


def test_a_cache_newer_than_what_was_told_is_not_used(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine fails after the repository was saved; of the outbox's log only what was synced is left."""
    monkeypatch.setattr(repository, "SAVED_AFTER", 0)
    source = random.Random(seed)
    with Engine.open(tmp_path / "one") as engine:
        for text in QUERIES:
            engine.subscribe(text, scope="repository", lease=FOREVER)
        engine._outbox.sync()
        size = (tmp_path / "one" / "outbox.sqlite-wal").stat().st_size
        synced = engine._outbox.durable.told
        for _ in range(UNSYNCED // 2):
            act(engine, source)
        assert engine._outbox.durable.told == synced, "nothing was synced meanwhile"
        engine.query(QUERIES[0])
        held = engine._querying._repository
        assert held is not None
        held._unsaved = 1 << 40
        held.save()
        before = check(engine)
        shutil.copytree(tmp_path / "one", tmp_path / "two")
    with open(tmp_path / "two" / "outbox.sqlite-wal", "r+b") as log:
        log.truncate(size)
    cached = read_cache(tmp_path / "two" / CACHE)
    assert cached is not None
    assert cached.reached > synced
    with Engine.open(tmp_path / "two") as engine:
        assert check(engine) == before
        act(engine, source)
        check(engine)


# ---- interrupts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, StorageFault("journal", "gone", "wait")])
@pytest.mark.parametrize("place", ["_answers", "_begin", "_end", "store", "commit"])
def test_interrupts_lose_nothing_and_tell_nothing_twice(
    error: type[BaseException] | BaseException, place: str, tmp_path: Path, seed: int
) -> None:
    source, raised = random.Random(seed), 0
    with Engine.open(tmp_path) as engine:
        for number in range(80):
            with Interruption(engine, place, error, source.randrange(3)) as was_raised:
                try:
                    act(engine, source)
                except (KeyboardInterrupt, MemoryError, StorageFault):
                    assert was_raised()
                    raised += 1
            if number % 5 == 0:
                check(engine)
        check(engine)
    assert raised > 3


class Interruption:
    """Raise once, in a place on the way from an event to what is told of it, after so many passages."""

    def __init__(self, engine: Engine, place: str, error: type[BaseException] | BaseException, after: int) -> None:
        self._left, self._error, self._done = after, error, False
        of: Mapping[str, tuple[object, str]] = {
            "store": (repository.Repository, "_apply"),
            "commit": (engine._matching._driver, "commit"),
        }
        target, name = of.get(place, (StandingQueries, place))
        original = getattr(target, name)
        generates = place in ("_answers", "_begin")
        before = after % 2 == 0

        def call(*given: object, **named: object) -> object:
            if before:
                self._pass()
            result = original(*given, **named)
            if not before:
                self._pass()
            return result

        def generate(*given: object, **named: object) -> Iterator[object]:
            for each in original(*given, **named):
                if before:
                    self._pass()
                yield each
                if not before:
                    self._pass()

        self._patch = patch.object(target, name, generate if generates else call)

    def _pass(self) -> None:
        if not self._done:
            self._left -= 1
            if self._left < 0:
                self._done = True
                raise self._error

    def __enter__(self) -> Callable[[], bool]:
        self._patch.__enter__()
        return lambda: self._done

    def __exit__(self, *_: object) -> None:
        self._patch.__exit__(None, None, None)


# ---- threads ---------------------------------------------------------------------------------------------------------


def test_threads_at_once(tmp_path: Path, seed: int) -> None:
    with Engine.open(tmp_path) as engine:

        def work(number: int) -> None:
            source = random.Random(f"{seed} {number}")
            for _ in range(25):
                try:
                    act(engine, source)
                except Exception as error:
                    if "no live subscription" not in str(error):
                        raise

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
        before = check(engine)
    with Engine.open(tmp_path) as engine:
        assert check(engine) == before


# ---- the undecided ---------------------------------------------------------------------------------------------------


def test_what_is_beyond_the_steps_is_undecided_and_the_next_event_makes_up_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crossed = f"SELECT (COUNT(*) AS ?n) {{ ?a <{E}p> ?b . ?c <{E}p> ?d . ?e <{E}p> ?f }}"

    def publish(name: str, count: int) -> Receipt:
        return engine.publish("".join(f"<{E}{name}{n}> <{E}p> {n} .\n" for n in range(count)), "text/turtle", E + name)

    with Engine.open(tmp_path) as engine:
        registration = engine.subscribe(crossed, scope="repository", lease=FOREVER).registration
        publish("a", 3)
        monkeypatch.setattr(standing_answer, "STEPS", 100)
        receipt = publish("b", 6)
        (pair,) = receipt.undecided
        assert pair.registration == registration
        assert not receipt.matches
        assert [each.registration for each in engine.undecided()] == [registration]
    monkeypatch.setattr(standing_answer, "STEPS", 500_000)
    with Engine.open(tmp_path) as engine:
        (match,) = publish("c", 1).matches
        assert [row["n"].value for row in match.removed] == [str(3**3)], "as it was told"
        assert [row["n"].value for row in match.added] == [str(10**3)]
