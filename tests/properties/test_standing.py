"""What events change in the answers of standing queries, added up, is the whole answer after each event."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.conftest import DEFAULT_SEED
from tests.properties.oxigraph import Row
from tests.properties.standing import SlowAnswers, Step, make_history
from triplecast.compile.compiled import compile_subscription
from triplecast.errors import QueryRefused
from triplecast.incremental import StandingQueries
from triplecast.incremental.compiled import compile_standing
from triplecast.incremental.standing import EventAnswers
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.repository import Repository

QUERIES, EVENTS = 40, 14


@pytest.mark.parametrize("number", range(8))
def test_changes_add_up_to_the_answer(number: int) -> None:
    check_history(DEFAULT_SEED, number)


def check_history(seed: int, number: int) -> Counter[str]:
    """What was seen, counted."""
    history = make_history(seed, number, QUERIES, EVENTS)
    journal, slow, seen = Journal.in_memory(), SlowAnswers(), Counter[str]()
    with Matcher() as matcher:
        standing = StandingQueries(journal, Repository(journal), matcher, 0)
        half = len(history.steps) // 3
        answers: dict[int, Counter[Row]] = {}
        asked_by: dict[int, object] = {}
        lost: set[int] = set()
        for at, step in enumerate(history.steps):
            if at == half:
                wanted = [each for each in history.queries if accepted(each.text)]
                added = journal.subscribe(
                    [Subscription(f"s{n}", each.text, scope="repository") for n, each in enumerate(wanted)]
                )
                asked_by = {int(each.id): asked for each, asked in zip(added, wanted, strict=True)}
                answers = {id: Counter() for id in asked_by}
                take(standing.follow(journal.head()), answers, lost, seen)
                compare(slow, asked_by, answers, lost, seen, f"{seed} {number} at {at}, subscribed")
            enter(journal, slow, step)
            take(standing.follow(journal.head()), answers, lost, seen)
            compare(slow, asked_by, answers, lost, seen, f"{seed} {number} at {at}")
    return seen


def accepted(text: str) -> bool:
    try:
        compile_standing(compile_subscription(Subscription("any", text, scope="repository")))
    except QueryRefused:
        return False
    return True


def enter(journal: Journal, slow: SlowAnswers, step: Step) -> None:
    if step.document is None:
        journal.remove(step.graph)
        slow.apply(step.graph, None)
        return
    before = journal.head()
    journal.accept([step.draft()])
    for event in journal.events(before, journal.head()):
        assert isinstance(event, Publication)
        slow.apply(step.graph, event)


def take(found: Sequence[EventAnswers], answers: dict[int, Counter[Row]], lost: set[int], seen: Counter[str]) -> None:
    for event in found:
        for each in event.changed:
            added, removed = rows(each.added), rows(each.removed)
            assert added or removed
            assert not added & removed
            assert each.registration in lost or not removed - answers[each.registration]
            answers[each.registration] += added
            answers[each.registration] -= removed
            seen["changed"] += 1
            seen["removed"] += bool(removed)
        for unsure in event.undecided:
            lost.add(unsure.registration)
            seen["undecided"] += 1


def rows(text: bytes) -> Counter[Row]:
    return Counter(tuple(sorted(row.items())) for row in (json.loads(text) if text else []))


def compare(slow, asked_by, answers, lost, seen, where) -> None:
    for id, asked in asked_by.items():
        if id in lost:
            continue
        expected = slow.answer(asked)
        if expected is None:
            lost.add(id)
            continue
        if asked.query.form == "construct":
            continue
        assert answers[id] == expected, f"{where}: {asked.text}"
        seen["compared"] += 1
        seen["with rows"] += bool(expected)


if __name__ == "__main__":
    import sys

    total = Counter()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        total += check_history(DEFAULT_SEED, number)
    print(total)
