"""The relational filter and the engine, which share nothing, tell the same of random histories, event by event.

``python -m tests.experiments.mdv.test_mdv FIRST COUNT`` tries more of them, and prints what was seen.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import pytest

from experiments.mdv.corrections import CORRECTED, Corrections
from experiments.mdv.rdf import NAMESPACE, to_sparql, to_triples
from experiments.mdv.rules import Event, Rule
from experiments.mdv.updates import Change, Filter
from tests.conftest import DEFAULT_SEED
from tests.experiments.mdv.histories import SCHEMA, make_history
from triplecast import Document, Engine, Receipt, Subscription

RULES, EVENTS, MOST = 12, 12, 4
Told = dict[str, set[str]]


class Differs(AssertionError):
    pass


def check_history(number: int, seed: int = DEFAULT_SEED, corrections: Corrections = CORRECTED) -> Counter[str]:
    """Even numbers event by event, odd ones in batches too. Raises `Differs`."""
    history = make_history(seed, number, RULES, EVENTS, MOST if number % 2 else 1)
    filter = Filter(SCHEMA, corrections)
    seen: Counter[str] = Counter(histories=1)
    with Engine() as engine:
        filter.subscribe(history.rules)
        engine.subscribe_many(write_subscriptions(history.rules))
        for place, batch in enumerate(history.batches):
            expected = [*ask_engine(engine, batch)]
            told = filter.apply(batch)
            if not corrections.c5_events:
                expected = [unite(expected)]
            if told != expected:
                raise Differs(f"history {number} of {seed}, batch {place} of {len(batch)}:\n{told}\n{expected}")
            seen.update(events=len(batch), batches=len(batch) > 1, changed=sum(map(any, expected)))
            seen.update(added=sum(len(each.added) for each in told), removed=sum(len(each.removed) for each in told))
    filter.close()
    return seen


def write_subscriptions(rules: Sequence[Rule]) -> list[Subscription]:
    others = {rule.name: rule for rule in rules}
    return [Subscription(rule.name, to_sparql(rule, SCHEMA, others), scope="repository") for rule in rules]


def ask_engine(engine: Engine, batch: Sequence[Event]) -> Iterator[Change]:
    """A removal is a batch of its own; what has no atoms is none."""
    if not batch[0].atoms:
        (event,) = batch
        yield read_receipt(engine.remove(NAMESPACE + event.document))
        return
    graphs = [NAMESPACE + event.document for event in batch]
    contents = [to_triples(event.atoms, SCHEMA) for event in batch]
    pairs = zip(graphs, contents, strict=True)
    documents = [Document(graph, content, "application/n-triples", graph) for graph, content in pairs]
    yield from map(read_receipt, engine.publish_many(documents))


def read_receipt(receipt: Receipt | None) -> Change:
    assert receipt is not None
    assert not receipt.undecided
    assert not receipt.rejects
    rows: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for match in receipt.matches:
        for kind, bindings in (("added", match.added), ("removed", match.removed)):
            rows[kind] |= {
                (match.subscription, term.value.removeprefix(NAMESPACE)) for row in bindings for term in row.values()
            }
    return Change(frozenset(rows["added"]), frozenset(rows["removed"]))


def unite(changes: Sequence[Change]) -> Change:
    """What was told of any of some events."""
    return Change(*(frozenset[tuple[str, str]]().union(*told) for told in zip(*changes, strict=True)))


def test_filter_and_engine_tell_the_same_of_each_event(seed: int) -> None:
    seen = sum((check_history(number, seed) for number in range(8)), Counter[str]())
    assert seen["changed"] >= seen["events"] / 4
    assert min(seen["added"], seen["removed"], seen["batches"]) > 5


def test_a_batch_as_a_whole_ends_in_the_state_of_its_events(seed: int) -> None:
    """Netting loses rows that one event brings and the next takes away, and no others."""
    lost = 0
    for number in range(1, 40, 2):
        history = make_history(seed, number, RULES, EVENTS, MOST)
        each, whole = Filter(SCHEMA), Filter(SCHEMA)
        each.subscribe(history.rules)
        whole.subscribe(history.rules)
        for batch in history.batches:
            states: Counter[tuple[str, str]] = Counter()
            events = each.apply(batch)
            for change in events:
                states.update(change.added)
                states.subtract(change.removed)
            netted = whole.apply_together(batch)
            assert netted.added == {pair for pair, sign in states.items() if sign > 0}
            assert netted.removed == {pair for pair, sign in states.items() if sign < 0}
            lost += sum(len(change.added) for change in events) - len(netted.added)
        each.close()
        whole.close()
    assert lost > 0


def differing(corrections: Corrections, numbers: range = range(40)) -> Iterator[int]:
    for number in numbers:
        try:
            check_history(number, corrections=corrections)
        except Differs:
            yield number


@pytest.mark.parametrize("name", [each.name for each in fields(Corrections)])
def test_each_correction_is_needed_but_the_last_that_saves_work(name: str) -> None:
    printed = replace(CORRECTED, **{name: False})
    if name == "c6_pairs_of_rules":
        assert not [*differing(printed, range(6))]
    else:
        next(differing(printed))


def test_a_filter_that_ignores_what_is_removed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "_find_candidates", lambda self: None)
    next(differing(CORRECTED))


if __name__ == "__main__":
    total: Counter[str] = Counter()
    for number in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        total += check_history(number)
    print(dict(total))
