"""Law: whole = singletons = after restarts, lost indexes and failed commits: the same notifications, id by id."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, PREFIX, TITLES, UNTITLED, turtle

from triplecast import Document, Engine, InputError, Notification, StorageFull

QUERIES = (
    TITLES,
    ANY_TITLE,
    UNTITLED,
    PREFIX + 'SELECT ?i WHERE { ?i ex:title ?t FILTER(?t > "4") }',
    "ASK { ?s ?p ?o }",
)


def clock() -> int:
    return 1_800_000_000_000_000


def make_steps(dice: random.Random, count: int) -> list[tuple[str, str, str]]:
    """(what, name, text) of random changes; documents are few, so that versions and unchanged content occur."""
    steps = []
    for _ in range(count):
        what = dice.choice(["publish"] * 6 + ["subscribe"] * 3 + ["unsubscribe", "remove"])
        title = dice.choice([None, *"0123456789"[: dice.randint(1, 9)]])
        text = dice.choice(QUERIES) if what == "subscribe" else turtle(title, dice.choice(["rail", "sea"]))
        steps.append((what, f"urn:{dice.randrange(6)}", text))
    return steps


def take(engine: Engine, step: tuple[str, str, str]) -> None:
    what, name, text = step
    try:
        if what == "publish":
            engine.publish(text, "text/turtle", name)
        elif what == "subscribe":
            engine.subscribe(text, id=name)
        elif what == "unsubscribe":
            engine.unsubscribe(name)
        else:
            engine.remove(name)
    except InputError:
        pass  # the name is taken, or nobody's: so it is for every engine


def told(steps: list[tuple[str, str, str]]) -> list[Notification]:
    """By an undisturbed engine in memory."""
    with Engine(clock) as engine:
        for step in steps:
            take(engine, step)
        return list(engine.notifications())


def test_restarts_and_lost_indexes_change_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    steps = make_steps(dice, 120)
    engine = Engine.open(tmp_path, clock)
    for step in steps:
        take(engine, step)
        if dice.random() < 0.1:
            engine.close()
            if dice.random() < 0.5:
                shutil.rmtree(tmp_path / "index", ignore_errors=True)
            engine = Engine.open(tmp_path, clock)
    expected = told(steps)
    assert list(engine.notifications()) == expected
    assert len(expected) > 60
    engine.close()


def test_commits_that_failed_are_made_up_for(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed + 1)
    steps = make_steps(dice, 120)
    engine = Engine.open(tmp_path, clock)

    def failing(method: Callable[..., object]) -> Callable[..., object]:
        def fail_sometimes(*arguments: object, **named: object) -> object:
            if dice.random() < 0.2:
                raise StorageFull("disk", "full", "make space")
            return method(*arguments, **named)

        return fail_sometimes

    monkeypatch.setattr(engine._outbox, "commit", failing(engine._outbox.commit))
    monkeypatch.setattr(engine._upkeep._index, "apply", failing(engine._upkeep._index.apply))
    failed = 0
    for step in steps:
        while True:
            try:
                take(engine, step)
                break
            except StorageFull:
                failed += 1
    while True:
        try:
            engine.publish("", "text/turtle", "urn:last")
            break
        except StorageFull:
            failed += 1
    assert failed > 10
    mine = [notification for notification in engine.notifications() if notification.publication != "urn:last"]
    engine.close()
    expected = told(steps)
    assert [(n.publication, n.version, n.subscription, n.json) for n in mine] == [
        (n.publication, n.version, n.subscription, n.json) for n in expected
    ]


def test_one_call_is_as_good_as_many(seed: int) -> None:
    dice = random.Random(seed + 2)
    documents = [
        Document(name, text.encode(), "text/turtle", name)
        for what, name, text in make_steps(dice, 100)
        if what == "publish"
    ]
    with Engine(clock) as singly, Engine(clock) as together:
        for engine in (singly, together):
            for number, query in enumerate(QUERIES):
                engine.subscribe(query, id=str(number))
        receipts = [singly.publish_many([document])[0] for document in documents]
        shared = together.publish_many(documents)
        assert [(r.matches, [p.version for p in r.publications]) for r in receipts] == [
            (r.matches, [p.version for p in r.publications]) for r in shared
        ]
        assert list(singly.notifications()) == list(together.notifications())
