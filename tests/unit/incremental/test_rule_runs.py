"""Rules over events that are taken together tell what they tell one by one, under schemas that change in between."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.conftest import DEFAULT_SEED
from tests.properties.test_rules import NAMESPACE, Writer, random_document, random_schema
from tests.reference.terms import write
from triplecast.engine.answers import answers_batch
from triplecast.incremental import StandingQueries, changed_resources, filed
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.match import AnswerLimits
from triplecast.model.publication import Draft
from triplecast.model.subscription import REPOSITORY, Subscription
from triplecast.outbox.batch import OutboxRow
from triplecast.registry.rule_bindings import bind_all
from triplecast.repository import Repository
from triplecast.schema import read_schema

RULES, EVENTS = 24, 24


def answers(number: int, limits: AnswerLimits, at_once: int) -> Sequence[OutboxRow]:
    """What history `number` tells when so many of its events are followed together."""
    source = random.Random(f"rule runs {DEFAULT_SEED} {number}")
    schemas = [random_schema(source) for _ in range(3)]
    read = [read_schema(["".join(" ".join(map(write, each)) + " .\n" for each in some).encode()]) for some in schemas]
    writer = Writer(source, schemas[0], [])
    texts = [Subscription(f"rule{place}", writer.rule(), "rule", REPOSITORY) for place in range(RULES)]
    rules = [each for each in bind_all(texts, lambda: read[0]) if isinstance(each, Subscription)]
    assert len(rules) > RULES / 2
    journal = Journal.in_memory()
    journal.load_schema(read[0])
    journal.subscribe(rules)
    told: list[OutboxRow] = []
    with Matcher(limits=limits) as matcher:
        standing = StandingQueries(journal, Repository(journal), matcher, 0)
        for event in range(EVENTS):
            graph, chance = f"{NAMESPACE}doc{source.randrange(4)}", source.random()
            if chance < 0.1:
                journal.load_schema(source.choice(read))
            elif chance < 0.25:
                journal.remove(graph)
            else:
                lines = "".join(sorted({*random_document(source).splitlines(True)})).encode()
                journal.accept([Draft(graph, lines, source.randbytes(32), "input")])
            if event % at_once == at_once - 1:
                found = answers_batch([*standing.follow(journal.head())])
                assert not found.undecided
                told += found.rows()
    return told


@pytest.mark.parametrize("number", range(2))
def test_a_run_tells_of_rules_what_its_events_tell_one_by_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    singly = answers(number, AnswerLimits(), 1)
    assert sum('"changed":' in each.bindings for each in singly) > 5
    assert answers(number, AnswerLimits(), EVENTS) == singly
    assert answers(number, AnswerLimits(pairs=1), 6) == singly  # a piece for each state
    for module in (filed, changed_resources):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 40)
        monkeypatch.setattr(module, "KEYS_AT_ONCE", 10)
    assert answers(number, AnswerLimits(), EVENTS) == singly
